"""Live updates: what is new in a run, or in all of them, as server-sent events.

One thread looks into the journal, once for all browsers that follow the same thing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from runtrue.errors import RuntrueError
from runtrue.flow import Journal
from runtrue.home import Home
from runtrue.web.activity import activity_of

T = TypeVar("T")

#: Seconds between two looks into the journal, and between signs of life to a quiet browser.
_LOOK, _BEAT = 0.3, 15.0
#: Events that are read at once.
_MOST_EVENTS = 500


class LiveUpdates:
    """Follows the journal for browsers."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._thread = ThreadPoolExecutor(1, "journal")
        self._journal: Journal | None = None
        self._looks: dict[tuple[Any, ...], tuple[float, asyncio.Task[Any]]] = {}
        self._stopping = asyncio.Event()
        #: Set after the first look into the journal: what is recorded from then on is new.
        self.looked = asyncio.Event()

    def stop(self) -> None:
        """End every stream, so that the server can end."""
        self._stopping.set()

    def close(self) -> None:
        """Close the journal, when no stream is left."""
        if self._journal is not None:
            self._thread.submit(self._journal.close)
        self._thread.shutdown(wait=True)

    async def follow(self, run_id: str | None, after: int) -> AsyncIterator[str]:
        """Yield server-sent events: the run's own events, and `change` when anything is new.

        Without a run, only `change`: a run began, ended, waits or goes on.
        """
        yield "retry: 1000\n\n"
        last: tuple[Any, ...] | None = None
        quiet = 0.0
        while not self._stopping.is_set():
            said = ""
            now = await self._pulse(run_id)
            self.looked.set()
            if now != last:
                while run_id is not None:
                    events = await self._events(run_id, after, now)
                    for n, text in events:
                        said += f"event: activity\nid: {n}\ndata: {text}\n\n"
                        after = n
                    if len(events) < _MOST_EVENTS:
                        break
                if last is not None:
                    said += "event: change\ndata: {}\n\n"
                last = now
            quiet = 0.0 if said else quiet + _LOOK
            if quiet >= _BEAT:
                said, quiet = ": still here\n\n", 0.0
            if said:
                yield said
            await self._pause()

    async def _pause(self) -> None:
        try:
            await asyncio.wait_for(self._stopping.wait(), _LOOK)
        except TimeoutError:
            return

    async def _pulse(self, run_id: str | None) -> tuple[Any, ...]:
        """Return the pulse, looked for once for all who want it at about the same time."""
        return await self._shared(("pulse", run_id), lambda journal: _pulse(journal, run_id), ())

    async def _events(
        self, run_id: str, after: int, pulse: tuple[Any, ...]
    ) -> list[tuple[int, str]]:
        """Return new events; those who have seen the same share one look.

        One that was taken after this pulse: an earlier one may lack what the pulse tells of.
        """

        def look(journal: Journal) -> list[tuple[int, str]]:
            found = journal.timed_events(run_id, after=after, limit=_MOST_EVENTS)
            lines = map(activity_of, found)
            return [(one.n, json.dumps({"tone": one.tone, "text": one.text})) for one in lines]

        return await self._shared(("events", run_id, after, pulse), look, [])

    async def _shared(self, key: tuple[Any, ...], look: Callable[[Journal], T], otherwise: T) -> T:
        now = asyncio.get_running_loop().time()
        at, task = self._looks.get(key, (float("-inf"), None))
        if task is None or now - at >= _LOOK / 2:
            self._looks = {k: v for k, v in self._looks.items() if now - v[0] < _LOOK}
            task = asyncio.ensure_future(self._ask(look, otherwise))
            self._looks[key] = (now, task)
        found: T = await asyncio.shield(task)
        return found

    async def _ask(self, look: Callable[[Journal], T], otherwise: T) -> T:
        def work() -> T:
            if self._journal is None:
                if not self._home.has_journal:
                    return otherwise
                self._journal = Journal(self._home.journal)
            return look(self._journal)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except RuntrueError:
            # The file is busy or was moved away; the next look may find it.
            return otherwise


def _pulse(journal: Journal, run_id: str | None) -> tuple[Any, ...]:
    return journal.pulse() if run_id is None else journal.pulse_of(run_id)
