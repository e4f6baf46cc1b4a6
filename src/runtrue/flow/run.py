"""Runs: the steps of a loop or flow, executed once, recorded, and returned again after a crash.

A durable run goes on in segments, from its start or from an answer until it ends or parks. Each
segment replays what the journal holds and goes on at the first step that is not there.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from typing import Any, TypeVar, get_type_hints, overload

import msgspec

from runtrue.errors import FlowError
from runtrue.flow.codec import (
    Decode,
    changed,
    encoded_result,
    input_hash,
    packed,
    read_result,
    unpacked,
)
from runtrue.flow.events import (
    Emitter,
    Event,
    Listener,
    NodeFinished,
    NodeReplayed,
    NodeStarted,
    QuestionAsked,
    RunParked,
    current_emitter,
)
from runtrue.flow.journal import Journal
from runtrue.flow.parts import PartRecorder, Parts, current_parts, interrupted, recorded_effect
from runtrue.flow.rows import Claim, StepRow
from runtrue.typed_data import json_decoder

T = TypeVar("T")
#: Does the work of one step.
Execute = Callable[[Any], Awaitable[Any]]


class Parked(Exception):
    """The segment ended because the run waits for an answer."""

    def __init__(self, question: Any) -> None:
        super().__init__("the run is waiting for an answer")
        self.question = question


class _ReplayEnded(Exception):
    """All recorded steps have been replayed."""


class Run:
    """A run as its function sees it: work goes through `step`, questions through `ask`.

    Everything else in the function must depend on nothing but their results: after a crash it runs
    again from the top, and recorded steps return their results without being executed. A run
    without a record stays in memory, and nobody can be asked.
    """

    def __init__(
        self, record: Replayer | PartRecorder | None = None, *, listeners: Iterable[Listener] = ()
    ) -> None:
        self._record = record
        #: The step that events belong to.
        self.current = ""
        self.in_memory = record is None
        listeners = tuple(listeners)
        #: Somebody listens: where nobody does, no event need be made.
        self.is_heard = bool(listeners)
        self.notify = _notifier(listeners)

    @classmethod
    def recorded(
        cls,
        journal: Journal,
        claim: Claim,
        *,
        listeners: Iterable[Listener] = (),
        force: bool = False,
        before_record: Callable[[bytes], None] | None = None,
    ) -> Run:
        """A claimed run, recorded in its journal.

        `force` allows a side effect that was interrupted to be fired again. `before_record` is
        given the JSON of each result before that is recorded.
        """
        recorder = Recorder(journal, claim, force=force, before_record=before_record)
        return cls(recorder, listeners=listeners)

    async def execute(self, work: Callable[[Run], Awaitable[T]]) -> T:
        """Run `work` until it ends or parks (`Parked`), and return its result."""
        token = current_emitter.set(self._emitter())
        try:
            result = await work(self)
        finally:
            current_emitter.reset(token)
        if self._record is not None:
            self._record.check_all_used(self.current)
        return result

    @overload
    async def step(
        self,
        name: str,
        work: Callable[..., Coroutine[Any, Any, T]],
        *inputs: Any,
        side_effect: bool = False,
    ) -> T: ...
    @overload
    async def step(
        self, name: str, work: Callable[..., T], *inputs: Any, side_effect: bool = False
    ) -> T: ...
    async def step(
        self, name: str, work: Callable[..., Any], *inputs: Any, side_effect: bool = False
    ) -> Any:
        """Execute `work(*inputs)` unless it is recorded, and return its result.

        The step is recognised by its name and inputs. Inputs and result must be JSON data or types
        that msgspec encodes; the result comes back as the type that `work` is annotated with. What
        is no coroutine is run in a thread. A `side_effect` changes something outside of the run
        and is never fired a second time without consent.
        """

        async def execute(inputs: tuple[Any, ...]) -> Any:
            self.notify(NodeStarted(origin=name))
            if inspect.iscoroutinefunction(_plain(work)):
                result = await work(*inputs)
            else:
                result = await asyncio.to_thread(work, *inputs)
            self.notify(NodeFinished(origin=name))
            return result

        return await self.perform(
            name, inputs, execute, decoder(_plain(work), name), side_effect=side_effect
        )

    async def ask(self, name: str, question: Any) -> Any:
        """Ask a person, and return the answer. The run parks until there is one."""
        self.current = name
        if self._record is None:
            raise FlowError(f"step {name!r} asks a person, which needs a journal")
        return await self._record.ask(name, question, self.notify)

    async def perform(
        self,
        name: str,
        inputs: Any,
        execute: Execute,
        decode: Decode,
        *,
        side_effect: bool,
        has_parts: bool = False,
    ) -> Any:
        """Do one step: `execute(inputs)`, or what the record holds for it.

        What is done in a step that `has_parts` is recorded part by part.
        """
        self.current = name
        if self._record is None:
            return await execute(inputs)
        return await self._record.step(
            name, inputs, execute, decode, side_effect, self.notify, has_parts
        )

    def _emitter(self) -> Emitter:
        loop, home = asyncio.get_running_loop(), threading.get_ident()

        def emitter(event: Event) -> None:
            if threading.get_ident() != home:
                # From blocking work: the journal and the listeners belong to the other thread.
                asyncio.run_coroutine_threadsafe(emit_at_home(event), loop).result()
                return
            event = replace(event, origin=self.current)
            if event.recorded and self._record is not None:
                self._record.keep(event)
            self.notify(event)

        async def emit_at_home(event: Event) -> None:
            emitter(event)

        return emitter


async def replay(work: Callable[[Run], Awaitable[Any]], steps: list[StepRow]) -> None:
    """Run `work` over recorded steps until they end, executing nothing."""
    with suppress(_ReplayEnded):
        await Run(Replayer(steps)).execute(work)


def decoder(work: Callable[..., Any], name: str) -> Decode:
    """Return what reads recorded results of `work`, by the annotation of what it returns."""
    try:
        return _decoder(getattr(work, "__func__", work))
    except (NameError, TypeError) as error:
        raise FlowError(f"the annotations of {name} cannot be used: {error}") from error


@cache
def _decoder(function: Callable[..., Any]) -> Decode:
    return json_decoder(get_type_hints(function).get("return", Any))


def _plain(work: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself, without the arguments that are bound to it."""
    while isinstance(work, partial):
        work = work.func
    return work


