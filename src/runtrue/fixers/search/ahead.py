"""Ahead: servers that are started before anybody has asked for them, while a check still runs.

Until the tests are collected, a server has run nothing of the project: it does not matter what the
check does meanwhile, nor what becomes of the files.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from runtrue.checks import CommandCheck
from runtrue.loop import Workplace

if TYPE_CHECKING:
    from runtrue.fixers.search.servers import Limits, Servers

#: Seconds after which nobody will ask any more.
_PATIENCE = 60.0


class Ahead:
    """Servers for a check in a workplace, for who comes first; nobody has to.

    Made where an event loop runs, they end with it at the latest.
    """

    def __init__(self, check: CommandCheck, workplace: Workplace, limits: Limits) -> None:
        self._about = (check, workplace)
        self._taken = asyncio.Event()
        self._released = asyncio.Event()
        self._ready: asyncio.Future[Servers] = asyncio.get_running_loop().create_future()
        # Of a failure that nobody asks about, nobody is to hear.
        self._ready.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._task = asyncio.create_task(self._keep(limits))

    async def _keep(self, limits: Limits) -> None:
        # Here, so that all that a search needs is imported while the check runs.
        import runtrue.fixers.search.repair  # noqa: F401
        from runtrue.fixers.search.servers import Servers, Unprovable

        servers = Servers(*self._about, limits)
        try:
            async with servers.running():
                self._ready.set_result(servers)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._taken.wait(), _PATIENCE)
                    await self._released.wait()
        except Unprovable as error:
            self._ready.set_exception(error)
        finally:
            self._ready.cancel()

    def fits(self, check: CommandCheck, workplace: Workplace) -> bool:
        """Whether they are for this, and are still to be had."""
        is_free = not (self._taken.is_set() or self._task.done())
        return is_free and self._about == (check, workplace)

    @contextlib.asynccontextmanager
    async def taken(self) -> AsyncIterator[Servers]:
        """Have them, once they run. Raises Unprovable; at the end nothing of them is left."""
        self._taken.set()
        try:
            yield await self._ready
        finally:
            await self.close()

    async def close(self) -> None:
        """Let nothing of them be left."""
        self._taken.set()
        self._released.set()
        if not self._ready.done():
            self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
