"""Children: the runs that a parent run has begun, several at once in this process.

Each has a thread and a connection of its own, as with a worker: what one of them waits for holds up
no other.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from runtrue.errors import SideEffectInterrupted
from runtrue.flow.child_table import ChildRow
from runtrue.flow.database import Location
from runtrue.flow.dispatch import LocalDispatcher, Segment
from runtrue.flow.events import Listener
from runtrue.flow.journal import Journal
from runtrue.flow.owner import Owner
from runtrue.flow.rows import RunRow

_Driven = tuple[asyncio.AbstractEventLoop, "asyncio.Task[RunRow]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildDrive:
    """How children are driven, and who listens."""

    location: Location
    prepare: Callable[[RunRow], Segment]
    concurrency: int
    #: Called when a child begins; returns who listens to its events.
    begins: Callable[[ChildRow], Iterable[Listener]]
    #: Called when a child has stopped, with the run as it is then.
    stopped: Callable[[ChildRow, RunRow], None]
    #: Whether a side effect that was interrupted may be fired again.
    force: bool = False


async def drive_children(how: ChildDrive, children: Iterable[ChildRow]) -> None:
    """Go on with children until each is over, has failed or waits for a person.

    What becomes of a child is in the journal. When this is cancelled, so are the children, and
    each can go on later.
    """
    driver = _Driver(how)
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(how.concurrency, thread_name_prefix="child") as pool:
        running = [loop.run_in_executor(pool, driver.drive, child) for child in children]
        try:
            await asyncio.gather(*running)
        finally:
            driver.stop()
            # Before the pool is left, which blocks this thread: children still report to it.
            await asyncio.gather(*running, return_exceptions=True)


class _Driver:
    """The threads of the children, and how to stop them."""

    def __init__(self, how: ChildDrive) -> None:
        self._how = how
        self._active: dict[str, _Driven] = {}
        self._lock = threading.Lock()
        self._is_stopped = False

    def stop(self) -> None:
        """Let no more children begin, and cancel those that are being driven."""
        with self._lock:
            self._is_stopped = True
            active = list(self._active.values())
        for loop, task in active:
            # A loop that has just closed has nothing left to cancel.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(task.cancel)

    def drive(self, child: ChildRow) -> None:
        """Go on with one child, in this thread."""
        if self._is_stopped:
            return
        how = self._how
        listeners = how.begins(child)
        with Journal(how.location) as journal:
            dispatcher = LocalDispatcher(journal, how.prepare, listeners)
            try:
                # What a child fails by is recorded, and its parent reports it.
                with suppress(Exception):
                    asyncio.run(self._reported(dispatcher, journal, child.run_id))
            except asyncio.CancelledError:
                return
            how.stopped(child, journal.find(child.run_id))

    async def _reported(self, dispatcher: LocalDispatcher, journal: Journal, run_id: str) -> None:
        try:
            await self._watched(dispatcher, run_id)
        except SideEffectInterrupted as error:
            # Nobody looks over its shoulder: the run says why it has stopped.
            journal.fail(journal.claim(run_id, Owner.this_process()), str(error))

    async def _watched(self, dispatcher: LocalDispatcher, run_id: str) -> RunRow:
        running = dispatcher.run(run_id, force=self._how.force)
        task = asyncio.ensure_future(running)
        with self._lock:
            self._active[run_id] = asyncio.get_running_loop(), task
            if self._is_stopped:
                task.cancel()
        try:
            return await task
        finally:
            with self._lock:
                del self._active[run_id]
