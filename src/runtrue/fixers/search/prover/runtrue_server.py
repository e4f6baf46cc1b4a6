"""A server that forks: each request is run in a copy of this process, within limits.

It runs inside the project's own Python. Requests and answers are lines of JSON on a socket; the
messages of a copy come through a pipe and count only with the nonce that was made for it.
"""

from __future__ import annotations  # any Python may be the project's

import gc
import json
import mmap
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from typing import Any

_watch: Any = sys.modules["runtrue_watch"]

#: How often processes are looked after whose pipe is silent.
_LOOK_SECONDS = 0.05
#: How many times its limit a test may take that waits, and one that gets no processor time.
_PATIENCE, _STARVED = 4, 40
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Child:
    """The process that runs a request, seen from within."""

    request: Any
    plan: Any
    slot: Any
    pipe: int
    nonce: str
    directory: str
    watch: Any = None

    def send(self, message: dict[str, Any]) -> None:
        """Send a message to the server."""
        message["nonce"] = self.nonce
        data = json.dumps(message).encode("utf-8", "replace") + b"\n"
        while data:
            data = data[os.write(self.pipe, data) :]

    def leave(self, message: dict[str, Any]) -> Any:
        """Send the result, and exit without any cleanup."""
        try:
            self.send(message)
        finally:
            os._exit(0)


@dataclass(eq=False)
class _Running:
    """The process that runs a request, seen from the server."""

    number: int
    pid: int
    pipe: int
    nonce: str
    slot: int
    latest: float
    is_alone: bool
    buffer: bytes = b""
    end: dict[str, Any] | None = None
    late: bool = False
    status: int = 0


