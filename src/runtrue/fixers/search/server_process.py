"""Server processes: confined processes that try candidates, and connect to a socket of ours."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import secrets
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from runtrue.confinement import Confinement, Exceeded
from runtrue.fixers.search.connection import LONGEST_LINE, Connection, Message
from runtrue.process import confined, watch_group
from runtrue.usage import exceeded

_OUTPUT = 2000


class Unprovable(Exception):
    """Candidates cannot be proven this way; the message says why."""


class ServerProcess:
    """One process group, whose processes connect to a socket in `directory`.

    It can be started again after it was killed. What comes late from an earlier start is refused.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        #: The limit that all of them hit together, which ended them; None once started again.
        self.exceeded: Exceeded | None = None
        self._key = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._watch: asyncio.Task[None] | None = None
        self._arrived: asyncio.Queue[Connection | Message] = asyncio.Queue()
        self._listening: set[asyncio.Task[None]] = set()
        self._marks: dict[str, str] = {}
        self._started: Callable[[int], None] = lambda group: None
        self._stack = AsyncExitStack()

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Listen for those that connect; end all when the block ends."""
        self._stack = AsyncExitStack()
        with watch_group() as (self._marks, self._started):
            server = await asyncio.start_unix_server(
                self._accept, self.directory / "s", limit=LONGEST_LINE
            )
            try:
                yield
            finally:
                self.kill()
                server.close()
                for task in self._listening:
                    task.cancel()
                await asyncio.gather(*self._listening, return_exceptions=True)
                await self._stack.aclose()

    @property
    def pid(self) -> int | None:
        """The process that was started; None once it was killed."""
        return self._process.pid if self._process is not None else None

    async def start(
        self,
        argv: Sequence[str],
        where: Path,
        environment: Mapping[str, str],
        settings: Message,
        confinement: Confinement | None,
    ) -> None:
        """Start it; `settings` reach it with the socket and the key. Raises Unprovable."""
        self._key = secrets.token_hex(16)
        self._arrived = asyncio.Queue()
        self.exceeded = None
        settings = {**settings, "socket": str(self.directory / "s"), "key": self._key}
        variables = {**environment, **self._marks, "RUNTRUE_PROVER": json.dumps(settings)}
        output = self.directory / "output"
        try:
            start = await self._stack.enter_async_context(
                confined(confinement, tuple(argv), where, variables)
            )
            with output.open("wb") as stream:
                self._process = subprocess.Popen(  # noqa: ASYNC220 - it starts at once
                    start.argv,
                    cwd=where,
                    env=start.env,
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    pass_fds=start.pass_fds,
                )
        except OSError as error:
            raise Unprovable(f"{argv[0]} cannot be started: {error.strerror}") from error
        self._started(self._process.pid)
        if confinement is not None:
            self._watch = asyncio.ensure_future(self._watched(confinement, self._process.pid))

    async def next(self, what: str, seconds: float) -> Connection:
        """Return the next that connects. Raises Unprovable when none does before `what`."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                async with asyncio.timeout(0.1):
                    came = await self._arrived.get()
            except TimeoutError:
                has_ended = self._process is None or self._process.poll() is not None
                if has_ended and self._arrived.empty():
                    words = self._last_words()
                    raise Unprovable(f"the command ended before {what}{words}") from None
                if time.monotonic() > deadline:
                    raise Unprovable(f"{seconds:.0f} seconds went by before {what}") from None
                continue
            if isinstance(came, Connection):
                return came
            raise Unprovable(f"the command ended before {what} ({came.get('gone')})")

    def kill(self) -> None:
        """End all of them, if any are left."""
        if self._watch is not None:
            self._watch.cancel()
        if self._process is not None:
            self._signal()
            self._process.wait()
            self._process = None

    async def _watched(self, confinement: Confinement, pid: int) -> None:
        """End all of them when they use more than one command may."""
        # Of time, it is each candidate that has so much and no more.
        limits = replace(confinement.limits, cpu=math.inf)
        output = self.directory / "output"
        self.exceeded = await exceeded(
            confinement, pid, lambda: output.stat().st_size, limits=limits
        )
        self._signal()

    def _signal(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            hello = json.loads(await reader.readline())
            if hello["key"] != self._key:
                raise ValueError
        except (OSError, ValueError, KeyError, TypeError):
            writer.close()
            return
        connection = Connection(hello, reader, writer)
        task = asyncio.ensure_future(connection.listen(self._arrived.put_nowait))
        self._listening.add(task)
        task.add_done_callback(self._listening.discard)
        self._arrived.put_nowait(connection)

    def _last_words(self) -> str:
        with contextlib.suppress(OSError):
            text = (self.directory / "output").read_bytes()[-_OUTPUT:].decode(errors="replace")
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            return f": {lines[-1]}" if lines else ""
        return ""
