"""Calls: what the attempts of one planner run have called, so that none of it is called again.

A call is known by its node type and its inputs, without the params that only say how its answer is
read: a fixed `extract` reads the recorded response once more. The second of two equal calls within
an attempt is the second of those recorded, so that a loop which polls still does.

What was only read is read again behind a change that was made since. What changes something is
never done again with the same inputs, however it ended, and where it ended well not with other
inputs either: a place in the workflow has one such effect, however often it is fixed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from runtrue.errors import NodeFailed, SideEffectInterrupted
from runtrue.flow import Emitter, Event, emit
from runtrue.loop import Fault
from runtrue.typed_data import json_decoder
from runtrue.workflow.step import NodeOutcome, as_data, failure_of

if TYPE_CHECKING:
    from runtrue.workflow.step import WorkflowStep

_encode_in_order = msgspec.json.Encoder(order="deterministic").encode
_encode = msgspec.json.Encoder().encode
_decode_done = json_decoder(NodeOutcome)


class CallBegun(Event):
    """A call with a side effect is about to be made."""

    key: str
    node: str


class CallMade(Event):
    """A call has ended, well or not."""

    key: str
    node: str
    place: str
    final: bool
    changes: bool
    result: NodeOutcome


class CallReplayed(Event):
    """A call is not made again: an earlier attempt made it."""

    recorded = False


@dataclass(frozen=True, slots=True)
class _Made:
    """A call that was made: how it ended, and its place in the order of all of them."""

    done: NodeOutcome
    at: int
    #: It is not made again, whatever happened since.
    final: bool
    #: What is read afterwards may be something else.
    changes: bool


class Calls:
    """The calls of one planner run, by what they are. One attempt is made at a time.

    `keep` puts an event where `of` finds it when the run goes on after a crash. `force` allows a
    call to be made again that was interrupted and may have happened.
    """

    def __init__(self, keep: Emitter | None = None, *, force: bool = False) -> None:
        self._keep = keep
        self._force = force
        self._begun: set[str] = set()
        self._made: dict[str, _Made] = {}
        #: What has been done at each place of the workflow, and ended well.
        self._done: dict[str, str] = {}
        #: Begun by this process, and not over.
        self._open: dict[str, tuple[WorkflowStep, str]] = {}
        self._last = 0
        self.begin_attempt()

    @classmethod
    def of(
        cls, events: Iterable[Event], keep: Emitter | None = None, *, force: bool = False
    ) -> Calls:
        """Rebuild the calls from the events of a run."""
        calls = cls(keep, force=force)
        for event in events:
            if isinstance(event, CallBegun):
                calls._begun.add(event.key)
            elif isinstance(event, CallMade):
                calls._add(event)
        return calls

    def begin_attempt(self, keep: Emitter | None = None) -> None:
        """Count calls from the first again, and keep them from now on with `keep`, if given."""
        self._keep = keep or self._keep
        self._counts: Counter[str] = Counter()
        #: When the latest change was made that this attempt has passed.
        self._changed = 0

    async def make(
        self,
        step: WorkflowStep,
        inputs: Any,
        call: Callable[[], Awaitable[NodeOutcome]],
        *,
        ready: Callable[[], object],
        item: int | None = None,
        run_id: str = "",
    ) -> NodeOutcome:
        """Return how the call ended in an earlier attempt, or make it now.

        `ready` raises what keeps the call from being made at all; `item` is its index in a batch.
        """
        key, place = self._key(step, inputs), self._place(step, item)
        made = self._made.get(key)
        if made is not None and (made.final or made.at > self._changed):
            with suppress(NodeFailed):
                # What it was made with is not needed any more, but it is to be kept a secret.
                ready()
            emit(CallReplayed())
            self._come_by(made)
            return _ended(made)
        ready()
        if key in self._begun and not self._force:
            raise _interrupted(step.name, run_id)
        if step.side_effect:
            if place in self._done:
                raise NodeFailed(
                    "was done by an earlier attempt and is not repeated with other inputs",
                    category="already_done",
                    fault=Fault.HUMAN,
                )
            self._begun.add(key)
            self._open[key] = step, place
            self._emit(CallBegun(key=key, node=step.name))
        try:
            done = await call()
        except NodeFailed as error:
            self._open.pop(key, None)
            if step.side_effect or step.goes_on_after(error):
                self._record(key, step, place, _failed(error))
            raise
        self._open.pop(key, None)
        return _ended(self._record(key, step, place, done))

    def end_attempt(self) -> None:
        """Record the calls that the end of the attempt cut off."""
        cut_off = NodeFailed(
            "was interrupted while running and may have happened",
            category="cut_off",
            fault=Fault.ENVIRONMENT,
        )
        for key, (step, place) in self._open.items():
            self._record(key, step, place, _failed(cut_off))
        self._open.clear()

    def done(self) -> frozenset[str]:
        """Return the nodes whose side effects have happened and ended well."""
        return frozenset(place.partition("[")[0] for place in self._done)

    def _place(self, step: WorkflowStep, item: int | None) -> str:
        place = f"{step.name}[{'' if item is None else item}]"
        self._counts[place] += 1
        return f"{place}-{self._counts[place]}"

    def _key(self, step: WorkflowStep, inputs: Any) -> str:
        asked = {
            name: value for name, value in inputs.items() if name not in step.node_type.reading
        }
        try:
            encoded = _encode_in_order([step.ir.type, asked])
        except (TypeError, ValueError, RecursionError) as error:
            raise _unrecordable("was given", error) from error
        identity = hashlib.blake2b(encoded, digest_size=16).hexdigest()
        self._counts[identity] += 1
        return f"{identity}-{self._counts[identity]}"

    def _record(self, key: str, step: WorkflowStep, place: str, done: NodeOutcome) -> _Made:
        try:
            _encode(done)
        except (TypeError, ValueError, RecursionError) as error:
            done = _failed(_unrecordable("gave", error))
        event = CallMade(
            key=key,
            node=step.name,
            place=place,
            final=step.side_effect,
            changes=step.side_effect or step.node_type.writes,
            result=done,
        )
        self._emit(event)
        made = self._add(event)
        self._come_by(made)
        return made

    def _add(self, event: CallMade) -> _Made:
        # A copy, the same now as when it comes out of a journal.
        done = _decode_done(_encode(event.result))
        self._last += 1
        made = _Made(done, self._last, event.final, event.changes)
        self._made[event.key] = made
        self._begun.discard(event.key)
        if made.final and not done.failed:
            self._done[event.place] = event.key
        return made

    def _come_by(self, made: _Made) -> None:
        if made.changes:
            self._changed = max(self._changed, made.at)

    def _emit(self, event: Event) -> None:
        if self._keep is not None:
            self._keep(event)


def _failed(error: NodeFailed) -> NodeOutcome:
    return NodeOutcome({}, failed=True, failure=as_data(error))


def _ended(made: _Made) -> NodeOutcome:
    if made.done.failure is not None:
        raise failure_of(made.done.failure)
    return made.done


def _interrupted(node: str, run_id: str) -> SideEffectInterrupted:
    run = f"run {run_id}" if run_id else "the run"
    again = f"`runtrue runs resume {run_id} --force`" if run_id else "a new run"
    return SideEffectInterrupted(
        f"{run} stopped inside {node!r}, which has a side effect that may already have happened; "
        f"look, then fire it again with {again}"
    )


def _unrecordable(what: str, error: Exception) -> NodeFailed:
    return NodeFailed(f"it {what} something that cannot be recorded: {error}", category="not_plain")
