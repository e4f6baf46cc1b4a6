"""Events: what listeners hear, in which order, and what of it stays in the journal."""

import asyncio
import threading
from dataclasses import dataclass
from typing import Any

import pytest

from runtrue.errors import FenceLost, RunCancelled
from runtrue.flow import (
    Event,
    Flow,
    Journal,
    Node,
    NodeFinished,
    NodeStarted,
    RunState,
    UnknownEvent,
    bound_emit,
    emit,
)
from tests.flow.child import Child
from tests.flow.nodes import Heard, Work, drive, new_claim


class Thinking(Event):
    about: Any


class SaidIt(Event):
    pass


class Whispered(Event):
    recorded = False

    n: int


class Numbered(Event):
    n: int


def _chatty(inputs: Any) -> str:
    emit(Thinking(about=inputs))
    emit(SaidIt())
    return "said"


def test_outside_of_any_run_emitting_does_nothing() -> None:
    emit(Numbered(n=1))


def test_outside_of_any_run_there_is_still_something_to_emit_with() -> None:
    bound_emit()(Numbered(n=1))


def test_from_within_a_flow_in_a_node_the_run_around_it_can_be_told(journal: Journal) -> None:
    inner_heard, heard = Heard(), Heard()

    class Outer(Node):
        terminal = True

        async def exec(self, inputs: Any) -> None:
            outer = bound_emit()

            def work(inputs: Any) -> str:
                outer(Numbered(n=1))
                outer(Whispered(n=2))
                emit(SaidIt())
                return ""

            await Flow(Work(work, "inner")).run(listeners=[inner_heard])

    claim = new_claim(journal)
    drive(journal, Flow(Outer()), claim=claim, listeners=[heard])
    assert [kind for kind, node in inner_heard.kinds] == [
        "node_started",
        "said_it",
        "node_finished",
    ]
    assert [event for event in heard.events if event.payload] == [
        Numbered(origin="Outer", n=1),
        Whispered(origin="Outer", n=2),
    ]
    assert journal.events(claim.run_id) == [(1, Numbered(origin="Outer", n=1))]


def test_listeners_hear_each_node_start_and_finish_in_order() -> None:
    heard, also = Heard(), Heard()
    a, b = Work(str, "a"), Work(str, "b")
    a >> b
    asyncio.run(Flow(a).run(listeners=[heard, also]))
    assert heard.kinds == [
        ("node_started", "a"),
        ("node_finished", "a"),
        ("node_started", "b"),
        ("node_finished", "b"),
    ]
    assert also.events == heard.events


def test_listeners_hear_of_retries_with_the_error_that_led_to_each() -> None:
    class Flaky(Work):
        retries = 2

    heard = Heard()
    with pytest.raises(ZeroDivisionError):
        asyncio.run(Flow(Flaky(lambda inputs: 1 / 0)).run(listeners=[heard]))
    assert heard.kinds == [("node_started", "work"), *[("node_retried", "work")] * 2]
    assert [event.payload for event in heard.events[1:]] == [
        {"retry": n, "error": "ZeroDivisionError('division by zero')"} for n in (1, 2)
    ]


def test_what_exec_emits_in_memory_reaches_the_listeners_between_start_and_finish() -> None:
    heard = Heard()
    asyncio.run(Flow(Work(_chatty)).run({"in": 7}, listeners=[heard]))
    assert heard.events == [
        NodeStarted(origin="work"),
        Thinking(origin="work", about=7),
        SaidIt(origin="work"),
        NodeFinished(origin="work"),
    ]


def test_what_exec_emits_in_a_durable_run_is_in_the_journal_too(journal: Journal) -> None:
    claim, heard = new_claim(journal), Heard()
    drive(journal, Flow(Work(_chatty)), {"in": 7}, claim=claim, listeners=[heard])
    assert journal.events(claim.run_id) == [
        (1, Thinking(origin="work", about=7)),
        (2, SaidIt(origin="work")),
    ]
    assert [event for event in heard.events if not event.kind.startswith("node_")] == [
        event for _, event in journal.events(claim.run_id)
    ]


@dataclass(frozen=True)
class Place:
    name: str
    state: RunState


class Odd(Event):
    place: Place
    pair: tuple[int, tuple[int, ...]]
    keys: dict[int, None]
    many: set[int]


def test_the_journal_gives_back_the_very_event_that_listeners_heard(journal: Journal) -> None:
    claim, heard = new_claim(journal), Heard()

    def work(inputs: Any) -> None:
        place = Place("here", RunState.PASSED)
        emit(Odd(place=place, pair=(1, (2,)), keys={3: None}, many={4}))

    drive(journal, Flow(Work(work)), claim=claim, listeners=[heard])
    ((_, read),) = journal.events(claim.run_id)
    assert read in heard.events
    assert isinstance(read, Odd)
    assert read.place.state is RunState.PASSED
    assert read.payload == {
        "place": {"name": "here", "state": "passed"},
        "pair": [1, [2]],
        "keys": {"3": None},
        "many": [4],
    }


@pytest.mark.parametrize(
    ("kind", "data"), [("of_the_future", {"n": 1}), ("numbered", {"n": "one"}), ("numbered", {})]
)
def test_an_event_that_this_version_cannot_read_is_given_back_as_it_is(
    journal: Journal, kind: str, data: dict[str, Any]
) -> None:
    claim = new_claim(journal)
    journal.emit(claim, UnknownEvent(unknown=kind, origin="a", data=data))
    ((_, read),) = journal.events(claim.run_id)
    assert (read.kind, read.origin, read.payload) == (kind, "a", data)
    assert journal.latest_event(claim.run_id, Numbered) is None


