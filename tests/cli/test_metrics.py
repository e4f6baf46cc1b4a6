"""`runtrue metrics`: the numbers against their targets, from what the journal holds."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtrue.cli.metrics import load_facts, parse_since, sparkline
from runtrue.errors import UsageError
from runtrue.flow import Journal, Owner, RunState
from tests.cli.conftest import LINT_ONLY, Machine, MakeProject
from tests.cli.test_terminal import Terminal
from tests.code.test_metrics import BAD, GOOD

DAY = 86_400.0
NOW = 1_790_000_000.0


@pytest.fixture
def told(machine: Machine) -> Machine:
    """A machine with ended runs: good ones of `code`, day by day, and a bad one of `gate`."""
    with Journal(machine.journal) as journal:
        for number in range(4):
            _end(journal, "code", GOOD, NOW - (4 - number) * DAY)
        _end(journal, "gate", BAD, NOW)
        # One from before there were metrics, one that was skipped, one of a workflow, one cut off.
        _end(journal, "fix", ..., NOW)
        _end(journal, "gate", None, NOW)
        _end(journal, "workflow", ..., NOW)
        journal.create("fix", "somewhere", {})
    return machine


def _end(journal: Journal, kind: str, facts: Any, at: float) -> None:
    run_id = journal.create(kind, "somewhere", {})
    claim = journal.claim(run_id, Owner.this_process())
    result = {} if facts is ... else {"metrics": msgspec.to_builtins(facts)}
    journal.finish(claim, RunState.PASSED, result)
    journal._db.execute("UPDATE runs SET ended_at = ? WHERE id = ?", (at, run_id))


def test_the_metrics_are_told_overall_and_by_kind(told: Machine) -> None:
    done = told.runtrue("metrics", "--json")
    assert done.code == 0
    document = done.json
    assert document["runs"] == 5
    values = {metric["name"]: metric["value"] for metric in document["metrics"]}
    assert values == {
        "first_attempt_pass_rate": 0.8,
        "success_rate": 0.8,
        "average_attempts": 1.4,
        "escalation_rate": 0.2,
        "debug_memory_reuse": 0.0,
        "coverage_met_rate": 0.8,
    }
    assert {kind: some["runs"] for kind, some in document["kinds"].items()} == {
        "code": 4,
        "gate": 1,
    }
    assert [period["runs"] for period in document["trend"]].count(1) == 5
    text = told.runtrue("metrics").out
    assert re.search(r"first_attempt_pass_rate +80 % +> 70 % +met +of 5 runs\n", text)
    assert re.search(r"success_rate +80 % +> 90 % +missed +of 5 runs\n", text)
    assert re.search(r"escalation_rate +20 % +< 10 % +missed +of 5 runs\n", text)
    assert "code: 4 runs" in text
    assert re.search(r"debug_memory_reuse +not known +> 30 %\n", text)
    assert not set(text) & set("▁▂▃▄▅▆▇█\x1b")


def test_runs_are_chosen_by_kind_and_by_time(told: Machine) -> None:
    only = told.runtrue("metrics", "--kind", "gate", "--json").json
    assert (only["runs"], list(only["kinds"])) == (1, ["gate"])
    since = told.runtrue("metrics", "--since", "2026-09-19T00:00:00+00:00", "--json").json
    assert since["runs"] == 3
    assert told.runtrue("metrics", "--since", "2999-01-01", "--json").json["runs"] == 0


def test_without_runs_nothing_is_known_and_nothing_is_made(machine: Machine) -> None:
    done = machine.runtrue("metrics")
    assert done.code == 0
    assert done.out.count("not known") == 6
    assert not machine.journal.exists()


@pytest.mark.parametrize(
    ("text", "ago"), [("90m", 5400), ("12h", 43_200), ("7d", 7 * DAY), ("2w", 14 * DAY)]
)
def test_since_is_how_long_ago(text: str, ago: float) -> None:
    assert parse_since(text, NOW) == NOW - ago


@pytest.mark.parametrize("text", ["", "yesterday", "7", "d", "2026-13-01", "1e9d"])
def test_a_time_that_is_none_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match="7d"):
        parse_since(text, NOW)


@pytest.mark.parametrize("text", ["9999-12-31", "0001-01-01T00:00:00+00:00", "999999w"])
def test_a_time_too_far_away_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"too far away.*7d"):
        parse_since(text, NOW)


def test_an_empty_time_is_refused_and_not_passed_over(machine: Machine) -> None:
    done = machine.runtrue("metrics", "--since", "")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "--since '' is not a time" in done.err


@pytest.mark.parametrize("metrics", [{}, {"attempts": "many"}, [1, 2]])
def test_metrics_of_another_shape_are_passed_over(machine: Machine, metrics: object) -> None:
    with Journal(machine.journal) as journal:
        _end(journal, "fix", metrics, NOW)
        _end(journal, "fix", GOOD, NOW)
    assert [facts for _, facts in load_facts(machine.journal)["fix"]] == [GOOD]


def test_a_terminal_shows_how_it_went(told: Machine, tmp_path: Path) -> None:
    terminal = Terminal(told, "metrics", cwd=tmp_path, COLUMNS="160")
    assert terminal.end() == 0
    row = next(line for line in terminal.screen.splitlines() if "first_attempt_pass" in line)
    assert row.count("█") == 4  # the good days, and then
    assert row.rpartition("█")[2].count("▁") == 1  # the bad one


def test_bars_are_drawn_to_scale_and_gaps_are_dots() -> None:
    assert sparkline([0.0, None, 0.5, 1.0], top=1.0) == "▁·▅█"
    assert sparkline([1.0, 4.0], top=2.0) == "▃█"


def _parsed(page: str) -> ElementTree.Element:
    return ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>"))  # noqa: S314 - our own


def test_the_page_is_well_formed_and_needs_nothing_but_itself(
    told: Machine, tmp_path: Path
) -> None:
    page = tmp_path / "metrics.html"
    assert told.runtrue("metrics", "--html", page).code == 0
    text = page.read_text()
    root = _parsed(text)
    charts = list(root.iter("svg"))
    assert len(charts) == 6
    assert len(list(charts[0].iter("circle"))) == 5
    assert not re.search(r"https?://|<script|<link|@import|url\(", text)
    assert "prefers-color-scheme: dark" in text
    values = ["".join(p.itertext()) for p in root.iter("p") if p.get("class") == "value"]
    assert values == ["80 %", "80 %", "1.40", "20 %", "0 %", "80 %"]
    assert [row[0].text for row in root.iter("tr")] == ["runs of", "all", "code", "gate"]


def test_a_page_of_no_runs_says_so(machine: Machine, tmp_path: Path) -> None:
    page = tmp_path / "metrics.html"
    done = machine.runtrue("metrics", "--html", page, "--json")
    assert done.json["runs"] == 0
    assert "not known" in "".join(_parsed(page.read_text()).itertext())
    assert machine.runtrue("metrics", "--html", tmp_path).code == 2


def test_a_real_run_moves_them(machine: Machine, make_project: MakeProject) -> None:
    assert machine.runtrue("fix", "--apply", cwd=make_project(LINT_ONLY)).code == 0
    values = {m["name"]: m["value"] for m in machine.runtrue("metrics", "--json").json["metrics"]}
    assert (values["first_attempt_pass_rate"], values["average_attempts"]) == (0.0, 2.0)
    assert values["coverage_met_rate"] is None
