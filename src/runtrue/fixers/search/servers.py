"""Servers: the processes whose copies run candidates, started from the user's own command."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import math
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from runtrue.checks import CommandCheck, files_named
from runtrue.confinement import Confinement, Exceeded
from runtrue.fixers.search.connection import Connection, Message
from runtrue.fixers.search.server_process import ServerProcess, Unprovable
from runtrue.loop import Workplace
from runtrue.process import temporary_directory

_PLUGIN = Path(__file__).with_name("prover")
_RESTARTS = 6


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
        self._process = ServerProcess(Path())
        self._restarts = 0
        self._starting = asyncio.Lock()
        self._plan: Message | None = None
        self.fresh: Connection | None = None
        self.midway: Connection | None = None
        self.collected: Connection | None = None
        #: The first message about the collected tests.
        self.hello: Message = {}

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Servers]:
        """Run the first of them, and end all. Raises Unprovable."""
        with temporary_directory("rt-") as directory:
            self._process = ServerProcess(directory)
            async with self._process.listening():
                try:
                    async with self._starting:
                        await self._start()
                    yield self
                finally:
                    self._end()

    @property
    def exceeded(self) -> Exceeded | None:
        """The limit that candidates hit together, which ended all; None once revived."""
        return self._process.exceeded

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
            await self._collect()

    async def revive(self) -> None:
        """Start again where one has died. Raises Unprovable when that happens too often."""
        async with self._starting:
            if self.all and not any(one.lost.is_set() for one in self.all):
                return
            self._restarts += 1
            if self._restarts > _RESTARTS:
                raise Unprovable("the processes that run candidates keep dying")
            self._end()
            await self._start()
            await self._collect()

    async def _start(self) -> None:
        where = self._workplace.directory / self._command.directory
        await self._process.start(
            self._command.argv, where, self._environment(), self._settings(), self._confinement()
        )
        self.fresh = await self._next("pytest started")

    async def _collect(self) -> None:
        if self.fresh is None:
            raise Unprovable("the command has ended")
        self.fresh.tell({"do": "collect"})
        came = await self._next("the tests were collected")
        if came.hello["hello"] == "started":
            self.midway = came
            came.tell({"do": "collect"})
            came = await self._next("the tests were collected")
        self.hello = self.hello or came.hello
        if not self.hello["tests"] and not self.hello["broken"]:
            raise Unprovable("pytest found no test to run")
        if not came.hello["alone"]:
            if not self._restarts:  # what it imports may be what killed them
                for connection in self.all:
                    connection.tell({"do": "take", "kept": str(self._kept)})
            self.collected = came
        if self._plan is not None:
            self.plan(self._plan)

    def _confinement(self) -> Confinement | None:
        """Return that of all commands, with the directory of candidates and socket."""
        confinement = self._workplace.confinement
        if confinement is None:
            return None
        read = [*files_named(self._command.command), *filter(None, [_tracer_folder()])]
        return confinement.also(write=[self._process.directory], read=read)

    def _environment(self) -> dict[str, str]:
        environment = {**self._workplace.environment, **self._command.env}
        plugin_first = [str(_PLUGIN), *filter(None, [environment.get("PYTHONPATH")])]
        options = [environment.get("PYTEST_ADDOPTS", ""), "-p runtrue_prover"]
        return {
            # The same in each run, unless the user says otherwise.
            "PYTHONHASHSEED": "0",
            **environment,
            "PYTHONPATH": os.pathsep.join(plugin_first),
            "PYTEST_ADDOPTS": " ".join(options).strip(),
            "HYPOTHESIS_STORAGE_DIRECTORY": str(self._process.directory / "hypothesis"),
        }

    def _settings(self) -> Message:
        return {
            "directory": str(self._process.directory),
            "kept": str(self._kept),
            "root": str(self._workplace.root.resolve()),
            "jobs": self._limits.jobs,
            "memory": self._limits.memory,
            "processes": self._limits.processes,
            "tracer": str(_tracer_folder() or ""),
        }

    @property
    def _kept(self) -> Path:
        return self._process.directory / "kept"

    async def _next(self, what: str) -> Connection:
        return await self._process.next(what, self._limits.starting)

    def _end(self) -> None:
        for connection in self.all:
            connection.close()
        self.fresh = self.midway = self.collected = None
        self._process.kill()
