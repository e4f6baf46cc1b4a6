"""Parts of a step: what a batch or a workflow within a workflow has done, recorded bit by bit.

A step with parts is no side effect itself. Each of its parts is recorded when it has ended, and a
side effect also before it fires, so that a run that is killed in the middle goes on there.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from runtrue.errors import FlowError, NodeFailed, SideEffectInterrupted, UsageError
from runtrue.flow.codec import Decode, changed, encoded_result, input_hash, read_result
from runtrue.flow.events import Event, Listener, bound_emit
from runtrue.flow.journal import Journal
from runtrue.flow.rows import Claim, PartRow

#: The environment variable for the seconds that a side effect gets to finish when a run is stopped.
GRACE = "RUNTRUE_GRACE_SECONDS"
_GRACE_SECONDS = 5.0


class EffectAwaited(Event):
    """The run was asked to stop, and lets a side effect finish first."""

    recorded = False

    seconds: float


@dataclass(slots=True)
class _StepLog:
    """The parts of one step that the journal holds, and where more of them go."""

    journal: Journal
    claim: Claim
    seq: int
    #: Those of an earlier process that are not handed out yet.
    rows: dict[str, PartRow]
    #: Those whose side effect this process has begun, and that have not ended.
    open: set[str] = field(default_factory=set)


class Parts:
    """The parts within a step, or within one of its parts: `name` is what theirs begin with."""

    def __init__(self, log: _StepLog, name: str) -> None:
        self._log = log
        self.name = name

    @classmethod
    def of_step(cls, journal: Journal, claim: Claim, seq: int, node: str, *, force: bool) -> Parts:
        """Return the parts of a step. Raises SideEffectInterrupted if one was cut off.

        `force` allows those to be fired again.
        """
        rows = {row.name: row for row in journal.parts(claim.run_id, seq)}
        cut_off = [name for name, row in rows.items() if row.result is None]
        if cut_off and not force:
            raise interrupted(claim.run_id, cut_off)
        return cls(_StepLog(journal, claim, seq, rows), node)

    async def perform(
        self,
        name: str,
        inputs: Any,
        execute: Callable[[Any], Awaitable[Any]],
        decode: Decode,
        *,
        side_effect: bool,
        has_parts: bool = False,
    ) -> Any:
        """Do one part, `execute(inputs)`, or return what is recorded for it.

        `name` is added to the name of the whole: `[3]` for an item, `.create` for a node.
        """
        log, full = self._log, self.name + name
        digest = input_hash(full, inputs)
        row = log.rows.pop(full, None)
        if row is not None and row.input_hash != digest:
            raise changed(f"{full!r} was recorded with other inputs")
        if row is not None and row.result is not None:
            return read_result(full, row.result, decode)
        begun = row is not None or full in log.open
        if side_effect and not begun:
            log.journal.begin_part(log.claim, log.seq, full, digest)
            begun = True
        if begun:
            log.open.add(full)

        def withdraw() -> None:
            log.open.discard(full)
            log.journal.withdraw_part(log.claim, log.seq, full)

        def record(result: Any) -> Any:
            encoded, result = encoded_result(full, result, decode)
            part = PartRow(log.seq, full, digest, encoded)
            log.journal.record_part(log.claim, part, begun=begun, has_parts=has_parts)
            log.open.discard(full)
            return result

        token = current_parts.set(Parts(log, full) if has_parts else None)
        try:
            if not begun:
                return record(await execute(inputs))
            return await recorded_effect(execute(inputs), record, withdraw)
        finally:
            current_parts.reset(token)

    def forget(self) -> None:
        """Forget the parts within this one, which is done again from its beginning."""
        log = self._log
        for name in [*log.rows, *log.open]:
            if name.startswith((f"{self.name}.", f"{self.name}[")):
                log.rows.pop(name, None)
                log.open.discard(name)
        log.journal.forget_parts(log.claim, log.seq, self.name)

    def unused(self) -> list[str]:
        """Return the nodes that are recorded right within this part and were not asked for."""
        rest = (name.removeprefix(f"{self.name}.") for name in self._log.rows)
        return [name for name in rest if "." not in name and "[" not in name]


class PartRecorder:
    """Records the nodes of a workflow within a workflow as parts of its step."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._visits: Counter[str] = Counter()

    async def step(
        self,
        name: str,
        inputs: Any,
        execute: Callable[[Any], Awaitable[Any]],
        decode: Decode,
        side_effect: bool,
        notify: Listener,
        has_parts: bool = False,
    ) -> Any:
        """Return the result of a node, recorded before it is used."""
        self._visits[name] += 1
        visit = self._visits[name]
        part = f".{name}" if visit == 1 else f".{name}#{visit}"
        return await self._parts.perform(
            part, inputs, execute, decode, side_effect=side_effect, has_parts=has_parts
        )

    async def ask(self, name: str, question: Any, notify: Listener) -> Any:
        """Refuse to ask: only a whole run can wait."""
        raise FlowError(f"step {name!r} asks a person, which a nested workflow cannot do")

    def keep(self, event: Event) -> None:
        """Do nothing: only the whole step's events are recorded."""

    def check_all_used(self, last: str) -> None:
        """Refuse an end if recorded nodes were not asked for."""
        if unused := self._parts.unused():
            within = self._parts.name
            raise changed(f"{within!r} was recorded with {unused[0]!r}, which no longer runs in it")


async def recorded_effect(
    effect: Awaitable[Any],
    record: Callable[[Any], Any],
    withdraw: Callable[[], None],
) -> Any:
    """Do and record a side effect; it is not cut off by a stop, but gets time to finish.

    One that was refused and changed nothing is withdrawn, so that it may be fired again.
    """
    task = asyncio.ensure_future(effect)
    stop: asyncio.CancelledError | None = None
    try:
        try:
            result = await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if task.cancelled():
                raise
            stop = error
            result = await _finish(task)
    except NodeFailed as error:
        if error.unchanged:
            withdraw()
        raise
    result = record(result)
    if stop is not None:
        raise stop
    return result


async def _finish(task: asyncio.Future[Any]) -> Any:
    """Return the result of a side effect that ends within the grace time; then cut it off."""
    seconds = grace_seconds()
    if not task.done():
        bound_emit()(EffectAwaited(seconds=seconds))
    try:
        await asyncio.wait([task], timeout=seconds)
    finally:
        # Not in time, or asked to stop once more.
        if not task.done():
            task.cancel()
            await asyncio.wait([task])
    return task.result()


def grace_seconds() -> float:
    """Return the seconds that a side effect gets to finish when the run is asked to stop."""
    text = os.environ.get(GRACE, "")
    try:
        seconds = float(text) if text else _GRACE_SECONDS
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 3600:
        raise UsageError(f"{GRACE} is {text!r}: give a number of seconds from 0 to 3600")
    return seconds


def interrupted(run_id: str, names: Iterable[str]) -> SideEffectInterrupted:
    """Return the error for side effects that may have happened."""
    inside = ", ".join(map(repr, names))
    return SideEffectInterrupted(
        f"run {run_id} stopped inside {inside}, which has a side effect that may already have "
        f"happened; look, then fire it again with `runtrue runs resume {run_id} --force`"
    )


#: The parts of the step in progress, where it records them.
current_parts: ContextVar[Parts | None] = ContextVar("current_parts", default=None)
