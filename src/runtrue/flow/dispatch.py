"""Dispatchers: who drives a segment of a run. This process, for now, is the only one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

from runtrue.errors import JournalError, RunError, SideEffectInterrupted
from runtrue.flow.events import Listener
from runtrue.flow.flow import Flow
from runtrue.flow.journal import Journal
from runtrue.flow.owner import Owner
from runtrue.flow.rows import RunRow, RunState
from runtrue.flow.run import Parked, run_segment


@dataclass(frozen=True, slots=True)
class Segment:
    """A flow made ready to be driven for one run: where it starts and how its end is read."""

    flow: Flow
    shared: dict[str, Any]
    #: Clears away what an earlier driver, killed in the middle, may have left behind.
    take_over: Callable[[], None] = field(default=lambda: None)
    #: Holds what the flow needs while it is driven, such as connections.
    around: Callable[[], AbstractAsyncContextManager[Any]] = field(default=nullcontext)
    #: Reads the outcome off the shared store when the flow has ended.
    outcome: Callable[[dict[str, Any]], tuple[RunState, dict[str, Any]]] = field(
        default=lambda shared: (RunState.PASSED, {})
    )


class Dispatcher(Protocol):
    """The seam between a run and whatever schedules it."""

    async def run_segment(self, run_id: str, *, force: bool = False) -> RunRow:
        """Drive the run until it ends or parks, and return it as it then stands."""
        ...


class LocalDispatcher:
    """Drives segments in this process.

    `prepare` turns a run into a segment: it looks at the run's kind and builds the flow from the
    run's recorded input, so that any process can continue any run.
    """

    def __init__(
        self,
        journal: Journal,
        prepare: Callable[[RunRow], Segment],
        listeners: Iterable[Listener] = (),
    ) -> None:
        self._journal = journal
        self._prepare = prepare
        self._listeners = tuple(listeners)

    async def run_segment(self, run_id: str, *, force: bool = False) -> RunRow:
        """Claim the run, drive it to its end or its next question, and record how it ended.

        `force` takes the run over from a living process, which is ended, and allows a side effect
        that was interrupted to be fired again.
        """
        journal = self._journal
        before = journal.find(run_id)
        if force and before.owner is not None:
            before.owner.end()
        claim = journal.claim(run_id, Owner.this_process(), force=force)
        try:
            segment = self._prepare(journal.find(claim.run_id))
            segment.take_over()
            async with segment.around():
                await run_segment(
                    segment.flow,
                    segment.shared,
                    journal=journal,
                    claim=claim,
                    listeners=self._listeners,
                    force=force,
                )
            journal.finish(claim, *segment.outcome(segment.shared))
        except Parked:
            pass
        except JournalError:
            # Nothing more can be written; the run goes on where the journal ends.
            raise
        except SideEffectInterrupted:
            # It stands where it stood, and why it failed is still true.
            if before.error is None:
                journal.release(claim)
            else:
                journal.fail(claim, before.error)
            raise
        except (RunError, KeyboardInterrupt, asyncio.CancelledError):
            # Not the run's end: anyone may continue from here.
            journal.release(claim)
            raise
        except Exception as error:
            journal.fail(claim, f"{type(error).__name__}: {error}")
            raise
        return journal.find(claim.run_id)
