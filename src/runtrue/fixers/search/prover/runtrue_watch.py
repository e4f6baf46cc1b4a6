"""A watch over candidates: limits, and an audit hook that cannot be removed again.

It runs inside the project's own Python, in the processes that run candidates.
"""

from __future__ import annotations  # any Python may be the project's

import os
import resource
import signal
import struct
import sys
import time
from typing import Any, Callable

#: Shared by a process and its server: when the test began, by the clock and in processor time, how
#: long it may take, which one it is, and how many processes were started.
_SLOT = struct.Struct("=dddii")
SLOT_SIZE = 64
_FORKS_AT = 28
_STARTS = struct.Struct("=i")

_FILE_SIZE = 256 * 1024 * 1024
_PDEATHSIG, _SUBREAPER = 1, 36
#: How many times its limit what mostly waits may take.
_WAITING = 3.0

_STARTING = frozenset(
    {"os.fork", "os.forkpty", "subprocess.Popen", "os.posix_spawn", "os.system", "os.exec"}
)
#: Those that copy the process, which runs the candidate as this one does.
_COPYING = frozenset({"os.fork", "os.forkpty"})
#: The indices of the path, and of the directory it is relative to, in the event's arguments.
_CHANGING = {
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.mkdir": ((0, 2),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.utime": ((0, 3),),
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NOT_WRITTEN = ("__pycache__", ".pytest_cache", ".hypothesis", ".coverage")


class Slot:
    """Shared memory that one process writes and its server reads."""

    def __init__(self, region: Any, index: int) -> None:
        self._region = region
        self._at = index * SLOT_SIZE

    def begin(self, test: int, limit: float) -> None:
        """Note that a test begins now, and how long it may take."""
        self._write(time.monotonic(), time.process_time(), limit, test, self.starts)

    def clear(self, limit: float) -> None:
        """Reset it for a process that begins, with processor time of its own."""
        self._write(time.monotonic(), 0.0, limit, -1, 0)

    def read(self) -> tuple[float, float, float, int]:
        """Return when the test began, in both times, how long it may take, and which it is."""
        seen = b""
        while True:  # not while it is written
            last, seen = seen, self._region[self._at : self._at + _SLOT.size]
            if seen == last:
                began, used, limit, test, _ = _SLOT.unpack(seen)
                return began, used, limit, test

    def _write(self, *values: Any) -> None:
        # At once: `pack_into` first writes zeros, which the server would read as long ago.
        self._region[self._at : self._at + _SLOT.size] = _SLOT.pack(*values)

    @property
    def starts(self) -> int:
        """The number of processes that were started."""
        return int(_STARTS.unpack_from(self._region, self._at + _FORKS_AT)[0])

    def count_start(self) -> int:
        """Count one more and return the number."""
        starts = self.starts + 1
        _STARTS.pack_into(self._region, self._at + _FORKS_AT, starts)
        return starts


class Stopwatch:
    """The seconds of work since it was made: the same on a quiet and on a busy machine.

    That is the processor time of this process and of those it waited for, or a part of the time by
    the clock on the wall, if that is more.
    """

    def __init__(self) -> None:
        self._used = _processor_time()
        self._began = time.monotonic()

    def seconds(self) -> float:
        """Return them."""
        passed = time.monotonic() - self._began
        return max(_processor_time() - self._used, passed / _WAITING)


def _processor_time() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _prctl() -> Callable[..., Any] | None:
    """Return the system call that ties processes together, which only Linux has."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        import ctypes

        return ctypes.CDLL(None, use_errno=True).prctl
    except (ImportError, OSError, AttributeError):
        return None


_call = _prctl()


def adopt() -> None:
    """Become the parent of orphans below us, so that they can be found."""
    if _call is not None:
        _call(_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(parent: int) -> None:
    """End when the parent ends, in whatever way."""
    if _call is not None:
        _call(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


def memory_in_use() -> int:
    """Return the address space of this process, in bytes; 0 where that is not known."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        return 0


def confine(memory: int, seconds: float) -> None:
    """Set the limits that the system enforces."""
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, _FILE_SIZE)
    _limit(resource.RLIMIT_CPU, int(seconds) + 2)
    if memory:
        _limit(resource.RLIMIT_AS, memory)


