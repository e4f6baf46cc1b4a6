"""The journal: runs and their states, who may write, and what a person is asked and answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runtrue.errors import (
    FenceLost,
    FlowChanged,
    RunBusy,
    RunCancelled,
    RunError,
    RunWaiting,
    UnknownRun,
)
from runtrue.flow import Claim, Journal, Owner, RunState, UnknownEvent
from tests.flow.child import Child, Refused
from tests.flow.nodes import new_claim

# -- runs ---------------------------------------------------------------------------------------


def test_a_new_run_is_running_with_nobody_driving_it(journal: Journal) -> None:
    run = journal.find(journal.create("fix", "a title", {"path": "/p", "n": None}))
    assert (run.kind, run.title, run.input) == ("fix", "a title", {"path": "/p", "n": None})
    assert (run.state, run.fence, run.owner) == (RunState.RUNNING, 0, None)
    assert (run.result, run.error, run.ended_at) == (None, None, None)
    assert not run.is_driven
    assert not run.is_over


def test_ids_are_eight_hexadecimal_digits_and_all_different(journal: Journal) -> None:
    ids = [journal.create("test", "", {}) for _ in range(20)]
    assert len(set(ids)) == 20
    assert all(len(run_id) == 8 and int(run_id, 16) >= 0 for run_id in ids)


def test_a_run_is_found_by_any_unique_beginning_of_its_id(journal: Journal) -> None:
    run_id = journal.create("test", "", {})
    assert [journal.find(run_id[:n]).id for n in range(1, 9)] == [run_id] * 8


def test_an_ambiguous_beginning_is_refused_with_the_ids_it_could_mean(journal: Journal) -> None:
    for run_id in ("abc00001", "abc00002", "ffff0000"):
        journal._db.execute(
            "INSERT INTO runs (id, kind, title, state, input, created_at) "
            "VALUES (?, 'test', '', 'running', '{}', 0)",
            (run_id,),
        )
    with pytest.raises(UnknownRun, match="'abc' is not unique: abc00001, abc00002; give more"):
        journal.find("abc")
    assert journal.find("abc00002").id == "abc00002"


def test_an_unknown_id_is_refused_with_the_latest_runs_there_are(journal: Journal) -> None:
    with pytest.raises(UnknownRun, match=r"no run 'nope' in .*; latest runs: none yet"):
        journal.find("nope")
    ids = [journal.create("test", "", {}) for _ in range(7)]
    with pytest.raises(UnknownRun, match=", ".join(reversed(ids[2:]))):
        journal.find("nope")


@pytest.mark.parametrize("pattern", ["%", "_", "*", "'", "________"])
def test_an_id_is_never_read_as_a_pattern(journal: Journal, pattern: str) -> None:
    journal.create("test", "", {})
    with pytest.raises(UnknownRun):
        journal.find(pattern)


def test_runs_are_listed_newest_first_up_to_a_limit_and_by_state(journal: Journal) -> None:
    ids = [journal.create("test", str(n), {}) for n in range(5)]
    journal.cancel(ids[2])
    assert [run.id for run in journal.runs()] == ids[::-1]
    assert [run.id for run in journal.runs(limit=2)] == [ids[4], ids[3]]
    assert [run.id for run in journal.runs(state=RunState.CANCELLED)] == [ids[2]]
    assert journal.runs(state=RunState.WAITING) == []


def test_everything_recorded_is_there_when_the_journal_is_opened_again(journal: Journal) -> None:
    event = UnknownEvent(unknown="kind", origin="a", data={"n": 1})
    claim = new_claim(journal)
    journal.record(claim, 0, "a", "h", b"1", begun=False)
    journal.begin(claim, 1, "b", "i")
    journal.emit(claim, event)
    before = journal.find(claim.run_id), journal.load(claim.run_id)
    journal.close()
    with Journal(journal.location) as again:
        assert (again.find(claim.run_id), again.load(claim.run_id)) == before
        assert again.events(claim.run_id) == [(1, event)]


def test_a_journal_is_made_in_a_directory_that_is_not_there_yet(tmp_path: Path) -> None:
    with Journal(tmp_path / "deep" / "er" / "journal.db") as journal:
        assert journal.runs() == []


# -- states -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "state", [RunState.PASSED, RunState.FAILED, RunState.ESCALATED, RunState.ABORTED]
)
def test_a_finished_run_keeps_its_outcome_and_cannot_go_on(
    journal: Journal, state: RunState
) -> None:
    claim = new_claim(journal)
    journal.finish(claim, state, {"answer": 42, "nothing": None})
    run = journal.find(claim.run_id)
    assert (run.state, run.result, run.error) == (state, {"answer": 42, "nothing": None}, None)
    assert run.is_over
    assert run.owner is None
    assert run.ended_at is not None
    with pytest.raises(RunError, match=rf"has ended \({state}\); start a new one"):
        new_claim(journal, claim.run_id)
    with pytest.raises(RunError, match=rf"has already ended \({state}\)"):
        journal.cancel(claim.run_id)


def test_the_result_of_a_run_can_be_amended_only_after_its_end(journal: Journal) -> None:
    claim = new_claim(journal)
    with pytest.raises(RunError, match="has no result"):
        journal.amend(claim.run_id, {"applied": True})
    journal.finish(claim, RunState.PASSED, {"applied": False})
    journal.amend(claim.run_id, {"applied": True})
    run = journal.find(claim.run_id)
    assert (run.state, run.result) == (RunState.PASSED, {"applied": True})


def test_an_empty_result_is_a_result(journal: Journal) -> None:
    claim = new_claim(journal)
    journal.finish(claim, RunState.PASSED, {})
    assert journal.find(claim.run_id).is_over


def test_a_run_that_broke_is_failed_with_its_error_and_can_be_claimed_and_goes_on(
    journal: Journal,
) -> None:
    claim = new_claim(journal)
    journal.record(claim, 0, "a", "h", b"1", begun=False)
    journal.fail(claim, "OSError: no")
    run = journal.find(claim.run_id)
    assert (run.state, run.error, run.result) == (RunState.FAILED, "OSError: no", None)
    assert not run.is_over
    assert run.ended_at is not None
    again = new_claim(journal, claim.run_id)
    run = journal.find(claim.run_id)
    assert (run.state, run.error, run.ended_at) == (RunState.RUNNING, None, None)
    journal.record(again, 1, "b", "h", b"2", begun=False)
    assert [step.node for step in journal.load(claim.run_id)] == ["a", "b"]


@pytest.mark.parametrize("state", ["running", "failed", "waiting"])
def test_a_run_can_be_cancelled_in_any_state_that_could_go_on(journal: Journal, state: str) -> None:
    claim = new_claim(journal)
    if state == "failed":
        journal.fail(claim, "broke")
    if state == "waiting":
        journal.ask(claim, 0, "why?")
        journal.park(claim, 0)
    assert journal.cancel(claim.run_id[:6]).state == state
    run = journal.find(claim.run_id)
    assert (run.state, run.is_over, run.owner) == (RunState.CANCELLED, True, None)
    with pytest.raises(RunError, match="has ended"):
        new_claim(journal, claim.run_id, force=True)


# -- claims and fences --------------------------------------------------------------------------


def test_each_claim_has_a_higher_fence_than_the_one_before(journal: Journal) -> None:
    claim = new_claim(journal)
    fences = [claim.fence]
    for _ in range(3):
        journal.release(claim)
        claim = new_claim(journal, claim.run_id)
        fences.append(claim.fence)
    assert fences == [1, 2, 3, 4]


def test_a_claimed_run_is_driven_and_a_released_one_is_free_for_anyone(
    journal: Journal, other: Child
) -> None:
    claim = new_claim(journal)
    assert journal.find(claim.run_id).owner == Owner.this_process()
    assert journal.find(claim.run_id).is_driven
    journal.release(claim)
    run = journal.find(claim.run_id)
    assert (run.state, run.is_driven) == (RunState.RUNNING, False)
    assert other.call("claim", claim.run_id) == 2


def test_a_second_living_process_is_refused_and_told_which_one_drives_the_run(
    journal: Journal, other: Child
) -> None:
    run_id = journal.create("test", "", {})
    other.call("claim", run_id)
    with pytest.raises(RunBusy, match=f"is already running in process {other.pid}; .*--force"):
        new_claim(journal, run_id)
    other.call("record", 0)


def test_the_claim_of_a_killed_process_is_taken_over_at_once(
    journal: Journal, other: Child
) -> None:
    run_id = journal.create("test", "", {})
    other.call("claim", run_id)
    other.call("record", 0)
    other.kill()
    assert not journal.find(run_id).is_driven
    claim = new_claim(journal, run_id)
    assert claim.fence == 2
    assert len(journal.load(run_id)) == 1


LATE_WRITES: list[tuple[str, list[Any]]] = [
    ("record", [1]),
    ("record_begun", [0]),
    ("begin", [1]),
    ("emit", ["late"]),
    ("ask", [1]),
    ("park", [0]),
    ("finish", []),
    ("fail", []),
]


@pytest.mark.parametrize(("call", "arguments"), LATE_WRITES, ids=[call for call, _ in LATE_WRITES])
def test_force_takes_over_from_a_living_process_whose_writes_are_all_refused_from_then_on(
    journal: Journal, other: Child, call: str, arguments: list[Any]
) -> None:
    run_id = journal.create("test", "", {})
    other.call("claim", run_id)
    other.call("begin", 0)
    other.call("ask", 0)
    claim = new_claim(journal, run_id, force=True)
    before = _everything(journal, run_id)
    with pytest.raises(Refused) as refused:
        other.call(call, *arguments)
    assert refused.value.name == "FenceLost"
    assert refused.value.message == (
        f"run {run_id} was taken over by another process; this one stops"
    )
    assert _everything(journal, run_id) == before
    journal.record(claim, 0, "node", "hash", b"2", begun=True)


def _everything(journal: Journal, run_id: str) -> tuple[Any, ...]:
    return (
        journal.find(run_id),
        journal.load(run_id),
        journal.events(run_id),
        journal.open_question(run_id),
    )


def test_a_process_that_was_stopped_and_wakes_up_late_cannot_write(
    journal: Journal, other: Child
) -> None:
    run_id = journal.create("test", "", {})
    other.call("claim", run_id)
    other.call("record", 0)
    other.stop()
    other.send("record", 1)
    assert journal.find(run_id).is_driven
    with pytest.raises(RunBusy):
        new_claim(journal, run_id)
    claim = new_claim(journal, run_id, force=True)
    journal.record(claim, 1, "mine", "hash", b"2", begun=False)
    other.wake()
    with pytest.raises(Refused, match="FenceLost"):
        other.reply()
    assert [step.node for step in journal.load(run_id)] == ["node", "mine"]


def test_a_claim_is_lost_to_a_later_one_of_the_same_process_too(journal: Journal) -> None:
    lost = new_claim(journal)
    journal.begin(lost, 0, "node", "hash")
    new_claim(journal, lost.run_id, force=True)
    writes: list[Callable[[], object]] = [
        lambda: journal.record(lost, 0, "node", "hash", b"1", begun=True),
        lambda: journal.record(lost, 1, "node", "hash", b"1", begun=False),
        lambda: journal.ask(lost, 1, "why?"),
        lambda: journal.park(lost, 1),
        lambda: journal.finish(lost, RunState.PASSED, {}),
    ]
    before = _everything(journal, lost.run_id)
    for write in writes:
        with pytest.raises(FenceLost):
            write()
    assert _everything(journal, lost.run_id) == before


def test_releasing_a_claim_that_was_lost_changes_nothing(journal: Journal, other: Child) -> None:
    claim = new_claim(journal)
    other.call("claim", claim.run_id, True)
    journal.release(claim)
    assert journal.find(claim.run_id).is_driven
    other.call("record", 0)


@pytest.mark.parametrize(("call", "arguments"), LATE_WRITES, ids=[call for call, _ in LATE_WRITES])
def test_whatever_the_driver_of_a_cancelled_run_writes_next_tells_it_so(
    journal: Journal, other: Child, call: str, arguments: list[Any]
) -> None:
    run_id = journal.create("test", "", {})
    other.call("claim", run_id)
    other.call("begin", 0)
    other.call("ask", 0)
    journal.cancel(run_id)
    before = _everything(journal, run_id)
    with pytest.raises(Refused) as refused:
        other.call(call, *arguments)
    assert (refused.value.name, refused.value.message) == (
        "RunCancelled",
        f"run {run_id} was cancelled",
    )
    assert _everything(journal, run_id) == before


def test_errors_of_a_run_are_told_apart_by_what_a_caller_does_about_them() -> None:
    for error in (RunBusy, FenceLost, RunCancelled, RunWaiting):
        assert issubclass(error, RunError)
    assert RunWaiting.exit_code == 3


# -- side effects -------------------------------------------------------------------------------


def test_a_side_effect_is_noted_before_it_fires_and_again_with_its_result(journal: Journal) -> None:
    claim = new_claim(journal)
    journal.begin(claim, 0, "fire", "hash")
    (begun,) = journal.load(claim.run_id)
    assert (begun.node, begun.result, begun.finished_at) == ("fire", None, None)
    journal.record(claim, 0, "fire", "hash", b'"done"', begun=True)
    (ended,) = journal.load(claim.run_id)
    assert ended.result == b'"done"'
    assert ended.finished_at is not None


# -- questions ----------------------------------------------------------------------------------


def _asked(journal: Journal) -> Claim:
    claim = new_claim(journal)
    journal.ask(claim, 3, {"why": "it failed"})
    return claim


def test_a_question_can_be_seen_before_the_run_parks_and_after(journal: Journal) -> None:
    claim = _asked(journal)
    for _ in range(2):
        question = journal.open_question(claim.run_id)
        assert question is not None
        assert (question.seq, question.question, question.answered) == (
            3,
            {"why": "it failed"},
            False,
        )
        if journal.find(claim.run_id).state is RunState.RUNNING:
            journal.park(claim, 3)


def test_a_parked_run_holds_no_process_and_refuses_to_be_claimed(journal: Journal) -> None:
    claim = _asked(journal)
    assert not journal.park(claim, 3).answered
    run = journal.find(claim.run_id)
    assert (run.state, run.owner, run.is_over) == (RunState.WAITING, None, False)
    for force in (False, True):
        with pytest.raises(RunWaiting, match="is waiting for an answer"):
            new_claim(journal, claim.run_id, force=force)


def test_the_process_that_parked_a_run_has_no_say_in_it_any_more(journal: Journal) -> None:
    claim = _asked(journal)
    journal.park(claim, 3)
    with pytest.raises(RunError):
        journal.record(claim, 3, "node", "hash", b"1", begun=False)


def test_an_answer_lets_a_parked_run_be_claimed_and_is_found_there(journal: Journal) -> None:
    claim = _asked(journal)
    journal.park(claim, 3)
    journal.answer(claim.run_id[:5], ["yes", 1])
    assert journal.find(claim.run_id).state is RunState.RUNNING
    assert journal.open_question(claim.run_id) is None
    again = new_claim(journal, claim.run_id)
    journal.ask(again, 3, {"why": "it failed"})
    asked = journal.park(again, 3)
    assert (asked.answered, asked.answer) == (True, ["yes", 1])
    assert journal.find(claim.run_id).state is RunState.RUNNING


def test_an_answer_that_comes_between_asking_and_parking_is_not_lost(
    journal: Journal, other: Child
) -> None:
    claim = _asked(journal)
    other.call("answer", claim.run_id, "in between")
    asked = journal.park(claim, 3)
    assert (asked.answered, asked.answer) == (True, "in between")
    run = journal.find(claim.run_id)
    assert (run.state, run.owner) == (RunState.RUNNING, Owner.this_process())
    journal.record(claim, 3, "ask", "hash", b'"in between"', begun=False)


@pytest.mark.parametrize("value", [None, False, 0, "", [], {}], ids=repr)
def test_null_and_every_other_empty_value_is_an_answer(journal: Journal, value: Any) -> None:
    claim = _asked(journal)
    journal.park(claim, 3)
    journal.answer(claim.run_id, value)
    again = new_claim(journal, claim.run_id)
    asked = journal.park(again, 3)
    assert (asked.answered, asked.answer) == (True, value)


@pytest.mark.parametrize("parked", [True, False])
def test_a_second_answer_is_refused_and_the_first_stays(journal: Journal, parked: bool) -> None:
    claim = _asked(journal)
    if parked:
        journal.park(claim, 3)
    journal.answer(claim.run_id, "first")
    with pytest.raises(RunError, match=r"\(running\) does not ask a question"):
        journal.answer(claim.run_id, "second")
    if parked:
        claim = new_claim(journal, claim.run_id)
    assert journal.park(claim, 3).answer == "first"


def test_an_answer_to_another_question_than_the_one_that_is_open_is_refused(
    journal: Journal,
) -> None:
    claim = _asked(journal)
    with pytest.raises(RunError, match="does not ask a question"):
        journal.answer(claim.run_id, "late", seq=2)
    journal.answer(claim.run_id, "in time", seq=3)
    assert journal.park(claim, 3).answer == "in time"


def test_it_is_known_what_was_asked_and_when(journal: Journal) -> None:
    before = time.time()
    claim = _asked(journal)
    journal.answer(claim.run_id, "yes")
    journal.ask(claim, 4, "and now?")
    first, second = journal.questions(claim.run_id)
    assert (first.seq, first.answer, second.question) == (3, "yes", "and now?")
    assert before <= first.asked_at <= second.asked_at <= time.time()


def _cancelled(journal: Journal) -> str:
    claim = _asked(journal)
    journal.park(claim, 3)
    journal.cancel(claim.run_id)
    return claim.run_id


def _finished(journal: Journal) -> str:
    claim = new_claim(journal)
    journal.finish(claim, RunState.PASSED, {})
    return claim.run_id


@pytest.mark.parametrize(
    "prepare",
    [lambda journal: new_claim(journal).run_id, _finished, _cancelled],
    ids=["running", "passed", "cancelled"],
)
def test_an_answer_to_a_run_that_asks_nothing_is_refused(
    journal: Journal, prepare: Callable[[Journal], str]
) -> None:
    run_id = prepare(journal)
    with pytest.raises(RunError, match="does not ask a question"):
        journal.answer(run_id, "yes")


def test_a_process_killed_between_asking_and_parking_leaves_a_question_that_can_be_answered(
    journal: Journal, other: Child
) -> None:
    run_id = journal.create("test", "", {})
    other.call("claim", run_id)
    other.call("ask", 0)
    other.kill()
    journal.answer(run_id, "still here")
    claim = new_claim(journal, run_id)
    journal.ask(claim, 0, "why?")
    assert journal.park(claim, 0).answer == "still here"


# -- many processes at once ---------------------------------------------------------------------


def test_processes_writing_at_the_same_time_lose_nothing(journal: Journal) -> None:
    each, processes = 15, 4
    with ExitStack() as stack:
        children = [stack.enter_context(Child(journal.location)) for _ in range(processes)]
        for child in children:
            child.send("write_many", each)
        made = [run_id for child in children for run_id in child.reply()]
    assert len(set(made)) == each * processes
    assert {run.id for run in journal.runs(limit=1000)} == set(made)
    for run_id in made:
        assert journal.find(run_id).state is RunState.PASSED
        assert len(journal.load(run_id)) == 1
        assert [n for n, _ in journal.events(run_id)] == [1]


def test_of_many_processes_that_claim_one_run_exactly_one_gets_it(journal: Journal) -> None:
    run_id = journal.create("test", "", {})
    claimed, refused = [], []
    with ExitStack() as stack:
        children = [stack.enter_context(Child(journal.location)) for _ in range(4)]
        for child in children:
            child.send("claim", run_id)
        for child in children:
            try:
                claimed.append(child.reply())
            except Refused as refusal:
                refused.append(refusal.name)
    assert claimed == [1]
    assert refused == ["RunBusy"] * 3


def test_readers_are_not_kept_waiting_by_a_writer(journal: Journal) -> None:
    run_id = journal.create("test", "before", {})
    with Journal(journal.location) as writer:
        with writer._transaction() as db:
            db.execute("UPDATE runs SET title = 'not yet'")
            assert journal.find(run_id).title == "before"
        assert journal.find(run_id).title == "not yet"


# -- results ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Report:
    status: str
    added_later: tuple[str, ...] = ()


def test_a_result_is_read_back_as_the_dataclass_that_it_was_written_from(journal: Journal) -> None:
    claim = new_claim(journal)
    journal.finish(claim, RunState.PASSED, Report("passed", ("x",)))
    assert journal.find(claim.run_id).result_as(Report) == Report("passed", ("x",))


def test_of_what_another_version_wrote_the_missing_is_filled_in_and_the_rest_is_left_out(
    journal: Journal,
) -> None:
    claim = new_claim(journal)
    journal.finish(claim, RunState.PASSED, {"status": "passed", "gone_since": 1})
    assert journal.find(claim.run_id).result_as(Report) == Report("passed")


def test_a_result_that_cannot_be_read_says_so(journal: Journal) -> None:
    claim = new_claim(journal)
    journal.finish(claim, RunState.PASSED, {"status": 1})
    with pytest.raises(FlowChanged, match="another version of runtrue"):
        journal.find(claim.run_id).result_as(Report)
