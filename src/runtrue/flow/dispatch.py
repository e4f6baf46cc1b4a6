"""Dispatchers: which process runs a segment of a run. `runtrue.scale` has others do it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from runtrue.errors import JournalError, RunError, SideEffectInterrupted
from runtrue.flow.events import Listener
from runtrue.flow.journal import Journal
from runtrue.flow.owner import Owner
from runtrue.flow.rows import RunRow, RunState
from runtrue.flow.run import Parked, Run
from runtrue.telemetry import traced

#: How a run ended: its state, and its report.
Outcome = tuple[RunState, Any]


@dataclass(frozen=True, slots=True)
class Segment:
    """What a run does, ready to go on from wherever the run is."""

    #: Runs the loop or flow, and returns its outcome.
    work: Callable[[Run], Awaitable[Outcome]]
    #: Where `work` keeps how far it is, for reports on a run that has not ended.
    state: Any = None
    #: Clears away what an earlier process, killed in the middle, may have left behind.
    take_over: Callable[[], None] = field(default=lambda: None)
    #: Is given the JSON of each result before that is recorded: another machine may go on there.
    before_record: Callable[[bytes], None] | None = None


class LocalDispatcher:
    """Runs segments in this process.

    `prepare` turns a run into a segment: it looks at the run's kind and builds its work from the
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

    async def run(self, run_id: str, *, force: bool = False, take_over: bool = False) -> RunRow:
        """Claim the run, go on until its end or its next question, and record how it ended.

        `force` takes the run over from a living process, which is ended, and allows a side effect
        that was interrupted to be fired again. `take_over` only takes it over, where the caller
        knows that its owner drives it no more.
        """
        before = self._journal.find(run_id)
        with traced(before.id, before.kind) as trace:
            listeners = self._listeners if trace is None else (*self._listeners, trace.hear)
            run = await self._run(before, listeners, force=force, take_over=take_over)
            if trace is not None:
                trace.status = run.state
        return run

    async def _run(
        self, before: RunRow, listeners: tuple[Listener, ...], *, force: bool, take_over: bool
    ) -> RunRow:
        journal = self._journal
        if force and before.owner is not None:
            before.owner.end()
        claim = journal.claim(before.id, Owner.this_process(), force=force or take_over)
        try:
            segment = self._prepare(journal.find(claim.run_id))
            segment.take_over()
            run = Run.recorded(
                journal,
                claim,
                listeners=listeners,
                force=force,
                before_record=segment.before_record,
            )
            journal.finish(claim, *await run.execute(segment.work))
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
