"""Servers: the processes whose copies run candidates, started from the user's own command."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import math
import os
import secrets
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from runtrue.checks import CommandCheck, files_named
from runtrue.confinement import Confinement, Exceeded
from runtrue.fixers.search.connection import LONGEST_LINE, Connection, Message
from runtrue.loop import Workplace
from runtrue.process import confined, temporary_directory, watch_group
from runtrue.usage import exceeded

_PLUGIN = Path(__file__).with_name("prover")
_RESTARTS = 6
_OUTPUT = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialLimits:
    """The limits of one trial. `longest` is for one test of the unchanged program, in seconds.

    `memory` is in bytes, above what the process uses before the candidate is loaded; `starting` is
    how long pytest may take to collect the tests.
    """

    jobs: int = os.cpu_count() or 1
    memory: int = 1024**3
    processes: int = 64
    starting: float = 60.0
    longest: float = 10.0
    #: Seconds for running the unchanged program's tests; those that fail are run in any case.
    measuring: float = math.inf
    #: A test may take this many times as long as it did, and at least so many seconds.
    times: float = 10.0
    least: float = 0.15
    least_failing: float = 0.2


def _tracer_folder() -> Path | None:
    """Return the folder of coverage.py's tracer, for a project that has none of its own."""
    spec = importlib.util.find_spec("coverage")
    return Path(spec.origin).parent if spec is not None and spec.origin else None


class Unprovable(Exception):
    """Candidates cannot be proven this way; the message says why."""


