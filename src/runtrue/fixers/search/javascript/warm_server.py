"""Warm servers: node processes that run a project's tests on one candidate after another."""

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
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from runtrue.checks import CommandCheck, files_named
from runtrue.fixers.search.connection import LONGEST_LINE, Connection, Message
from runtrue.fixers.search.javascript.project_copy import ProjectCopy
from runtrue.fixers.search.javascript.runner import Runner
from runtrue.fixers.search.servers import Unprovable
from runtrue.loop import Workplace
from runtrue.process import confined, watch_group
from runtrue.usage import exceeded, is_busy, seconds_below

_SERVER = Path(__file__).with_name("node") / "runtrue-server.cjs"
#: Seconds in which the runner must be loaded.
_STARTING = 30.0
_OUTPUT = 2000
#: How many times its limit a run may take that waits for a processor, and seconds between looks.
_STARVED, _LOOK = 10.0, 0.1


class WarmServer:
    """One node process with its own copy of the project. It is started again after it was killed.

    Its answers only choose among candidates: what a search proposes is judged by the check itself.
    """

    def __init__(
        self, check: CommandCheck, workplace: Workplace, runner: Runner, directory: Path
    ) -> None:
        self._check = check
        self._workplace = workplace
        self._runner = runner
        self._directory = directory
        self.copy = ProjectCopy(workplace.root, directory)
        self._key = secrets.token_hex(16)
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._stack = AsyncExitStack()
        self._arrived: asyncio.Queue[Connection] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._socket: asyncio.Server | None = None
        self._watch: asyncio.Task[None] | None = None

    async def run(self, request: Message, seconds: float) -> Message:
        """Send a request; `{"end": "late"}` if it took longer, and the process is gone.

        What waits for a processor is given more time by the clock, until it has used as much.
        """
        connection = await self._connected()
        longest = _STARVED * seconds
        message = {"do": "run", "total": longest + 60, "seconds": seconds, **request}
        asked = asyncio.ensure_future(connection.ask(message))
        try:
            await self._wait(asked, seconds)
            answer = asked.result() if asked.done() else {"end": "late"}
        except asyncio.CancelledError:
            self._kill()
            raise
        finally:
            asked.cancel()
        if answer["end"] in ("late", "died"):
            self._kill()
        return answer

    async def _wait(self, asked: asyncio.Future[Message], seconds: float) -> None:
        """Wait for an answer, as long as there is time."""
        assert self._process is not None  # noqa: S101 - it is connected
        pid, began = self._process.pid, time.monotonic()
        used = seconds_below(pid)
        await asyncio.wait((asked,), timeout=seconds)
        while not asked.done() and time.monotonic() - began < _STARVED * seconds:
            if seconds_below(pid) - used >= seconds or not is_busy(pid):
                return
            await asyncio.wait((asked,), timeout=_LOOK)

    async def close(self) -> None:
        """End the process and forget the copy's connections."""
        self._kill()
        if self._socket is not None:
            self._socket.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._stack.aclose()

    async def _connected(self) -> Connection:
        if self._connection is not None and not self._connection.lost.is_set():
            return self._connection
        self._kill()
        if self._socket is None:
            self._socket = await asyncio.start_unix_server(
                self._accept, self._directory / "s", limit=LONGEST_LINE
            )
        await self._start()
        deadline = asyncio.get_running_loop().time() + _STARTING
        while self._arrived.empty():
            if self._process is None or self._process.poll() is not None:
                raise Unprovable(f"the runner could not be loaded{self._last_words()}")
            if asyncio.get_running_loop().time() > deadline:
                raise Unprovable(f"the runner was not loaded within {_STARTING:.0f} s")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.1):
                    self._connection = await self._arrived.get()
                    break
        else:
            self._connection = self._arrived.get_nowait()
        assert self._connection is not None  # noqa: S101 - one has just arrived
        if self._connection.hello["hello"] != "ready":
            raise Unprovable(f"the runner could not be loaded: {self._connection.hello['detail']}")
        return self._connection

    async def _start(self) -> None:
        self._arrived = asyncio.Queue()
        self._key = secrets.token_hex(16)
        where = self._place(self._runner.directory)
        marks, started = self._stack.enter_context(watch_group())
        environment = {**self._workplace.environment, **self._check.env, **marks}
        settings: dict[str, Any] = {
            "socket": str(self._directory / "s"),
            "key": self._key,
            "root": str(self.copy.root),
            "scratch": str(self._directory),
            "runner": self._runner.name,
            "words": self._runner.words,
            "options": self._runner.options,
            "nodeTest": self._runner.is_node_test,
        }
        environment |= {"RUNTRUE_PROVER": json.dumps(settings), "TMPDIR": str(self._directory)}
        environment.setdefault("NODE_ENV", "test")
        confinement = self._workplace.confinement
        if confinement is not None:
            read = [*files_named(self._check.command), _SERVER.parent]
            confinement = confinement.also(write=[self._directory], read=read)
        argv = ("node", *_own_options(self._runner), str(_SERVER))
        try:
            start = await self._stack.enter_async_context(
                confined(confinement, argv, where, environment)
            )
            with (self._directory / "output").open("wb") as stream:
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
            raise Unprovable(f"node cannot be started: {error.strerror}") from error
        started(self._process.pid)
        if confinement is not None:
            # Of time, it is each candidate that has so much and no more.
            limits = replace(confinement.limits, cpu=math.inf)
            output, pid = self._directory / "output", self._process.pid

            async def watch() -> None:
                await exceeded(confinement, pid, lambda: output.stat().st_size, limits=limits)
                self._kill()

            self._watch = asyncio.ensure_future(watch())

    def _place(self, directory: Path) -> Path:
        return self.copy.root / directory.resolve().relative_to(self._workplace.root.resolve())

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            hello = json.loads(await reader.readline())
            if hello["key"] != self._key:
                raise ValueError
        except (OSError, ValueError, KeyError, TypeError):
            writer.close()
            return
        connection = Connection(hello, reader, writer)
        task = asyncio.ensure_future(connection.listen(lambda message: None))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._arrived.put_nowait(connection)

    def _kill(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _last_words(self) -> str:
        with contextlib.suppress(OSError):
            text = (self._directory / "output").read_bytes()[-_OUTPUT:].decode(errors="replace")
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            return f": {lines[-1]}" if lines else ""
        return ""


def _own_options(runner: Runner) -> tuple[str, ...]:
    # jest runs ES modules only with this; without any it changes nothing.
    return ("--experimental-vm-modules", "--no-warnings") if runner.name == "jest" else ()
