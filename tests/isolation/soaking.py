"""Many isolated commands that leave a mess, and a count of what is there after every few."""

from __future__ import annotations

import asyncio
import os
import random
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path
from typing import TypeVar

from runtrue import process
from runtrue.confinement import ResourceLimits
from runtrue.sandbox.isolation import Box, Level, unavailable

_Thing = TypeVar("_Thing")

AT_A_TIME = 2
#: How often each level comes, of those that can be had here.
SHARES = {Level.BUBBLEWRAP: 6, Level.LANDLOCK: 3, Level.PROCESS: 1}

#: How long something that was killed may take to be gone; what takes longer is left over.
_GONE_SECONDS = 30.0
_TIMEOUT_SECONDS = 0.2
_FOREVER = 600
_BATCH = 5 * AT_A_TIME

#: What every command does first. It has a pipe open, as all that it starts then: processes that
#: left their session, their parent and their environment, and that ignore what is ignorable.
MESS = """
exec 9>fifo
for name in one two; do
  (setsid env -i "$(command -v sh)" -c 'trap "" TERM HUP; "$0" 600; :' "$(command -v sleep)" &)
done
echo mess >"${TMPDIR:-/tmp}/mess"
mkdir -p "$HOME/mess" && echo mess >"$HOME/mess/mess"
echo up >&9
"""
#: A plain process of root's may mount, and nobody would take that off again.
_MOUNT = 'mount -t tmpfs none "$HOME/mess" 2>/dev/null\n'
#: How a run may go: what the command does in the end.
_WAYS = {
    "ended": "exit 3",
    "killed": "kill -9 $$",
    "timed out": "sleep 600",
    "cancelled": "sleep 600",
    "cancelled early": "sleep 600",
    "exceeded": "exec yes",
}
#: Most runs end by themselves.
_TURNS = ("ended",) * 5 + tuple(_WAYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What there is of this process's own at one moment, in which nothing runs."""

    #: Processes, this one included.
    processes: int
    threads: int
    descriptors: int
    mounts: int
    #: Files and directories in the places that commands are given.
    files: int
    #: MiB of memory.
    memory: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Soaked:
    """What was counted in the course of many runs, and how often each level and way came.

    `late` says of how many runs something was still there, if only for a moment, when they were
    said to have ended.
    """

    counts: tuple[Counts, ...] = ()
    ways: Counter[tuple[Level, str]]
    late: Counter[tuple[Level, str]]

    def fifth(self, number: int) -> tuple[Counts, ...]:
        """The counts of the first to the fifth fifth of the time."""
        size = len(self.counts)
        return self.counts[size * (number - 1) // 5 : size * number // 5]


def available() -> tuple[Level, ...]:
    """The levels that can be had here."""
    return tuple(level for level in SHARES if unavailable(level) is None)


async def soak(folder: Path, runs: int, levels: Sequence[Level]) -> Soaked:
    """Run commands, some at a time, at some levels, and count what there is after every few.

    Raises RuntimeError as soon as a run goes another way than it should, or something is left.
    """
    chance = random.Random(0)  # noqa: S311 - not a secret
    turns = [*zip(_mixed(chance, _shares(levels), runs), _mixed(chance, _TURNS, runs), strict=True)]
    soaked = Soaked(ways=Counter(), late=Counter())
    with _temporary(folder / "temporary"):
        workers = [_Worker(folder / f"worker-{n}", soaked, chance) for n in range(AT_A_TIME)]
        # What there is only once: the guardian, threads, caches, and what is imported late.
        for level in levels:
            await asyncio.gather(*(worker.run(level, "ended") for worker in workers))
        counts = [_count(folder)]
        for start in range(0, runs, _BATCH):
            batch = turns[start : start + _BATCH]
            parts = [batch[n::AT_A_TIME] for n in range(AT_A_TIME)]
            await asyncio.gather(
                *(worker.run_all(part) for worker, part in zip(workers, parts, strict=True))
            )
            counts.append(_count(folder))
    return replace(soaked, counts=tuple(counts))


class Pipe:
    """The reading end of a named pipe: the kernel says whether anybody has the other one."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def __enter__(self) -> Pipe:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    async def first(self) -> None:
        """Wait until somebody wrote something."""
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_reader(self._descriptor, ready.set)
        try:
            await asyncio.wait_for(ready.wait(), _GONE_SECONDS)
        finally:
            loop.remove_reader(self._descriptor)

    def is_over(self) -> bool:
        """Whether nobody has the pipe open for writing."""
        try:
            while os.read(self._descriptor, 4096):
                pass
        except BlockingIOError:
            return False
        return True

    async def end(self, what: str) -> None:
        """Wait until nobody has. Raises RuntimeError."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _GONE_SECONDS
        while not self.is_over():
            if loop.time() > until:
                raise RuntimeError(f"something is left of a command ({what})")
            await asyncio.sleep(0.001)


class _Worker:
    """Runs one command after the other in a directory of its own."""

    def __init__(self, folder: Path, soaked: Soaked, chance: random.Random) -> None:
        self._work, self._private, self._home = (
            folder / name for name in ("work", "private", "home")
        )
        for place in (self._work, self._home):
            place.mkdir(parents=True)
        os.mkfifo(self._work / "fifo")
        self._soaked = soaked
        self._chance = chance

    async def run_all(self, turns: Sequence[tuple[Level, str]]) -> None:
        for level, way in turns:
            await self.run(level, way)

    async def run(self, level: Level, way: str) -> None:
        """Run one command, and see that nothing is left of it."""
        box = Box(
            level=level,
            limits=ResourceLimits(output=1),
            write=(self._work,),
            # Both places that there may be for what a command needs.
            private=self._private if self._chance.random() < 0.5 else None,
        )
        script = MESS + (_MOUNT if level is not Level.PROCESS else "") + _WAYS[way]
        with Pipe(self._work / "fifo") as pipe:
            task = asyncio.ensure_future(
                process.run(
                    ["sh", "-c", script],
                    cwd=self._work,
                    env={"PATH": os.environ["PATH"], "HOME": str(self._home)},
                    timeout=_TIMEOUT_SECONDS if way == "timed out" else _FOREVER,
                    confinement=box,
                )
            )
            if way == "cancelled":
                await pipe.first()
                task.cancel()
            elif way == "cancelled early":
                # At any moment of a start, and sometimes after it.
                await asyncio.sleep(self._chance.uniform(0, 0.05))
                task.cancel()
            ended = (await asyncio.gather(task, return_exceptions=True))[0]
            went = _way(ended)
            if went != way.removesuffix(" early"):
                raise RuntimeError(f"{level}: a command that is to be {way} was {went}: {ended!r}")
            if not pipe.is_over():
                self._soaked.late[level, way] += 1
                await pipe.end(f"{level}, {way}")
        self._soaked.ways[level, way] += 1


def _way(ended: process.Ended | BaseException) -> str:
    """How a run went."""
    if isinstance(ended, asyncio.CancelledError):
        return "cancelled"
    if isinstance(ended, BaseException):
        return "not run"
    if ended.exceeded is not None:
        return "exceeded"
    if ended.timed_out:
        return "timed out"
    return {3: "ended", -9: "killed"}.get(ended.exit_code or 0, f"over with {ended.exit_code}")


def _shares(levels: Sequence[Level]) -> list[Level]:
    return [level for level in levels for _ in range(SHARES[level])]


def _mixed(chance: random.Random, things: Sequence[_Thing], number: int) -> list[_Thing]:
    """So many things, in any order."""
    mixed = list(islice(cycle(things), number))
    chance.shuffle(mixed)
    return mixed


@contextmanager
def _temporary(place: Path) -> Iterator[None]:
    """Have temporary directories made in a place of their own, where they can be counted."""
    place.mkdir()
    before, tempfile.tempdir = tempfile.tempdir, str(place)
    try:
        yield
    finally:
        tempfile.tempdir = before


def _count(folder: Path) -> Counts:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Counts(
        processes=len(_descendants(os.getpid())),
        threads=threading.active_count(),
        descriptors=len(list(Path("/proc/self/fd").iterdir())),
        mounts=len(Path("/proc/self/mountinfo").read_text().splitlines()),
        files=sum(1 + len(names) for _, _, names in os.walk(folder)),
        memory=pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
    )


def _descendants(pid: int) -> list[int]:
    """A process and all below it, with those that are dead and not yet reaped."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(one) for task in tasks for one in (task / "children").read_text().split()]
    except OSError:
        return []
    return [pid, *(below for child in children for below in _descendants(child))]