class Replayer:
    """Returns recorded results in order, after checking that the run still asks for them."""

    def __init__(self, steps: list[StepRow]) -> None:
        self._steps = steps
        self._seq = 0
        self._hash = ""

    async def step(
        self,
        name: str,
        inputs: Any,
        execute: Execute,
        decode: Decode,
        side_effect: bool,
        notify: Listener,
        has_parts: bool = False,
    ) -> Any:
        """Return the result of the next step out of the record."""
        recorded = self._next(name, inputs)
        if recorded is None or recorded.result is None:
            raise _ReplayEnded
        return self._result(name, recorded.result, decode)

    async def ask(self, name: str, question: Any, notify: Listener) -> Any:
        """Return the recorded answer to a question."""
        recorded = self._next(name, question)
        if recorded is None or recorded.result is None:
            raise _ReplayEnded
        return msgspec.json.decode(unpacked(recorded.result))

    def keep(self, event: Event) -> None:
        """Do nothing: replaying executes nothing, so that nothing is emitted."""

    def _next(self, name: str, inputs: Any) -> StepRow | None:
        self._hash = input_hash(name, inputs)
        if self._seq >= len(self._steps):
            return None
        recorded = self._steps[self._seq]
        if recorded.node != name:
            raise changed(f"step {self._seq} was recorded as {recorded.node!r} and is now {name!r}")
        if recorded.input_hash != self._hash:
            raise changed(f"step {self._seq}, {name!r}, was recorded with other inputs")
        self._seq += 1
        return recorded

    def _result(self, name: str, recorded: bytes, decode: Decode) -> Any:
        return read_result(name, recorded, decode)

    def check_all_used(self, last: str) -> None:
        """Refuse an end at step `last` if the record goes on from there."""
        if self._seq < len(self._steps):
            node = self._steps[self._seq].node
            raise changed(
                f"step {self._seq} was recorded as {node!r} and the flow now ends at {last!r}"
            )


class Recorder(Replayer):
    """Replays what is recorded, then executes and records what is not."""

    def __init__(
        self,
        journal: Journal,
        claim: Claim,
        *,
        force: bool,
        before_record: Callable[[bytes], None] | None = None,
    ) -> None:
        super().__init__(journal.load(claim.run_id))
        self._journal = journal
        self._claim = claim
        self._force = force
        self._before_record = before_record

    async def step(
        self,
        name: str,
        inputs: Any,
        execute: Execute,
        decode: Decode,
        side_effect: bool,
        notify: Listener,
        has_parts: bool = False,
    ) -> Any:
        """Return the result of the next step, recorded before it is used."""
        recorded = self._next(name, inputs)
        if recorded is not None and recorded.result is not None:
            notify(NodeReplayed(origin=name))
            return self._result(name, recorded.result, decode)
        begun = recorded is not None
        if begun and not self._force:
            raise interrupted(self._claim.run_id, [name])
        seq, digest = self._new_seq(recorded), self._hash
        journal, claim = self._journal, self._claim
        parts = Parts.of_step(journal, claim, seq, name, force=self._force) if has_parts else None
        if side_effect and not begun:
            journal.begin(claim, seq, name, digest)
            begun = True

        def record(result: Any) -> Any:
            # What is seen now is what would be seen on replay.
            encoded, result = encoded_result(name, result, decode)
            if self._before_record is not None:
                self._before_record(unpacked(encoded))
            journal.record(claim, seq, name, digest, encoded, begun=begun, has_parts=has_parts)
            return result

        token = current_parts.set(parts)
        try:
            if not begun:
                return record(await execute(inputs))
            return await recorded_effect(
                execute(inputs), record, lambda: journal.withdraw(claim, seq)
            )
        finally:
            current_parts.reset(token)

    async def ask(self, name: str, question: Any, notify: Listener) -> Any:
        """Return the answer to a question, recorded before it is used, or park."""
        recorded = self._next(name, question)
        if recorded is not None and recorded.result is not None:
            notify(NodeReplayed(origin=name))
            return msgspec.json.decode(unpacked(recorded.result))
        seq, digest = self._new_seq(recorded), self._hash
        self._journal.ask(self._claim, seq, question)
        notify(QuestionAsked(origin=name, question=question))
        asked = self._journal.park(self._claim, seq)
        if not asked.answered:
            notify(RunParked(origin=name, question=question))
            raise Parked(question)
        encoded = msgspec.json.encode(asked.answer)
        self._journal.record(self._claim, seq, name, digest, packed(encoded), begun=False)
        return msgspec.json.decode(encoded)

    def _new_seq(self, recorded: StepRow | None) -> int:
        if recorded is None:
            self._seq += 1
        return self._seq - 1

    def keep(self, event: Event) -> None:
        """Put an event into the journal."""
        self._journal.emit(self._claim, event)


def _notifier(listeners: tuple[Listener, ...]) -> Listener:
    def notify(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return notify
