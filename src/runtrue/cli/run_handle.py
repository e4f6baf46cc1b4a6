"""Work in progress for asynchronous programs: await it for its report, iterate over its events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable
from types import TracebackType
from typing import Any, Generic, TypeVar

from runtrue.flow import Event, Listener

T = TypeVar("T")


class RunHandle(Coroutine[Any, Any, T], Generic[T]):
    """What the functions with `_async` return. Nothing happens before it is awaited or iterated.

        running = runtrue.fix_async("shop")
        async for event in running:
            print(event.kind, event.payload)
        report = await running

    It is a coroutine, so `asyncio.run` and `asyncio.create_task` take it. Leaving the loop early
    does not stop the run: await it, or `cancel` it.
    """

    def __init__(
        self,
        work: Callable[[Iterable[Listener]], Coroutine[Any, Any, T]],
        listeners: Iterable[Listener] = (),
    ) -> None:
        self._work = work
        self._listeners = tuple(listeners)
        self._task: asyncio.Task[T] | None = None
        self._awaited: Coroutine[Any, Any, T] | None = None

    async def __aiter__(self) -> AsyncIterator[Event]:
        """Start the run and yield its events until it ends or waits for a person.

        What broke the run off is raised at the end, as when it is awaited.
        """
        if self._task is not None or self._awaited is not None:
            raise RuntimeError("this run is already going on; its events can be read only once")
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[Event | None] = asyncio.Queue()

        def hear(event: Event) -> None:
            # Some events come from other threads.
            loop.call_soon_threadsafe(events.put_nowait, event)

        self._task = loop.create_task(self._work((*self._listeners, hear)))
        self._task.add_done_callback(lambda _: events.put_nowait(None))
        while (event := await events.get()) is not None:
            yield event
        await self._task

    def cancel(self) -> None:
        """Stop a run whose events are being read; it can be resumed."""
        if self._task is not None:
            self._task.cancel()

    def __await__(self) -> Generator[Any, Any, T]:
        """Run until the end or the next question, and return the report."""
        return self._report().__await__()

    async def _report(self) -> T:
        if self._task is not None:
            return await self._task
        return await self._work(self._listeners)

    def send(self, value: Any) -> Any:
        """Continue, as the event loop does."""
        if self._awaited is None:
            self._awaited = self._report()
        return self._awaited.send(value)

    def throw(
        self,
        typ: type[BaseException] | BaseException,
        val: BaseException | object = None,
        tb: TracebackType | None = None,
    ) -> Any:
        """Raise an exception where it waits."""
        if self._awaited is None:
            self._awaited = self._report()
        if isinstance(typ, BaseException):
            return self._awaited.throw(typ)
        return self._awaited.throw(typ, val, tb)

    def close(self) -> None:
        """End it where it waits."""
        if self._awaited is not None:
            self._awaited.close()
