"""Dispatching: a segment is claimed, driven and ended, whatever way it ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from runtrue.errors import (
    FenceLost,
    JournalError,
    RunBusy,
    RunCancelled,
    RunError,
    SandboxError,
    SideEffectInterrupted,
    UnknownRun,
)
from runtrue.flow import (
    Ask,
    Event,
    Flow,
    Journal,
    LocalDispatcher,
    Node,
    RunRow,
    RunState,
    Segment,
    emit,
)
from tests.flow.child import Child
from tests.flow.nodes import Heard, Work, finished, flow_segment


class WorkStarted(Event):
    pass


def _dispatcher(journal: Journal, start: Node, **settings: Any) -> LocalDispatcher:
    listeners = settings.pop("listeners", ())
    return LocalDispatcher(
        journal, lambda run: flow_segment(Flow(start), {}, **settings), listeners
    )


def _drive(journal: Journal, run_id: str, start: Node, **settings: Any) -> RunRow:
    return asyncio.run(_dispatcher(journal, start, **settings).run(run_id))


@pytest.fixture
def run_id(journal: Journal) -> str:
    return journal.create("test", "", {"n": 1})


@pytest.mark.parametrize(
    "state", [RunState.PASSED, RunState.FAILED, RunState.ESCALATED, RunState.ABORTED]
)
def test_the_outcome_is_read_off_the_shared_store_and_recorded(
    journal: Journal, run_id: str, state: RunState
) -> None:
    run = _drive(
        journal, run_id, Work(lambda inputs: 7), outcome=lambda shared: (state, dict(shared))
    )
    assert (run.state, run.result) == (state, {"out": 7})
    assert run == journal.find(run_id)
    assert not run.is_driven


def test_without_an_outcome_of_its_own_a_flow_that_ends_has_passed(
    journal: Journal, run_id: str
) -> None:
    run = _drive(journal, run_id, Work(str))
    assert (run.state, run.result) == (RunState.PASSED, {})


def test_the_segment_is_prepared_from_the_recorded_run_found_by_any_beginning_of_its_id(
    journal: Journal, run_id: str
) -> None:
    prepared: list[RunRow] = []

    def prepare(run: RunRow) -> Segment:
        prepared.append(run)
        return flow_segment(Flow(Work(str)), {"in": run.input["n"]})

    asyncio.run(LocalDispatcher(journal, prepare).run(run_id[:6]))
    assert [(run.id, run.input, run.is_driven) for run in prepared] == [(run_id, {"n": 1}, True)]


def test_what_an_earlier_driver_left_is_cleared_away_before_the_first_node(
    journal: Journal, run_id: str
) -> None:
    order: list[str] = []
    _drive(
        *(journal, run_id, Work(lambda inputs: order.append("node"))),
        take_over=lambda: order.append("take over"),
    )
    assert order == ["take over", "node"]


def test_listeners_hear_the_run(journal: Journal, run_id: str) -> None:
    heard = Heard()
    _drive(journal, run_id, Work(str), listeners=[heard])
    assert heard.kinds == [("node_started", "work"), ("node_finished", "work")]


def test_an_unknown_run_is_refused(journal: Journal) -> None:
    with pytest.raises(UnknownRun):
        _drive(journal, "none", Work(str))


# -- parking ------------------------------------------------------------------------------------


class Question(Ask):
    terminal = True


def test_a_run_that_asks_is_returned_waiting_and_goes_on_after_the_answer(
    journal: Journal, run_id: str
) -> None:
    run = _drive(journal, run_id, Question("ask"))
    assert (run.state, run.is_driven, run.is_over) == (RunState.WAITING, False, False)
    journal.answer(run_id, None)
    assert _drive(journal, run_id, Question("ask")).state is RunState.PASSED


def test_many_runs_can_wait_and_others_go_on_meanwhile(journal: Journal) -> None:
    waiting = [journal.create("test", "", {}) for _ in range(10)]
    for run_id in waiting:
        _drive(journal, run_id, Question("ask"))
    other = journal.create("test", "", {})
    assert _drive(journal, other, Work(str)).state is RunState.PASSED
    assert {run.id for run in journal.runs(state=RunState.WAITING)} == set(waiting)


# -- breaking -----------------------------------------------------------------------------------


def _fail(error: BaseException) -> Callable[[Any], Any]:
    def work(inputs: Any) -> Any:
        raise error

    return work


@pytest.mark.parametrize(
    "error", [ValueError("no such thing"), SandboxError("no room"), AssertionError()], ids=repr
)
def test_an_exception_fails_the_run_with_its_error_and_the_run_can_be_resumed(
    journal: Journal, run_id: str, error: Exception
) -> None:
    first = Work(str, "first")
    first >> Work(_fail(error), "second")
    with pytest.raises(type(error)):
        _drive(journal, run_id, first)
    run = journal.find(run_id)
    assert (run.state, run.error) == (RunState.FAILED, f"{type(error).__name__}: {error}")
    assert not run.is_driven
    assert not run.is_over

    again = Work(_fail(AssertionError("done before")), "first")
    again >> Work(str, "second")
    assert _drive(journal, run_id, again).state is RunState.PASSED
    assert journal.find(run_id).error is None
    assert finished(journal.load(run_id)) == ["first", "second"]


@pytest.mark.parametrize("where", ["prepare", "take_over", "outcome"])
def test_an_exception_around_the_flow_fails_the_run_just_the_same(
    journal: Journal, run_id: str, where: str
) -> None:
    def broken(*_: object) -> Any:
        raise LookupError(where)

    if where == "prepare":
        dispatcher = LocalDispatcher(journal, broken)
    else:
        dispatcher = _dispatcher(journal, Work(str), **{where: broken})
    with pytest.raises(LookupError):
        asyncio.run(dispatcher.run(run_id))
    assert journal.find(run_id).error == f"LookupError: {where}"
    assert _drive(journal, run_id, Work(str)).state is RunState.PASSED


def test_an_interruption_releases_the_run_to_be_continued_by_anyone(
    journal: Journal, run_id: str, other: Child
) -> None:
    with pytest.raises(KeyboardInterrupt):
        _drive(journal, run_id, Work(_fail(KeyboardInterrupt())))
    run = journal.find(run_id)
    assert (run.state, run.owner, run.error) == (RunState.RUNNING, None, None)
    assert other.call("claim", run_id) == 2


@pytest.mark.parametrize("blocking", [False, True])
def test_a_cancelled_task_releases_the_run(journal: Journal, run_id: str, blocking: bool) -> None:
    let_go = threading.Event()

    class Slow(Node):
        async def exec(self, inputs: None) -> None:
            emit(WorkStarted())
            await asyncio.sleep(3600)

    class Blocking(Node):
        blocking = True

        def exec(self, inputs: None) -> None:
            emit(WorkStarted())
            let_go.wait(60)

    async def cancel_it() -> None:
        started = asyncio.Event()
        dispatcher = _dispatcher(
            *(journal, Blocking() if blocking else Slow()),
            listeners=[lambda event: started.set() if isinstance(event, WorkStarted) else None],
        )
        task = asyncio.create_task(dispatcher.run(run_id))
        await started.wait()
        task.cancel()
        try:
            await task
        finally:
            let_go.set()

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel_it())
    run = journal.find(run_id)
    assert (run.state, run.owner) == (RunState.RUNNING, None)


def test_an_interrupted_side_effect_releases_the_run_and_is_fired_again_with_force(
    journal: Journal, run_id: str
) -> None:
    class Fire(Work):
        side_effect = True

    with pytest.raises(KeyboardInterrupt):
        _drive(journal, run_id, Fire(_fail(KeyboardInterrupt())))
    with pytest.raises(SideEffectInterrupted):
        _drive(journal, run_id, Fire(str))
    assert journal.find(run_id).owner is None
    again = _dispatcher(journal, Fire(str)).run(run_id, force=True)
    assert asyncio.run(again).state is RunState.PASSED


# -- other processes ----------------------------------------------------------------------------


def test_a_run_that_another_process_drives_is_refused_and_left_alone(
    journal: Journal, run_id: str, other: Child
) -> None:
    other.call("claim", run_id)
    with pytest.raises(RunBusy):
        _drive(journal, run_id, Work(str))
    other.call("record", 0)


def test_force_ends_the_living_process_that_drives_the_run_before_it_goes_on(
    journal: Journal, run_id: str, other: Child
) -> None:
    other.call("claim", run_id)
    alive: list[bool] = []

    def work(inputs: Any) -> None:
        alive.append(other.process.poll() is None)

    run = asyncio.run(_dispatcher(journal, Work(work)).run(run_id, force=True))
    assert run.state is RunState.PASSED
    assert alive == [False]


def test_a_run_taken_over_meanwhile_is_left_to_the_other_process(
    journal: Journal, run_id: str, other: Child
) -> None:
    with pytest.raises(FenceLost):
        _drive(journal, run_id, Work(lambda inputs: other.call("claim", run_id, True)))
    run = journal.find(run_id)
    assert run.owner is not None
    assert (run.state, run.owner.pid, run.error) == (RunState.RUNNING, other.pid, None)


def test_a_run_taken_over_by_the_time_it_breaks_is_not_marked_as_failed(
    journal: Journal, run_id: str, other: Child
) -> None:
    def work(inputs: Any) -> None:
        other.call("claim", run_id, True)
        raise ValueError("broke")

    with pytest.raises(FenceLost) as lost:
        _drive(journal, run_id, Work(work))
    assert isinstance(lost.value.__context__, ValueError)
    assert journal.find(run_id).state is RunState.RUNNING
    other.call("record", 0)


def test_a_run_cancelled_meanwhile_ends_there_and_stays_cancelled(
    journal: Journal, run_id: str
) -> None:
    with pytest.raises(RunCancelled):
        _drive(journal, run_id, Work(lambda inputs: bool(journal.cancel(run_id))))
    assert journal.find(run_id).state is RunState.CANCELLED
    with pytest.raises(RunError, match="has ended"):
        _drive(journal, run_id, Work(str))


def test_a_journal_that_cannot_be_written_any_more_is_not_taken_for_the_runs_failure(
    journal: Journal, run_id: str
) -> None:
    def work(inputs: Any) -> None:
        journal.close()

    with pytest.raises(JournalError):
        _drive(journal, run_id, Work(work))
    with Journal(journal.location) as again:
        run = again.find(run_id)
        assert (run.state, run.error) == (RunState.RUNNING, None)
