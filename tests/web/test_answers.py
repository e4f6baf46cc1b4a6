"""Answers from a page: the question that was seen is answered, once."""

from __future__ import annotations

import pytest

from runtrue.flow import Journal, Owner, RunState
from tests.web.site import Site, form_token, send, waiting


def test_an_answer_is_recorded_for_the_question_that_was_seen(site: Site, journal: Journal) -> None:
    run_id = waiting(journal, {"why": "x"})
    fields = {"seq": "0", "text": " try model.py ", "allow": "model.py", "self_running": "yes"}
    answer = send(site.browser(), f"/runs/{run_id}/answer", fields)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/runs/{run_id}")
    (given,) = site.answers
    assert (given.said, given.allow, given.self_running) == ("try model.py", ("model.py",), True)
    assert journal.find(run_id).state is RunState.RUNNING


def test_of_two_browsers_one_wins_and_the_other_sees_who(site: Site, journal: Journal) -> None:
    run_id = waiting(journal, {"apply": True, "diff": ""})
    first, second = site.browser("Firefox"), site.browser("Chrome")
    token = form_token(second)
    assert send(first, f"/runs/{run_id}/answer", {"seq": "0", "choice": "no"}).status_code == 303
    late = send(second, f"/runs/{run_id}/answer", {"seq": "0", "choice": "yes"}, token)
    assert late.status_code == 409
    assert "Already answered" in late.text
    assert "Firefox (browser 1)" in late.text
    assert "<code>no</code>" in late.text
    assert [one.answer for one in journal.questions(run_id)] == ["no"]


def test_who_answered_at_a_terminal_is_said_too(site: Site, journal: Journal) -> None:
    run_id = waiting(journal, {"apply": True})
    client = site.browser()
    token = form_token(client)
    journal.answer(run_id, "yes")
    late = send(client, f"/runs/{run_id}/answer", {"seq": "0", "choice": "no"}, token)
    assert late.status_code == 409
    assert "at a terminal" in late.text


def test_an_answer_to_an_earlier_question_is_no_answer_to_a_later_one(
    site: Site, journal: Journal
) -> None:
    run_id = waiting(journal, {"apply": True})
    client = site.browser()
    token = form_token(client)
    journal.answer(run_id, "no")
    claim = journal.claim(run_id, Owner.this_process())
    journal.ask(claim, 1, {"apply": True, "other": True})
    journal.park(claim, 1)
    late = send(client, f"/runs/{run_id}/answer", {"seq": "0", "choice": "yes"}, token)
    assert late.status_code == 409
    assert journal.open_question(run_id) is not None
    assert journal.find(run_id).state is RunState.WAITING


@pytest.mark.parametrize("seq", ["", "x", "1.5"])
def test_a_form_without_a_question_is_refused(site: Site, journal: Journal, seq: str) -> None:
    run_id = waiting(journal, {"apply": True})
    answer = send(site.browser(), f"/runs/{run_id}/answer", {"seq": seq, "choice": "yes"})
    assert answer.status_code == 400
    assert journal.find(run_id).state is RunState.WAITING


@pytest.mark.parametrize("path", ["/runs/0a/explode", "/workflows/a/explode"])
def test_there_is_no_other_action(site: Site, journal: Journal, path: str) -> None:
    run_id = waiting(journal, {"apply": True})
    answer = send(site.browser(), path.replace("0a", run_id), {})
    assert answer.status_code in (400, 404)
