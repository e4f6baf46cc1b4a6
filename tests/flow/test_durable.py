"""Durable functions: a loop is one function, and each of its steps is executed once."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from runtrue.errors import FlowChanged, FlowError, SideEffectInterrupted
from runtrue.flow import Journal, Parked, Run, replay
from tests.flow.nodes import Heard, finished, new_claim


@dataclass(frozen=True)
class Grown:
    value: int


class Killed(BaseException):
    """Stands for the end of the process."""


class Work:
    """Doubles a value, remembers what it was executed on, and dies where it is told to."""

    def __init__(self, *, dies_at: int | None = None) -> None:
        self.executed: list[int] = []
        self.dies_at = dies_at

    async def grow(self, value: int) -> Grown:
        await asyncio.sleep(0)
        if len(self.executed) == self.dies_at:
            raise Killed
        self.executed.append(value)
        return Grown(value * 2)


async def loop(run: Run, work: Work) -> int:
    value = 1
    while value < 16:
        value = (await run.step("grow", work.grow, value)).value
    return value


def go(journal: Journal, work: Any, run_id: str | None = None, **settings: Any) -> Any:
    claim = new_claim(journal, run_id, force=True)
    return asyncio.run(Run.recorded(journal, claim, **settings).execute(work))


@pytest.fixture
def run_id(journal: Journal) -> str:
    return journal.create("test", "a loop", {})


def test_a_step_is_recorded_by_its_name_and_comes_back_as_its_annotated_type(
    journal: Journal, run_id: str
) -> None:
    assert go(journal, partial(loop, work=Work()), run_id) == 16
    assert finished(journal.load(run_id)) == ["grow"] * 4


@pytest.mark.parametrize("dies_at", range(4))
def test_killed_at_any_step_the_loop_goes_on_there_and_ends_the_same(
    journal: Journal, run_id: str, dies_at: int
) -> None:
    with pytest.raises(Killed):
        go(journal, partial(loop, work=Work(dies_at=dies_at)), run_id)
    again = Work()
    assert go(journal, partial(loop, work=again), run_id) == 16
    assert again.executed == [1, 2, 4, 8][dies_at:]


def test_a_loop_that_asks_for_another_step_than_the_record_holds_is_refused(
    journal: Journal, run_id: str
) -> None:
    go(journal, partial(loop, work=Work()), run_id)

    async def other_name(run: Run) -> None:
        await run.step("shrink", Work().grow, 1)

    async def other_inputs(run: Run) -> None:
        await run.step("grow", Work().grow, 2)

    async def ends_early(run: Run) -> None:
        await run.step("grow", Work().grow, 1)

    for changed, said in (
        (other_name, "recorded as 'grow' and is now 'shrink'"),
        (other_inputs, "recorded with other inputs"),
        (ends_early, "the flow now ends at 'grow'"),
    ):
        with pytest.raises(FlowChanged, match=said):
            go(journal, changed, run_id)


def test_a_side_effect_that_was_cut_off_is_not_fired_again_without_consent(
    journal: Journal, run_id: str
) -> None:
    async def fire(run: Run, work: Work) -> Grown:
        return await run.step("fire", work.grow, 1, side_effect=True)

    with pytest.raises(Killed):
        go(journal, partial(fire, work=Work(dies_at=0)), run_id)
    with pytest.raises(SideEffectInterrupted, match="stopped inside 'fire'"):
        go(journal, partial(fire, work=Work()), run_id)
    assert go(journal, partial(fire, work=Work()), run_id, force=True) == Grown(2)


def test_a_question_parks_the_loop_and_its_answer_is_recorded(
    journal: Journal, run_id: str
) -> None:
    async def asks(run: Run) -> Any:
        answer = await run.ask("how_far", {"how": "far?"})
        return answer, (await run.step("grow", Work().grow, answer["to"])).value

    with pytest.raises(Parked):
        go(journal, asks, run_id)
    journal.answer(run_id, {"to": 3})
    assert go(journal, asks, run_id) == ({"to": 3}, 6)
    assert finished(journal.load(run_id)) == ["how_far", "grow"]
    assert go(journal, asks, run_id) == ({"to": 3}, 6)


def test_replaying_executes_nothing_and_leaves_the_loop_where_the_record_ends(
    journal: Journal, run_id: str
) -> None:
    go(journal, partial(loop, work=Work()), run_id)
    seen: list[int] = []

    async def watched(run: Run) -> None:
        value = 1
        while True:
            seen.append(value)
            value = (await run.step("grow", never.grow, value)).value

    never = Work(dies_at=0)
    asyncio.run(replay(watched, journal.load(run_id)))
    assert seen == [1, 2, 4, 8, 16]


def test_plain_work_is_done_in_a_thread_and_its_bound_arguments_are_not_inputs(
    journal: Journal, run_id: str
) -> None:
    def where(home: int, value: int) -> bool:
        return threading.get_ident() != home

    async def threaded(run: Run) -> bool:
        return await run.step("where", partial(where, threading.get_ident()), 1)

    assert go(journal, threaded, run_id) is True


def test_listeners_hear_the_steps_of_a_loop(journal: Journal, run_id: str) -> None:
    heard = Heard()

    async def one(run: Run) -> None:
        await run.step("grow", Work().grow, 1)

    go(journal, one, run_id, listeners=[heard])
    assert heard.kinds == [("node_started", "grow"), ("node_finished", "grow")]
    again = Heard()
    go(journal, one, run_id, listeners=[again])
    assert again.kinds == [("node_replayed", "grow")]


def test_in_memory_nothing_is_recorded_and_nobody_can_be_asked() -> None:
    assert asyncio.run(Run().execute(partial(loop, work=Work()))) == 16

    async def asks(run: Run) -> None:
        await run.ask("why", "why?")

    with pytest.raises(FlowError, match="step 'why' asks a person, which needs a journal"):
        asyncio.run(Run().execute(asks))