class Servers:
    """The processes that try candidates: one command, and two copies of it that are further on.

    `fresh` has imported nothing of the project, and exists first; `midway` has started the session;
    `collected` has collected all tests. The last two may be missing, where the tests cannot be
    collected.
    """

    def __init__(self, command: CommandCheck, workplace: Workplace, limits: TrialLimits) -> None:
        self._command = command
        self._workplace = workplace
        self._limits = limits
        self._directory = Path()
        self._key = secrets.token_hex(16)
        self._process: subprocess.Popen[bytes] | None = None
        self._marks: dict[str, str] = {}
        self._started: Callable[[int], None] = lambda group: None
        self._arrived: asyncio.Queue[Connection | Message] = asyncio.Queue()
        self._listening: set[asyncio.Task[None]] = set()
        self._restarts = 0
        self._stack = AsyncExitStack()
        self._starting = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None
        self._plan: Message | None = None
        self.fresh: Connection | None = None
        self.midway: Connection | None = None
        self.collected: Connection | None = None
        #: The first message about the collected tests.
        self.hello: Message = {}
        #: The limit that candidates hit together, which ended all; None once revived.
        self.exceeded: Exceeded | None = None

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Servers]:
        """Run the first of them, and end all. Raises Unprovable."""
        with (
            temporary_directory("rt-") as self._directory,
            watch_group() as (self._marks, self._started),
        ):
            self._stack = AsyncExitStack()
            server = await asyncio.start_unix_server(
                self._accept, self._directory / "s", limit=LONGEST_LINE
            )
            try:
                async with self._starting:
                    await self._start()
                yield self
            finally:
                self._end()
                server.close()
                for task in self._listening:
                    task.cancel()
                await asyncio.gather(*self._listening, return_exceptions=True)
                await self._stack.aclose()

    @property
    def all(self) -> list[Connection]:
        """The connections that are open."""
        return [one for one in (self.fresh, self.midway, self.collected) if one is not None]

    def plan(self, plan: Message) -> None:
        """Send all of them, and their replacements, how tests are to be run."""
        self._plan = plan
        for connection in self.all:
            connection.tell({"do": "plan", "plan": plan})

    async def collect(self) -> None:
        """Collect the tests, for the first time. Raises Unprovable."""
        async with self._starting:
            await self._collect(time.monotonic() + self._limits.starting)

    async def revive(self) -> None:
        """Start again where one has died. Raises Unprovable when that happens too often."""
        async with self._starting:
            if self.all and not any(one.lost.is_set() for one in self.all):
                return
            self._restarts += 1
            if self._restarts > _RESTARTS:
                raise Unprovable("the processes that run candidates keep dying")
            self._end()
            # Late messages of the dead must not count as those of their replacements.
            self._key = secrets.token_hex(16)
            self._arrived = asyncio.Queue()
            self.exceeded = None
            await self._start()
            await self._collect(time.monotonic() + self._limits.starting)

    async def _start(self) -> None:
        deadline = time.monotonic() + self._limits.starting
        where = self._workplace.directory / self._command.directory
        confinement = self._confinement()
        start_of = confined(confinement, self._command.argv, where, self._environment())
        try:
            with (self._directory / "output").open("wb") as stream:
                start = await self._stack.enter_async_context(start_of)
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
            raise Unprovable(f"the command cannot be started: {error.strerror}") from error
        self._started(self._process.pid)
        if confinement is not None:
            self._watch = asyncio.ensure_future(self._watched(confinement, self._process.pid))
        self.fresh = await self._next(deadline, "pytest started")

    async def _collect(self, deadline: float) -> None:
        if self.fresh is None:
            raise Unprovable("the command has ended")
        self.fresh.tell({"do": "collect"})
        came = await self._next(deadline, "the tests were collected")
        if came.hello["hello"] == "started":
            self.midway = came
            came.tell({"do": "collect"})
            came = await self._next(deadline, "the tests were collected")
        self.hello = self.hello or came.hello
        if not self.hello["tests"] and not self.hello["broken"]:
            raise Unprovable("pytest found no test to run")
        if not came.hello["alone"]:
            if not self._restarts:  # what it imports may be what killed them
                for connection in self.all:
                    connection.tell({"do": "take", "kept": str(self._directory / "kept")})
            self.collected = came
        if self._plan is not None:
            self.plan(self._plan)

    def _confinement(self) -> Confinement | None:
        """Return that of all commands, with the directory of candidates and socket."""
        confinement = self._workplace.confinement
        if confinement is None:
            return None
        read = [*files_named(self._command.command), *filter(None, [_tracer_folder()])]
        return confinement.also(write=[self._directory], read=read)

    async def _watched(self, confinement: Confinement, pid: int) -> None:
        """End all of them when they use more than one command may."""
        # Of time, it is each candidate that has so much and no more.
        limits = replace(confinement.limits, cpu=math.inf)
        output = self._directory / "output"
        self.exceeded = await exceeded(
            confinement, pid, lambda: output.stat().st_size, limits=limits
        )
        self._kill()

    def _environment(self) -> dict[str, str]:
        environment = {**self._workplace.environment, **self._command.env}
        plugin_first = [str(_PLUGIN), *filter(None, [environment.get("PYTHONPATH")])]
        options = [environment.get("PYTEST_ADDOPTS", ""), "-p runtrue_prover"]
        settings = {
            "socket": str(self._directory / "s"),
            "directory": str(self._directory),
            "kept": str(self._directory / "kept"),
            "key": self._key,
            "root": str(self._workplace.root.resolve()),
            "jobs": self._limits.jobs,
            "memory": self._limits.memory,
            "processes": self._limits.processes,
            "tracer": str(_tracer_folder() or ""),
        }
        return {
            # The same in each run, unless the user says otherwise.
            "PYTHONHASHSEED": "0",
            **environment,
            **self._marks,
            "PYTHONPATH": os.pathsep.join(plugin_first),
            "PYTEST_ADDOPTS": " ".join(options).strip(),
            "HYPOTHESIS_STORAGE_DIRECTORY": str(self._directory / "hypothesis"),
            "RUNTRUE_PROVER": json.dumps(settings),
        }

    async def _next(self, deadline: float, what: str) -> Connection:
        """Return the next that says hello. Raises Unprovable when none will."""
        process = self._process
        assert process is not None  # noqa: S101 - it was just started
        while True:
            try:
                async with asyncio.timeout(0.1):
                    came = await self._arrived.get()
            except TimeoutError:
                if process.poll() is not None and self._arrived.empty():
                    words = self._last_words()
                    raise Unprovable(f"the command ended before {what}{words}") from None
                if time.monotonic() > deadline:
                    seconds = self._limits.starting
                    raise Unprovable(f"{seconds:.0f} seconds went by before {what}") from None
                continue
            if isinstance(came, Connection):
                return came
            raise Unprovable(f"pytest ended before {what} ({came.get('gone')})")

    def _last_words(self) -> str:
        with contextlib.suppress(OSError):
            text = (self._directory / "output").read_bytes()[-_OUTPUT:].decode(errors="replace")
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            return f": {lines[-1]}" if lines else ""
        return ""

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

    def _end(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        for connection in self.all:
            connection.close()
        self.fresh = self.midway = self.collected = None
        if self._process is not None:
            self._kill()
            self._process.wait()

    def _kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
