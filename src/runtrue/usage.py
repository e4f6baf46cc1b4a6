"""Usage: the resources of a command and its descendants, seen from outside while they run."""

from __future__ import annotations

import asyncio
import errno
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runtrue.confinement import Confinement, Exceeded, ResourceLimits

_MIB = 1024 * 1024
#: The seconds between two looks: a bomb gets no further, and a look costs a fraction of it.
_SECONDS = 0.1
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def _memory_device() -> int | None:
    """Return the device of files that are memory and have no name."""
    try:
        descriptor = os.memfd_create("runtrue")
    except (AttributeError, OSError):
        return None
    try:
        return os.fstat(descriptor).st_dev
    finally:
        os.close(descriptor)


_MEMORY_DEVICE = _memory_device()
#: Where the numbers are in /proc/PID/stat, counted from what comes after the name.
_TIMES, _THREADS, _MAPPED, _RSS = slice(11, 15), 17, 20, 21
_SMALLEST = 1024
_UNSEEN = (errno.ENAMETOOLONG, errno.EACCES)
#: The bytes that a byte of a table of pages maps, at least.
_MAPPED_BY_A_TABLE = 512


@dataclass(frozen=True, slots=True)
class _Seen:
    """One process: its threads, its memory in bytes, its and its dead children's time."""

    pid: int
    #: The distance from the process that was started, which is ours, as are those right below.
    depth: int
    threads: int
    memory: int
    #: Bytes of addresses.
    mapped: int
    seconds: float


async def exceeded(
    confinement: Confinement,
    pid: int,
    printed: Callable[[], int],
    *,
    limits: ResourceLimits | None = None,
    began: float | None = None,
) -> Exceeded:
    """Wait until `pid` and the processes below it exceed a limit, and return that.

    `printed` returns the bytes of output so far; `limits` override those of the confinement.
    Without Linux's /proc only the output and the disk are seen.
    """
    limits = limits or confinement.limits
    disk = _Disk(confinement.written, began or time.time())
    shared = _Shared()
    time_used = _Time()
    while True:
        await asyncio.sleep(_SECONDS)
        if (used := printed() / _MIB) > limits.output:
            return Exceeded(limit="output", allowed=limits.output, used=used)
        seen = list(_descendants(pid, limits.processes))
        if (number := sum(one.threads for one in seen)) > limits.processes:
            return Exceeded(limit="processes", allowed=limits.processes, used=number)
        if (seconds := time_used.of(seen)) > limits.cpu:
            return Exceeded(limit="cpu", allowed=limits.cpu, used=seconds)
        if (memory := shared.memory(seen, limits.memory * _MIB) / _MIB) > limits.memory:
            return Exceeded(limit="memory", allowed=limits.memory, used=memory)
        if (opened := max(map(_open_files, seen), default=0)) >= limits.open_files:
            return Exceeded(limit="open_files", allowed=limits.open_files, used=opened)
        if (grown := disk.grown(limits.disk * _MIB, seen) / _MIB) > limits.disk:
            return Exceeded(limit="disk", allowed=limits.disk, used=grown)


def _descendants(root: int, enough: int) -> Iterator[_Seen]:
    """Yield a process and those below it, until there are enough threads."""
    waiting, threads = [(root, 0)], 0
    while waiting and threads <= enough:
        pid, depth = waiting.pop()
        with suppress(OSError, ValueError, IndexError):
            one = _look(pid, depth)
            threads += one.threads
            yield one
            waiting += [(child, depth + 1) for child in _children(pid)]


def _look(pid: int, depth: int) -> _Seen:
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    return _Seen(
        pid=pid,
        depth=depth,
        threads=int(fields[_THREADS]),
        memory=int(fields[_RSS]) * _PAGE,
        mapped=int(fields[_MAPPED]),
        seconds=sum(map(int, fields[_TIMES])) / _TICKS,
    )


def _children(pid: int) -> Iterator[int]:
    for task in os.listdir(f"/proc/{pid}/task"):
        with suppress(OSError), open(f"/proc/{pid}/task/{task}/children", "rb") as file:
            yield from map(int, file.read().split())


class _Time:
    """The time of processes, with that of those that are gone.

    A process that nobody waits for takes its time with it, so that their sum drops.
    """

    def __init__(self) -> None:
        self._seen: dict[int, float] = {}
        self._lost = 0.0

    def of(self, seen: Iterable[_Seen]) -> float:
        """Return the seconds that have been used so far."""
        now = {one.pid: one.seconds for one in seen}
        # One that changes its parent may have been missed this time.
        missed = [p for p in self._seen.keys() - now.keys() if os.path.exists(f"/proc/{p}")]
        now |= {pid: self._seen[pid] for pid in missed}
        self._lost += max(0.0, sum(self._seen.values()) - sum(now.values()))
        self._seen = now
        return self._lost + sum(now.values())


class ProcessorTime:
    """The processor time of this process and all below it, those that have ended included."""

    def __init__(self) -> None:
        self._time = _Time()
        self._looked = -_SECONDS
        self._seconds = 0.0

    def seconds(self) -> float | None:
        """Return the seconds used so far, at most a moment ago; None without Linux's /proc."""
        now = time.monotonic()
        if now - self._looked >= _SECONDS:
            self._looked = now
            seen = list(_descendants(os.getpid(), sys.maxsize))
            self._seconds = self._time.of(seen)
        return self._seconds or None


def seconds_below(pid: int) -> float:
    """Return the processor time of a process and those below it; 0 without Linux's /proc."""
    return sum(one.seconds for one in _descendants(pid, sys.maxsize))


