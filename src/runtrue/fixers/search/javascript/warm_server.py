"""Warm servers: node processes that run a project's tests on one candidate after another."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path

from runtrue.checks import CommandCheck, files_named
from runtrue.fixers.search.connection import Connection, Message
from runtrue.fixers.search.javascript.project_copy import ProjectCopy
from runtrue.fixers.search.javascript.runner import Runner
from runtrue.fixers.search.server_process import ServerProcess, Unprovable
from runtrue.loop import Workplace
from runtrue.usage import is_busy, seconds_below

_SERVER = Path(__file__).with_name("node") / "runtrue-server.cjs"
#: Seconds in which the runner must be loaded.
_STARTING = 30.0
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
        self.copy = ProjectCopy(workplace.root, directory)
        self._process = ServerProcess(directory)
        self._connection: Connection | None = None
        self._stack = AsyncExitStack()
        self._is_listening = False

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
        pid, began = self._process.pid, time.monotonic()
        assert pid is not None  # noqa: S101 - it is connected
        used = seconds_below(pid)
        await asyncio.wait((asked,), timeout=seconds)
        while not asked.done() and time.monotonic() - began < _STARVED * seconds:
            if seconds_below(pid) - used >= seconds or not is_busy(pid):
                return
            await asyncio.wait((asked,), timeout=_LOOK)

    async def close(self) -> None:
        """End the process."""
        self._kill()
        await self._stack.aclose()

    async def _connected(self) -> Connection:
        if self._connection is not None and not self._connection.lost.is_set():
            return self._connection
        self._kill()
        if not self._is_listening:
            await self._stack.enter_async_context(self._process.listening())
            self._is_listening = True
        await self._start()
        self._connection = await self._process.next("the runner was loaded", _STARTING)
        if self._connection.hello["hello"] != "ready":
            raise Unprovable(f"the runner could not be loaded: {self._connection.hello['detail']}")
        return self._connection

    async def _start(self) -> None:
        directory = self._process.directory
        environment = {**self._workplace.environment, **self._check.env, "TMPDIR": str(directory)}
        environment.setdefault("NODE_ENV", "test")
        settings: Message = {
            "root": str(self.copy.root),
            "scratch": str(directory),
            "runner": self._runner.name,
            "words": self._runner.words,
            "options": self._runner.options,
            "nodeTest": self._runner.is_node_test,
        }
        confinement = self._workplace.confinement
        if confinement is not None:
            read = [*files_named(self._check.command), _SERVER.parent]
            confinement = confinement.also(write=[directory], read=read)
        argv = ("node", *_own_options(self._runner), str(_SERVER))
        where = self._place(self._runner.directory)
        await self._process.start(argv, where, environment, settings, confinement)

    def _place(self, directory: Path) -> Path:
        return self.copy.root / directory.resolve().relative_to(self._workplace.root.resolve())

    def _kill(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._process.kill()


def _own_options(runner: Runner) -> tuple[str, ...]:
    # jest runs ES modules only with this; without any it changes nothing.
    return ("--experimental-vm-modules", "--no-warnings") if runner.name == "jest" else ()
