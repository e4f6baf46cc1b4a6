"""Lists of runs: pages, filters, and signs that something is new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runtrue.flow import Claim, Event, Journal, Owner, RunFilter, RunState
from tests.flow.nodes import new_claim


class Ticked(Event):
    """Something happened."""

    n: int


def test_pages_have_every_run_once_also_of_the_same_age(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 1_000.0)
    made = {journal.create("fix", "t", {}) for _ in range(25)}
    seen: list[str] = []
    before = None
    while page := journal.summaries(limit=10, before=before):
        seen += [run.id for run in page]
        before = (page[-1].created_at, page[-1].id)
    assert len(seen) == 25
    assert set(seen) == made


def test_a_summary_says_where_a_run_works_and_whether_it_is_over(journal: Journal) -> None:
    claim = new_claim(journal)
    journal.finish(claim, RunState.PASSED, {"big": "x" * 100_000})
    run_id = journal.create("do", "task", {"directory": "/d"})
    open_one, over = journal.summaries()
    assert (open_one.id, open_one.project, open_one.is_over) == (run_id, "/d", False)
    assert (over.is_over, over.is_driven, over.state) == (True, False, RunState.PASSED)


@pytest.mark.parametrize("text", ["%", "_", "!", "'", '"', "\\", "50%_!"])
def test_signs_of_patterns_are_only_themselves(journal: Journal, text: str) -> None:
    journal.create("fix", "nothing like it", {"project": "/nothing/like/it"})
    wanted = journal.create("fix", f"a {text} b", {"project": f"/a/{text}/b"})
    assert [run.id for run in journal.summaries(RunFilter(text=text))] == [wanted]
    assert [run.id for run in journal.summaries(RunFilter(project=f"/a/{text}/b"))] == [wanted]


def test_runs_are_counted_by_state(journal: Journal) -> None:
    journal.cancel(journal.create("fix", "t", {}))
    journal.create("fix", "t", {})
    assert journal.count_by_state() == {RunState.CANCELLED: 1, RunState.RUNNING: 1}


Change = Callable[[Journal, Claim], Any]


@pytest.mark.parametrize(
    "change",
    [
        lambda journal, claim: journal.emit(claim, Ticked(n=1)),
        lambda journal, claim: journal.record(claim, 0, "a", "h", b"", begun=False),
        lambda journal, claim: journal.finish(claim, RunState.PASSED, {}),
        lambda journal, claim: journal.cancel(claim.run_id),
        lambda journal, claim: journal.release(claim),
    ],
)
def test_whatever_is_recorded_changes_the_pulse_of_a_run(journal: Journal, change: Change) -> None:
    claim = new_claim(journal)
    before = journal.pulse_of(claim.run_id)
    assert journal.pulse_of(claim.run_id) == before
    change(journal, claim)
    assert journal.pulse_of(claim.run_id) != before


def test_a_result_that_is_amended_changes_the_pulse_of_its_run(journal: Journal) -> None:
    claim = new_claim(journal)
    journal.finish(claim, RunState.PASSED, {"applied": False})
    before = journal.pulse_of(claim.run_id)
    journal.amend(claim.run_id, {"applied": True})
    assert journal.pulse_of(claim.run_id) != before


def test_a_question_and_its_answer_change_both_pulses(journal: Journal) -> None:
    claim = new_claim(journal)
    pulses = [(journal.pulse(), journal.pulse_of(claim.run_id))]
    journal.ask(claim, 0, "?")
    journal.park(claim, 0)
    pulses.append((journal.pulse(), journal.pulse_of(claim.run_id)))
    journal.answer(claim.run_id, "yes")
    pulses.append((journal.pulse(), journal.pulse_of(claim.run_id)))
    assert pulses[0][0] != pulses[1][0] != pulses[2][0]
    assert len({pulse for _, pulse in pulses}) == 3


def test_a_run_that_is_not_there_has_no_pulse(journal: Journal) -> None:
    assert journal.pulse_of("none") == ()


def test_events_come_with_their_times_a_page_at_a_time(journal: Journal) -> None:
    claim = journal.claim(journal.create("t", "t", {}), Owner.this_process())
    for n in range(5):
        journal.emit(claim, Ticked(n=n))
    found = journal.timed_events(claim.run_id, after=1, limit=2)
    assert [one.n for one in found] == [2, 3]
    assert found[0].at <= found[1].at
    assert found[0].event == Ticked(n=1)
    assert journal.last_event_number(claim.run_id) == 5