def _limit(what: int, value: int) -> None:
    hard = resource.getrlimit(what)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    try:
        resource.setrlimit(what, (value, value))
    except (OSError, ValueError):
        pass


def refuse(path: str) -> None:
    """Raise what a program sees that may not write."""
    raise PermissionError("nothing may be written in here: " + (path or "a program might"))


class Watch:
    """Refuses what a candidate must not do, and notes what tests do to the machine.

    With `learning` only too many processes are refused: the program is the user's own. Otherwise
    `write` is called before anything below the project is written, or a program is run; when
    `is_alone`, not for what is new there, or in `known`: that can be restored.
    """

    def __init__(
        self, slot: Slot, root: str, places: tuple[str, ...], processes: int, learning: bool
    ) -> None:
        self.is_alone = False
        self.known: frozenset[str] = frozenset()
        self.write: Callable[[str], Any] = refuse
        self._made: set[str] = set()
        self._slot = slot
        self._root = root
        self._places = tuple(dict.fromkeys([root, "/dev", *places]))
        self._processes = processes
        self._learning = learning
        self._session = os.getsid(0)
        self._busy = False
        #: Files written below the project, directories written elsewhere, and if programs were run.
        self.written: set[str] = set()
        self.elsewhere: set[str] = set()
        self.ran = False

    def begin(self) -> None:
        """Watch from now on, to the end of the process."""
        sys.addaudithook(self._notice)

    def _notice(self, event: str, args: Any) -> None:
        if event == "open":
            path, _, flags = args
            if isinstance(flags, int) and flags & _WRITING and not isinstance(path, int):
                self._change(path, None)
        elif event in _CHANGING:
            if event == "os.mkdir" and args[2] < 0 and os.path.isdir(args[0]):
                return  # it is there already
            for at, seen_from in _CHANGING[event]:
                directory = None
                if seen_from is not None and len(args) > seen_from:
                    directory = args[seen_from]
                self._change(args[at], directory)
        elif event in _STARTING:
            if event not in _COPYING:
                self.ran = True
                if not self._learning and not self.is_alone:
                    self.write("")  # what that writes is not seen
            if self._slot.count_start() > self._processes:
                os._exit(77)
        elif event == "os.kill" or event == "os.killpg":
            self._kill(args[0])

    def _kill(self, pid: int) -> None:
        if pid == 0 or pid == os.getpid():
            return
        try:
            if pid > 0 and os.getsid(pid) == self._session:
                return
        except OSError:
            return  # there is none
        raise PermissionError("only its own processes may be killed in here")

    def _change(self, path: Any, directory: Any) -> None:
        if self._busy or not isinstance(path, (str, bytes, os.PathLike)):
            return
        self._busy = True
        try:
            where = os.fsdecode(path)
            if isinstance(directory, int) and directory >= 0:
                where = os.path.join(os.readlink("/proc/self/fd/%d" % directory), where)
            parent = os.path.realpath(os.path.dirname(os.path.abspath(where)))
            where = os.path.join(parent, os.path.basename(where))
        except (OSError, ValueError):
            where = ""
        finally:
            self._busy = False
        if not where or any(name in where for name in _NOT_WRITTEN):
            return
        if any(where == place or where.startswith(place + os.sep) for place in self._places):
            if where == self._root or where.startswith(self._root + os.sep):
                self.written.add(where)
                if not self._learning and not (self.is_alone and self._is_free(where)):
                    self.write(where)
            return
        if self._learning:
            self.elsewhere.add(where if os.path.isdir(where) else os.path.dirname(where))
            return
        raise PermissionError("nothing may be written in here but the project: " + where)

    def _is_free(self, where: str) -> bool:
        if where in self.known or not os.path.lexists(where):
            self._made.add(where)
        return any(where == made or where.startswith(made + os.sep) for made in self._made)
