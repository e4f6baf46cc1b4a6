"""The list of runs and the page of one, as browsers see them."""

from __future__ import annotations

import re

import pytest

from runtrue.flow import Journal, RunState
from tests.web.site import Site, claimed, code_report, passed, waiting


def test_all_runs_are_reached_page_by_page_each_once(site: Site, journal: Journal) -> None:
    made = [journal.create("fix", f"run {n}", {"project": "/p"}) for n in range(120)]
    client, seen, path = site.browser(), [], "/runs"
    for _ in range(5):
        text = client.get(path).text
        seen += re.findall(r'<tr id="run-([0-9a-f]+)"', text)
        older = re.search(r'href="(/runs\?[^"]*before=[^"]*)">Older', text)
        if not older:
            break
        path = older[1].replace("&amp;", "&")
    assert seen == made[::-1]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("text=SHOP", {"fix the shop"}),
        ("text=100%25", {"100% done"}),
        ("text=_", set()),
        ("kind=do", {"100% done"}),
        ("state=cancelled", {"fix the shop"}),
        ("project=/home/b", {"100% done"}),
        ("project=/home", set()),
        ("state=running&kind=do", {"100% done"}),
        ("", {"fix the shop", "100% done"}),
    ],
)
def test_runs_are_filtered(site: Site, journal: Journal, query: str, found: set[str]) -> None:
    journal.cancel(journal.create("fix", "fix the shop", {"project": "/home/a"}))
    journal.create("do", "100% done", {"directory": "/home/b"})
    text = site.browser().get(f"/runs?{query}").text
    titles = re.findall(r'<td class="tt"><a href="[^"]*">([^<]*)</a>', text)
    assert set(titles) == found


@pytest.mark.parametrize("query", ["state=bad", "before=x,1", "before=1"])
def test_a_list_that_cannot_be_is_refused_in_a_sentence(site: Site, query: str) -> None:
    answer = site.browser().get(f"/runs?{query}")
    assert answer.status_code in (200, 400)
    assert "internal error" not in answer.text


def test_the_page_of_a_run_shows_tests_from_red_to_green(site: Site, journal: Journal) -> None:
    run_id = passed(journal)
    text = site.browser().get(f"/runs/{run_id}").text
    row = re.search(r'<tr class="test turned">.*?</tr>', text, re.S)
    assert row
    assert re.findall(r'class="cell (\w+)"', row[0]) == ["failed", "passed"]
    assert "80% sure" in text
    assert "turned 1 test green" in text
    assert "runtrue runs apply" in text
    assert f'href="/runs/{run_id}/patch"' in text


def test_the_patch_is_the_diff_itself(site: Site, journal: Journal) -> None:
    run_id = passed(journal)
    assert site.browser().get(f"/runs/{run_id}/patch").text == code_report("").diff


def test_a_run_is_found_by_the_beginning_of_its_id(site: Site, journal: Journal) -> None:
    run_id = passed(journal)
    assert run_id in site.browser().get(f"/runs/{run_id[:5]}").text


def test_a_run_without_a_report_can_be_looked_at(site: Site, journal: Journal) -> None:
    run_id = journal.create("fix", "broken", {"project": "/p"})
    answer = site.browser().get(f"/runs/{run_id}")
    assert answer.status_code == 200
    assert "Interrupted" in answer.text
    assert 'role="alert"' in answer.text


def test_a_kind_of_another_version_can_be_looked_at(site: Site, journal: Journal) -> None:
    run_id = journal.create("dance", "unknown", {})
    assert site.browser().get(f"/runs/{run_id}").status_code == 200
    assert "unknown" in site.browser().get("/").text


def test_all_events_are_listed_page_by_page(site: Site, journal: Journal) -> None:
    from runtrue.loop import CheckStarted

    claim = claimed(journal)
    for n in range(1_500):
        journal.emit(claim, CheckStarted(check=f"check {n}"))
    client = site.browser()
    first = client.get(f"/runs/{claim.run_id}/events").text
    assert first.count("<li ") == 1_000
    assert "check 0 runs" in first
    second = client.get(f"/runs/{claim.run_id}/events?after=1000").text
    assert second.count("<li ") == 500
    assert "check 1499 runs" in second
    page = client.get(f"/runs/{claim.run_id}").text
    assert "1,500 events" in page
    assert "check 1499 runs" in page
    assert "check 100 runs" not in page


def test_the_inbox_has_what_waits_and_what_was_interrupted(site: Site, journal: Journal) -> None:
    run_id = waiting(journal, {"why": "x"})
    broken = journal.create("fix", "interrupted one", {"project": "/p"})
    text = site.browser().get("/").text
    assert f'id="item-{run_id}"' in text
    assert f'action="/runs/{broken}/resume"' in text
    assert ">1</b>" in text


def test_an_empty_inbox_says_what_to_do_first(site: Site, journal: Journal) -> None:
    assert "No runs yet" in site.browser().get("/").text
    passed(journal)
    assert "Nothing waits for you" in site.browser().get("/").text


def test_a_run_that_ended_has_nothing_to_cancel(site: Site, journal: Journal) -> None:
    claim = claimed(journal)
    client = site.browser()
    assert "Cancel run" in client.get(f"/runs/{claim.run_id}").text
    journal.finish(claim, RunState.PASSED, code_report(claim.run_id))
    assert "Cancel run" not in client.get(f"/runs/{claim.run_id}").text