def is_busy(pid: int) -> bool:
    """Return whether a thread of a process, or of one below it, runs or waits for a processor."""
    return any(map(_is_runnable, _descendants(pid, sys.maxsize)))


def _is_runnable(one: _Seen) -> bool:
    with suppress(OSError):
        for task in os.listdir(f"/proc/{one.pid}/task"):
            with suppress(OSError), open(f"/proc/{one.pid}/task/{task}/stat", "rb") as file:
                if file.read().rpartition(b")")[2].split()[:1] == [b"R"]:
                    return True
    return False


class _Shared:
    """The memory of processes, with that of files without a name, which is no process's.

    Shared memory is only counted exactly where it matters: if their memory, and the growth of the
    machine's shared memory, may be too much.
    """

    def __init__(self) -> None:
        self._before = _shared_memory()

    def memory(self, seen: Iterable[_Seen], allowed: int) -> int:
        """Return the bytes in use, exactly if they may be more than allowed."""
        seen = list(seen)
        resident = sum(one.memory for one in seen)
        # What maps much has large tables of pages, which are memory too.
        possible = sum(one.mapped for one in seen) // _MAPPED_BY_A_TABLE
        tables = sum(map(_page_tables, seen)) if resident + possible > allowed else 0
        if resident + tables + max(0, _shared_memory() - self._before) <= allowed:
            return resident + tables
        own = list(map(_proportional, seen))
        files = {
            (status.st_dev, status.st_ino): status.st_blocks * 512
            for status in _unlinked(seen)
            if status.st_dev == _MEMORY_DEVICE
        }
        shared = max(sum(one[1] for one in own), sum(files.values()))
        return sum(one[0] for one in own) + shared + tables


def _shared_memory() -> int:
    with suppress(OSError, StopIteration), open("/proc/meminfo", "rb") as file:
        found = next(line for line in file if line.startswith(b"Shmem:"))
        return int(found.split()[1]) * 1024
    return 0


def _page_tables(one: _Seen) -> int:
    with suppress(OSError, StopIteration), open(f"/proc/{one.pid}/status", "rb") as file:
        return int(next(line for line in file if line.startswith(b"VmPTE:")).split()[1]) * 1024
    return 0


def _proportional(one: _Seen) -> tuple[int, int]:
    """Return the bytes of a process alone, and its part of shared memory."""
    try:
        with open(f"/proc/{one.pid}/smaps_rollup", "rb") as file:
            found = {
                line.split()[0]: int(line.split()[1]) * 1024 for line in file if b"Pss" in line
            }
        shared = found.get(b"Pss_Shmem:", 0)
        return found[b"Pss:"] - shared, shared
    except (OSError, KeyError, ValueError, IndexError):
        return one.memory, 0


class _Disk:
    """The bytes that were written to some directories since a moment.

    Walking them is slow, so it is done only if as much space is gone. Every file, link and
    directory counts, with at least `_SMALLEST` bytes: names and their nodes take room as well.
    """

    def __init__(self, directories: Iterable[Path], began: float) -> None:
        self._directories = tuple(directories)
        self._began = began
        self._free = self._left()

    def _left(self) -> dict[int, int]:
        left = {}
        for directory in self._directories:
            with suppress(OSError):
                system = os.statvfs(directory)
                blocks = system.f_bfree * system.f_frsize
                left[os.stat(directory).st_dev] = blocks + system.f_ffree * _SMALLEST
        return left

    def grown(self, allowed: int, seen: Iterable[_Seen]) -> int:
        """Return the bytes that were written, if they may be more than allowed, else 0."""
        now = self._left()
        gone = max((before - now.get(d, before) for d, before in self._free.items()), default=0)
        if gone <= allowed:
            return 0
        if any(map(_hides, seen)):
            # It may have any number of files without a name: then all that is gone counts.
            return gone
        unseen: list[OSError] = []
        files = {
            (status.st_dev, status.st_ino): max(status.st_blocks * 512, _SMALLEST)
            for status in (*self._written(unseen), *_unlinked(seen))
            # Not the time of modification, which anybody can set.
            if status.st_ctime >= self._began
        }
        # A path may be too long to be looked at, or closed to us: then all that is gone counts.
        known = sum(files.values())
        return gone if any(e.errno in _UNSEEN for e in unseen) else known

    def _written(self, unseen: list[OSError]) -> Iterator[os.stat_result]:
        for top in self._directories:
            for directory, below, names in os.walk(top, onerror=unseen.append):
                for name in (*names, *below):
                    with suppress(OSError):
                        yield os.lstat(os.path.join(directory, name))


def _open_files(one: _Seen) -> int:
    """Return the number of open files of a process, if known (since Linux 6.2)."""
    try:
        return os.stat(f"/proc/{one.pid}/fd").st_size
    except OSError:
        return 0


def _hides(one: _Seen) -> bool:
    """True if a process of the command does not let us see its open files."""
    files = f"/proc/{one.pid}/fd"
    return one.depth > 1 and os.path.exists(files) and not os.access(files, os.R_OK | os.X_OK)


def _unlinked(seen: Iterable[_Seen]) -> Iterator[os.stat_result]:
    """Yield the open files of processes that have no name any more."""
    for one in seen:
        with suppress(OSError):
            for descriptor in os.listdir(f"/proc/{one.pid}/fd"):
                with suppress(OSError):
                    status = os.stat(f"/proc/{one.pid}/fd/{descriptor}")
                    if status.st_nlink == 0:
                        yield status