class Server:
    """Takes requests one after another. `serve` returns only in the copies."""

    def __init__(self, settings: Any, kind: str, socket_: Any = None) -> None:
        self._settings = settings
        self._kind = kind
        slots = 2 * settings["jobs"] + 4
        self._region = mmap.mmap(-1, _watch.SLOT_SIZE * slots)
        self._free = list(range(slots))
        self._running: dict[int, _Running] = {}
        #: Those that have ended and been reported, but not yet reaped.
        self._leaving: list[_Running] = []
        self._plan: Any = {}
        self._buffer = b""
        self._collected: tuple[int, int] | None = None
        self._memory = 0
        self._socket = socket_ or socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(settings["socket"])
        self.taken: Any = None
        #: Called with the texts of a candidate, to do once what serves many copies.
        self.prepare: Any = None

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message to runtrue."""
        try:
            self._socket.sendall(json.dumps(message).encode("utf-8", "replace") + b"\n")
        except OSError:
            self._stop()

    def hello(self, message: dict[str, Any]) -> None:
        """Introduce this server."""
        who = {"hello": self._kind, "key": self._settings["key"], "pid": os.getpid()}
        self.tell({**who, **message})

    def serve(self) -> Child | None:
        """Serve until the end; in a copy, return what to do there: None means collect, as usual."""
        _watch.adopt()
        self._freeze()
        while True:
            ready = self._wait()
            if self._socket.fileno() in ready:
                chunk = self._socket.recv(1 << 20)
                if not chunk:
                    self._stop()
                self._buffer += chunk
            for one in list(self._running.values()):
                self._look_after(one, one.pipe in ready)
            self._look_after_collected(ready)
            self._leaving = [one for one in self._leaving if not self._is_gone(one)]
            while b"\n" in self._buffer:
                line, self._buffer = self._buffer.split(b"\n", 1)
                child = self._do(json.loads(line))
                if child is not False:
                    return child  # type: ignore[no-any-return]

    def _freeze(self) -> None:
        gc.collect()
        gc.freeze()
        self._memory = _watch.memory_in_use()

    def _wait(self) -> set[int]:
        if b"\n" in self._buffer:
            return set()
        poll = select.poll()
        poll.register(self._socket.fileno(), select.POLLIN)
        for one in self._running.values():
            poll.register(one.pipe, select.POLLIN | select.POLLHUP)
        if self._collected is not None:
            poll.register(self._collected[1], select.POLLIN | select.POLLHUP)
        milliseconds = None
        if self._running or self._leaving:
            milliseconds = int(_LOOK_SECONDS * 1000)
        elif self._collected is not None:
            milliseconds = 500
        return {fd for fd, _ in poll.poll(milliseconds)}

    def _do(self, request: Any) -> Any:
        what = request["do"]
        if what == "plan":
            self._plan = request["plan"]
        elif what == "take":
            if self.taken is not None:
                self.taken(request["kept"])
                self._freeze()
        elif what == "collect":
            return self._start_collected()
        elif what == "stop":
            self._stop()
        elif what == "cancel":
            one = self._running.get(request["id"])
            if one is not None:
                self._finish(one)
        else:
            return self._start(request)
        return False

    # -- starting ---------------------------------------------------------------------------------

    def _start_collected(self) -> Any:
        reading, writing = os.pipe()
        parent = os.getpid()
        pid = _fork()
        if pid == 0:
            self._leave_server()
            os.close(reading)
            os.setsid()
            _watch.die_with_parent(parent)
            _silence()
            return None
        os.close(writing)
        self._collected = pid, reading
        return False

    def _start(self, request: Any) -> Any:
        if self.prepare is not None:
            self.prepare(request.get("texts", {}))
        if not self._free:
            self._is_gone(self._leaving.pop(0), wait=True)
        slot = self._free.pop()
        nonce = os.urandom(8).hex()
        shared = _watch.Slot(self._region, slot)
        shared.clear(self._plan.get("starting", 60.0) * request.get("patience", 1.0))
        directory = self._directory(slot)
        reading, writing = os.pipe()
        parent = os.getpid()
        pid = _fork()
        if pid == 0:
            self._leave_server()
            os.close(reading)
            child = Child(request, self._plan, shared, writing, nonce, directory)
            self._confine(child, parent)
            return child
        os.close(writing)
        os.set_blocking(reading, False)
        latest, is_alone = time.monotonic() + request["total"], request.get("alone", False)
        one = _Running(request["id"], pid, reading, nonce, slot, latest, is_alone)
        self._running[one.number] = one
        return False

    def _directory(self, slot: int) -> str:
        """Return a temporary directory, which is used again, as making one may take long."""
        path = os.path.join(self._settings["directory"], "%s%d" % (self._kind[0], slot))
        if not os.path.isdir(path):
            os.mkdir(path)
        return path

    def _empty(self, directory: str) -> None:
        for name in os.listdir(directory):
            path = os.path.join(directory, name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)

    def _leave_server(self) -> None:
        """In a copy: close what is the server's."""
        self._socket.close()
        for one in self._running.values():
            os.close(one.pipe)
        if self._collected is not None:
            os.close(self._collected[1])
        self._running = {}
        self._buffer = b""

    def _confine(self, child: Child, parent: int) -> None:
        os.setsid()
        _watch.die_with_parent(parent)
        settings, request = self._settings, child.request
        memory = self._memory + settings["memory"] if self._memory else 0
        _watch.confine(memory, request["total"])
        if self._kind == "fresh":
            _silence()
        os.environ["TMPDIR"] = tempfile.tempdir = child.directory
        learning = request["do"] == "run"
        places = (child.directory, *self._plan.get("places", ()))
        child.watch = _watch.Watch(
            child.slot, settings["root"], places, settings["processes"], learning
        )
        child.watch.is_alone = request.get("alone", False)
        child.watch.known = frozenset(request.get("known", ()))
        if request["do"] == "try":
            # runtrue then tries it alone, so that no other trial sees what is written.
            child.watch.write = lambda path: child.leave({"end": "writes", "path": path})
        child.watch.begin()

    # -- looking after ----------------------------------------------------------------------------

    def _look_after(self, one: _Running, ready: bool) -> None:
        # Before reading: what it sent before it ended is then in the pipe.
        ended = not ready and _has_ended(one.pid)
        if ready or ended:
            over = self._listen(one) or ended
            if one.end is not None or over or len(one.buffer) > 1 << 26:
                self._finish(one)
                return
        if self._is_late(one, time.monotonic()):
            one.late = True
            self._finish(one)

    def _listen(self, one: _Running) -> bool:
        """Read what has come; True if nothing more will."""
        while True:
            try:
                chunk = os.read(one.pipe, 1 << 16)
            except BlockingIOError:
                return False
            except OSError:
                return True
            one.buffer += chunk
            while b"\n" in one.buffer:
                line, one.buffer = one.buffer.split(b"\n", 1)
                self._hear(one, line)
            if not chunk:
                return True

    def _hear(self, one: _Running, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            return
        if not isinstance(message, dict) or message.pop("nonce", None) != one.nonce:
            return
        if "end" in message:
            one.end = message
        else:
            self.tell({"id": one.number, **message})

    def _is_late(self, one: _Running, now: float) -> bool:
        began: float
        limit: float
        began, used, limit, _ = _watch.Slot(self._region, one.slot).read()
        if now > one.latest:
            return True
        if now - began <= limit:
            return False
        # On a busy machine its own processor time counts.
        if _processor_time(one.pid) > used + limit * 0.9:
            return True
        patience = _PATIENCE if _waits(one.pid) else _STARVED
        return now - began > patience * limit

    def _finish(self, one: _Running) -> None:
        shared = _watch.Slot(self._region, one.slot)
        test, starts = shared.read()[3], shared.starts
        _kill_group(one.pid)
        os.close(one.pipe)
        del self._running[one.number]
        if one.end is not None and not one.is_alone and not starts:
            # No need to wait until it is gone, which takes as long as half a trial.
            self._leaving.append(one)
        else:
            self._is_gone(one, wait=True)
        if starts:
            self._sweep()
        end = one.end or {
            "end": "timeout" if one.late else "died",
            "at": test,
            "detail": "" if one.late else _how(one.status),
        }
        self.tell({"id": one.number, **end})

    def _is_gone(self, one: _Running, wait: bool = False) -> bool:
        """Reap an ended process; True if it is gone and its slot is free."""
        pid, one.status = os.waitpid(one.pid, 0 if wait else os.WNOHANG)
        if pid == 0:
            return False
        self._empty(self._directory(one.slot))
        self._free.append(one.slot)
        return True

    def _sweep(self) -> None:
        """End the processes that a process has left behind: they are ours now."""
        known = {one.pid for one in (*self._running.values(), *self._leaving)}
        if self._collected is not None:
            known.add(self._collected[0])
        for _ in range(100):
            strangers = [pid for pid in _children() if pid not in known]
            if not strangers:
                return
            for pid in strangers:
                _kill(pid)
            for pid in strangers:
                try:
                    os.waitpid(pid, 0)
                except OSError:
                    pass

    def _look_after_collected(self, ready: set[int]) -> None:
        if self._collected is None:
            return
        pid, pipe = self._collected
        if pipe not in ready and not _has_ended(pid):
            return
        self._collected = None
        os.close(pipe)
        _kill(pid)
        try:
            _, status = os.waitpid(pid, 0)
        except OSError:
            status = 0
        self.tell({"gone": _how(status)})

    def _stop(self) -> None:
        for one in self._running.values():
            _kill_group(one.pid)
        if self._collected is not None:
            _kill(self._collected[0])
        os._exit(0)


def _fork() -> int:
    if sys.version_info < (3, 12):
        return os.fork()
    with warnings.catch_warnings():  # threads of plugins are not copied; we know
        warnings.simplefilter("ignore")
        return os.fork()


def _silence() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        _kill(pid)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass


def _has_ended(pid: int) -> bool:
    try:
        found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except OSError:
        return True
    return found is not None


def _how(status: int) -> str:
    if os.WIFSIGNALED(status):
        return "killed by signal %d" % os.WTERMSIG(status)
    return "it left with code %d" % os.WEXITSTATUS(status)


def _children() -> list[int]:
    mine = os.getpid()
    found = []
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    for name in names:
        if name.isdigit():
            fields = _stat(int(name))
            if fields and int(fields[1]) == mine:
                found.append(int(name))
    return found


def _processor_time(pid: int) -> float:
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / _TICKS if fields else 0.0


def _waits(pid: int) -> bool:
    """Return whether a process waits for something else than a processor."""
    fields = _stat(pid)
    return not fields or fields[0] != b"R"


def _stat(pid: int) -> list[bytes]:
    """Return the fields of a process's state, from the third on."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []
