"""Early servers: started before a search asks for them, while a check still runs.

Until the tests are collected, a server has run nothing of the project: neither what the check does
meanwhile nor changed files matter. When the check has failed, the tests are run in the server:
where they fail again, they are not flaky, and the search can go on from there.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING

from runtrue.checks import CommandCheck
from runtrue.loop import Workplace

if TYPE_CHECKING:
    from runtrue.fixers.search.forked_prover import Prover
    from runtrue.fixers.search.measurement import CheckOutcome
    from runtrue.fixers.search.servers import Servers, TrialLimits

#: Seconds after which no search will ask any more.
_PATIENCE = 60.0


class EarlyServers:
    """Servers for a check in a workplace, for at most one search.

    Made where an event loop runs, they end with it at the latest.
    """

    def __init__(self, check: CommandCheck, workplace: Workplace, limits: TrialLimits) -> None:
        self._about = (check, workplace)
        self._limits = limits
        #: Has run the tests already; a search that takes the servers goes on with it.
        self.prover: Prover | None = None
        self._busy = False
        self._taken = asyncio.Event()
        self._released = asyncio.Event()
        self._ready: asyncio.Future[Servers] = asyncio.get_running_loop().create_future()
        # A failure that no search asks about is not reported.
        self._ready.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._task = asyncio.create_task(self._serve())

    async def _serve(self) -> None:
        try:
            # Here, to import all that a search needs while the check runs.
            import runtrue.fixers.search.session  # noqa: F401
            from runtrue.fixers.search.servers import Servers, Unprovable

            servers = Servers(*self._about, self._limits)
            try:
                async with servers.running():
                    self._ready.set_result(servers)
                    with contextlib.suppress(TimeoutError):
                        await self._until_taken()
                        await self._released.wait()
            except Unprovable as error:
                self._ready.set_exception(error)
        finally:  # whatever happened, no search may wait forever
            self._ready.cancel()

    async def _until_taken(self) -> None:
        """Wait. Raises TimeoutError when no search asks for long."""
        while not self._taken.is_set():
            try:
                await asyncio.wait_for(self._taken.wait(), _PATIENCE)
            except TimeoutError:
                if not self._busy:
                    raise

    def fits(self, check: CommandCheck, workplace: Workplace) -> bool:
        """Return whether they are for this check and workplace, and still free."""
        is_free = not (self._taken.is_set() or self._task.done())
        is_unchanged = self.prover is None or self.prover.is_as_measured()
        return is_free and is_unchanged and self._about == (check, workplace)

    async def failing(
        self, longest: float, outcome: CheckOutcome | None = None
    ) -> frozenset[str] | None:
        """Return the tests that fail each time, none of which gets more than `longest` seconds.

        `outcome` is that of the check. None where they cannot be run this way.
        """
        from runtrue.fixers.search.forked_prover import Prover, Unprovable
        from runtrue.fixers.search.measurement import UNKNOWN

        limits = replace(self._limits, longest=longest)
        self._busy = True
        try:
            self.prover = await Prover.collected(
                await self._running(), self._about[1], limits, outcome or UNKNOWN
            )
            baseline = await self.prover.baseline()
        except Unprovable:
            await self.close()
            return None
        except asyncio.CancelledError:
            await self.close()
            raise
        finally:
            self._busy = False
        return frozenset(case.test for case in baseline.failing) - baseline.unsteady

    async def _running(self) -> Servers:
        """Return the servers, once they run. Raises Unprovable."""
        from runtrue.fixers.search.servers import Unprovable

        # Not the future itself: cancelling it must not cancel the task that waits for it.
        await asyncio.wait([self._ready])
        if self._ready.cancelled():
            raise Unprovable("the processes that run candidates cannot be started")
        return self._ready.result()

    @contextlib.asynccontextmanager
    async def taken(self) -> AsyncIterator[Servers]:
        """Take them, once they run, and end them. Raises Unprovable."""
        self._taken.set()
        try:
            yield await self._running()
        finally:
            await self.close()

    def abandon(self) -> None:
        """Let them end, since no search will ask any more."""
        self._taken.set()
        self._released.set()
        if not self._ready.done():
            self._task.cancel()

    async def close(self) -> None:
        """End them and wait for it."""
        self.abandon()
        await asyncio.gather(self._task, return_exceptions=True)
        if self.prover is not None:
            self.prover.tidy()