def test_fields_that_a_later_version_added_to_an_event_are_ignored(journal: Journal) -> None:
    claim = new_claim(journal)
    later = UnknownEvent(unknown="numbered", origin="a", data={"n": 1, "more": 2})
    journal.emit(claim, later)
    assert journal.latest_event(claim.run_id, Numbered) == Numbered(origin="a", n=1)


def test_a_reader_asks_for_the_events_after_the_last_one_it_has_seen(journal: Journal) -> None:
    claim = new_claim(journal)
    drive(journal, Flow(Work(_chatty)), claim=claim)
    assert [event.kind for _, event in journal.events(claim.run_id, 1)] == ["said_it"]
    assert journal.events(claim.run_id, 2) == []


def test_events_of_one_run_are_numbered_apart_from_those_of_another(journal: Journal) -> None:
    first, second = new_claim(journal), new_claim(journal)
    journal.emit(first, Numbered(n=1))
    journal.emit(second, Numbered(n=2))
    journal.emit(first, Numbered(n=3))
    assert [n for n, _ in journal.events(first.run_id)] == [1, 2]
    assert [n for n, _ in journal.events(second.run_id)] == [1]


def test_a_replayed_node_is_told_as_such_and_emits_nothing_again(journal: Journal) -> None:
    chatty = Work(_chatty, "chatty")
    chatty >> Work(lambda inputs: 1 / 0, "breaks")
    claim = new_claim(journal)
    with pytest.raises(ZeroDivisionError):
        drive(journal, Flow(chatty), claim=claim)
    before, heard = journal.events(claim.run_id), Heard()
    claim = new_claim(journal, claim.run_id, force=True)
    with pytest.raises(ZeroDivisionError):
        drive(journal, Flow(chatty), claim=claim, listeners=[heard])
    assert heard.kinds == [("node_replayed", "chatty"), ("node_started", "breaks")]
    assert journal.events(claim.run_id) == before


def test_a_blocking_node_emits_from_its_thread_and_is_heard_in_the_thread_of_the_run(
    journal: Journal,
) -> None:
    threads: list[tuple[str, int]] = []

    class Blocking(Work):
        blocking = True

    def work(inputs: Any) -> None:
        threads.append(("exec", threading.get_ident()))
        emit(SaidIt())

    claim = new_claim(journal)
    drive(
        *(journal, Flow(Blocking(work))),
        claim=claim,
        listeners=[lambda event: threads.append((event.kind, threading.get_ident()))],
    )
    where = dict(threads)
    assert where["exec"] != threading.get_ident()
    assert where["said_it"] == threading.get_ident()
    assert [event.kind for _, event in journal.events(claim.run_id)] == ["said_it"]


def test_emitting_from_a_coroutine_after_a_pause_belongs_to_the_same_node(
    journal: Journal,
) -> None:
    class Slow(Node):
        terminal = True

        async def exec(self, inputs: None) -> None:
            await asyncio.sleep(0)
            emit(SaidIt())

    claim = new_claim(journal)
    drive(journal, Flow(Slow("slow")), claim=claim)
    assert journal.events(claim.run_id) == [(1, SaidIt(origin="slow"))]


def test_what_prep_emits_belongs_to_the_node_that_is_prepared() -> None:
    class Prepared(Work):
        def prep(self, shared: Any) -> None:
            emit(SaidIt())

    heard, first = Heard(), Work(str, "first")
    first >> Prepared(str, "second")
    asyncio.run(Flow(first).run(listeners=[heard]))
    assert ("said_it", "second") in heard.kinds


def test_a_run_inside_a_run_tells_its_own_listeners_only() -> None:
    outer, inner = Heard(), Heard()

    class Outer(Node):
        terminal = True

        async def exec(self, inputs: None) -> None:
            await Flow(Work(_chatty, "inner")).run(listeners=[inner])
            emit(SaidIt())

    asyncio.run(Flow(Outer()).run(listeners=[outer]))
    assert ("thinking", "inner") in inner.kinds
    assert [kind for kind, _ in outer.kinds] == ["node_started", "said_it", "node_finished"]


class Eager(Work):
    """Would try again, and has a way out, if what `emit` raises were a failure of its work."""

    retries = 3

    def exec_fallback(self, inputs: Any, error: Exception) -> str:
        raise AssertionError("losing the run is no failure of the node")


def test_a_node_that_learns_from_emit_that_its_run_was_taken_over_is_not_tried_again(
    journal: Journal, other: Child
) -> None:
    claim, tries = new_claim(journal), []

    def work(inputs: Any) -> None:
        tries.append(1)
        other.call("claim", claim.run_id, True)
        emit(SaidIt())

    with pytest.raises(FenceLost):
        drive(journal, Flow(Eager(work)), claim=claim)
    assert len(tries) == 1
    assert journal.events(claim.run_id) == []


def test_a_node_that_learns_from_emit_that_its_run_was_cancelled_is_not_tried_again(
    journal: Journal,
) -> None:
    claim, tries = new_claim(journal), []

    def work(inputs: Any) -> None:
        tries.append(1)
        journal.cancel(claim.run_id)
        emit(SaidIt())

    with pytest.raises(RunCancelled):
        drive(journal, Flow(Eager(work)), claim=claim)
    assert len(tries) == 1
