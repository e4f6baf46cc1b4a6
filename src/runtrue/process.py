"""Processes: run one command to its end, with all it started, within limits of time and memory.

Only the head and the tail of a command's output are kept. However it ends, and however this process
ends, what it started ends with it: each command leads a process group that is killed with it, a
guardian process kills the groups when this process dies, and a mark in the environment, another for
each command, finds those that left their group.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from runtrue._guardian import kill_group, kill_marked
from runtrue.confinement import Confinement, Exceeded, Start
from runtrue.usage import exceeded

__all__ = [
    "COMMAND",
    "MARK",
    "Captured",
    "Ended",
    "confined",
    "kill_group",
    "kill_marked",
    "run",
    "temporary_directory",
    "watch_group",
]

#: The variable that marks every process of a run with the run's id.
MARK = "RUNTRUE_RUN"
#: The variable that marks every process of one command. A run's mark would not do here: its next
#: command may already be running when this one is cleared away.
COMMAND = "RUNTRUE_COMMAND"

_GUARDIAN = Path(__file__).with_name("_guardian.py")
_GRACE_SECONDS = 2.0
#: The signals with which the kernel stops a process that hits a limit.
_SIGNALLED: dict[int, str] = {signal.SIGXCPU: "cpu", signal.SIGXFSZ: "file_size"}
_DISMISSAL_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The end of a command. `exit_code` is negative for a signal and None for a time-out."""

    exit_code: int | None
    stdout: Captured
    stderr: Captured
    seconds: float
    #: The seconds that it was allowed.
    timeout: float | None = None
    #: The limit that it hit, if it was stopped for that.
    exceeded: Exceeded | None = None

    @property
    def timed_out(self) -> bool:
        """True if it was stopped because its time was up."""
        return self.exit_code is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """One output stream: all of it, or its head and tail."""

    head: bytes
    tail: bytes
    dropped: int

    @property
    def text(self) -> str:
        """The output as text, with a line that says how much is missing."""
        if not self.dropped:
            return (self.head + self.tail).decode(errors="replace")
        head, tail = (part.decode(errors="replace") for part in (self.head, self.tail))
        return f"{head}\n[… {self.dropped} bytes left out …]\n{tail}"


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    longest: float | None = None,
    stdin: bytes | None = None,
    keep: int = 64 * 1024,
    confinement: Confinement | None = None,
) -> Ended:
    """Run a command and wait for its end. Raises OSError when it cannot be started.

    With `longest`, a command that printed something within its time gets as much again, until it
    took that long. Without a `confinement` it runs as the user, with all that the user may do.
    """
    started = time.monotonic()
    name = uuid.uuid4().hex
    mark = f"{COMMAND}={name}"
    stdout, stderr = _HeadAndTail(keep), _HeadAndTail(keep)
    async with confined(confinement, argv, cwd, {**env, COMMAND: name}) as start:
        # The guardian hears of it before it starts: this process may die at any moment.
        with _Guardian.instance().watching(mark) as started_as:
            with _as_input(stdin) as source:
                process = subprocess.Popen(
                    start.argv,
                    cwd=cwd,
                    env=start.env,
                    stdin=source,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    bufsize=0,
                    start_new_session=True,
                    pass_fds=start.pass_fds,
                )
            started_as(process.pid)
            readers = asyncio.gather(
                stdout.read(process.stdout), stderr.read(process.stderr), return_exceptions=True
            )
            # Otherwise asyncio complains that nobody saw the exception.
            readers.add_done_callback(lambda done: done.cancelled() or done.exception())
            watch = _watch(confinement, process.pid, lambda: stdout.total + stderr.total)
            allowance = _Allowance(timeout, longest, lambda: stdout.total + stderr.total)
            try:
                # A namespace of processes ends with its first one; others have to be searched.
                ends_as_one = confinement is not None and confinement.ends_as_one
                exit_code = await _end(process, "" if ends_as_one else mark, allowance, watch)
            finally:
                # A process that escaped may hold the pipes open forever; what came is enough.
                await asyncio.wait([readers], timeout=_GRACE_SECONDS)
                readers.cancel()
        ended_by_kernel = start.exceeded()
        if exit_code is not None and exit_code > 0 and not start.began():
            why = stderr.captured().text.strip().rpartition("\n")[2]
            raise OSError(errno.ENOTSUP, f"it cannot be confined: {why}", argv[0])
    if exit_code is not None:
        exit_code = start.exit_code(exit_code)
    return Ended(
        exit_code=exit_code,
        stdout=stdout.captured(),
        stderr=stderr.captured(),
        seconds=time.monotonic() - started,
        timeout=allowance.given,
        exceeded=await _exceeded(confinement, watch, exit_code) or ended_by_kernel,
    )


@contextlib.asynccontextmanager
async def confined(
    confinement: Confinement | None, argv: Sequence[str], cwd: Path, env: dict[str, str]
) -> AsyncIterator[Start]:
    """Prepare the start of a command within a confinement, if any, until the block ends."""
    if confinement is None:
        yield Start(argv=tuple(argv), env=env)
        return
    async with confinement.starting(argv, cwd=cwd, env=env) as start:
        yield start


def _watch(
    confinement: Confinement | None, pid: int, printed: Callable[[], int]
) -> asyncio.Future[Exceeded]:
    if confinement is None:
        return asyncio.get_running_loop().create_future()
    return asyncio.ensure_future(exceeded(confinement, pid, printed))


async def _exceeded(
    confinement: Confinement | None, watch: asyncio.Future[Exceeded], exit_code: int | None
) -> Exceeded | None:
    """Return the limit that was seen to be hit, or that the kernel says was."""
    if confinement is None:
        return None
    if watch.done() and not watch.cancelled():
        return watch.result()
    name = _SIGNALLED.get(abs(exit_code or 0)) if (exit_code or 0) < 0 else None
    if name is None:
        return None
    allowed = getattr(confinement.limits, name)
    return Exceeded(limit=name, allowed=allowed, used=allowed)


@contextlib.contextmanager
def watch_group() -> Iterator[tuple[dict[str, str], Callable[[int], None]]]:
    """Kill a process that the caller starts itself, should it outlive the block or us.

    Yields the variables that it must be started with, and a function to call with its id: it has
    to lead a process group.
    """
    name = uuid.uuid4().hex
    mark = f"{COMMAND}={name}"
    groups: list[int] = []
    with _Guardian.instance().watching(mark) as started_as:

        def started(group: int) -> None:
            groups.append(group)
            started_as(group)

        try:
            yield {COMMAND: name}, started
        finally:
            for group in groups:
                kill_group(group)
            kill_marked(mark)


def signal_name(number: int) -> str:
    """Return the name of a signal, such as `SIGKILL`."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@contextlib.contextmanager
def temporary_directory(prefix: str) -> Iterator[Path]:
    """Make a directory that is gone when the block ends, or when this process does."""
    directory = Path(tempfile.mkdtemp(prefix=prefix))
    with _Guardian.instance().clearing(directory):
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)


@dataclass(slots=True)
class _Allowance:
    """The time that a command gets, and how much it was given of it."""

    timeout: float
    longest: float | None
    printed: Callable[[], int]
    given: float = 0.0
    _seen: int = -1

    def next(self) -> float:
        """Return the seconds that it gets now; 0 if there are no more."""
        seen, self._seen = self._seen, self.printed()
        if self.given and (self.longest is None or self._seen == seen):
            return 0.0
        seconds = min(self.timeout, (self.longest or self.timeout) - self.given)
        self.given += max(seconds, 0.0)
        return max(seconds, 0.0)


async def _end(
    process: subprocess.Popen[bytes],
    mark: str,
    allowance: _Allowance,
    watch: asyncio.Future[Exceeded],
) -> int | None:
    """Wait for the end of a command, or end it, with all that it started."""
    # Not asyncio's own subprocess: its `wait` also waits for the pipes, which a process that was
    # left in the background may hold open.
    # Seen, not reaped: until its group is killed, nobody else may get its number.
    waiter = asyncio.ensure_future(asyncio.to_thread(_see_end, process))
    try:
        either: set[asyncio.Future[Any]] = {waiter, watch}
        done: set[asyncio.Future[Any]] = set()
        while not done and (seconds := allowance.next()) > 0:
            done, _ = await asyncio.wait(
                either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        timed_out = not done
        if timed_out:
            kill_group(process.pid, signal.SIGTERM)
            await asyncio.wait([waiter], timeout=_GRACE_SECONDS)
    finally:
        watch.cancel()
        # Also when the command ended by itself, for what it left in the background.
        kill_group(process.pid)
        if mark:
            kill_marked(mark)
        await waiter
        process.wait()
    return None if timed_out else process.returncode


def _see_end(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a child without reaping it, if the system can."""
    if hasattr(os, "waitid"):
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    else:
        process.wait()


@contextlib.contextmanager
def _as_input(data: bytes | None) -> Iterator[IO[bytes] | int]:
    """Open `data` as a file: a command that reads none of it cannot block anyone."""
    if data is None:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        yield file


class _HeadAndTail:
    """Reads a stream to its end and keeps `keep` bytes at each end of it."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0
        #: All that came, whether it was kept or not.
        self.total = 0

    async def read(self, pipe: IO[bytes] | None) -> None:
        stream = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), pipe
        )
        try:
            while chunk := await stream.read(64 * 1024):
                self._add(chunk)
        finally:
            transport.close()

    def _add(self, chunk: bytes) -> None:
        self.total += len(chunk)
        room = max(0, self._keep - len(self._head))
        self._head += chunk[:room]
        self._tail += chunk[room:]
        excess = max(0, len(self._tail) - self._keep)
        del self._tail[:excess]
        self._dropped += excess

    def captured(self) -> Captured:
        return Captured(head=bytes(self._head), tail=bytes(self._tail), dropped=self._dropped)


class _Guardian:
    """The other end of the pipe to the guardian process, started with the first command."""

    _started: _Guardian | None = None

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_GUARDIAN)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={},
        )
        self._entries = 0
        atexit.register(self._dismiss)

    @classmethod
    def instance(cls) -> _Guardian:
        if cls._started is None or cls._started._process.poll() is not None:
            cls._started = cls()
        return cls._started

    @contextlib.contextmanager
    def watching(self, mark: str) -> Iterator[Callable[[int], None]]:
        """Watch a command that is about to start; call the result with its group."""
        with self._entry("+", mark) as number:
            yield lambda group: self._send(f"@{number} {group}")

    def clearing(self, directory: Path) -> contextlib.AbstractContextManager[int]:
        """Remove a directory if this process ends within the block."""
        return self._entry("/", directory)

    @contextlib.contextmanager
    def _entry(self, sign: str, value: object) -> Iterator[int]:
        self._entries += 1
        number = self._entries
        self._send(f"{sign}{number} {value}")
        try:
            yield number
        finally:
            self._send(f"-{number}")

    def _send(self, line: str) -> None:
        # A guardian that somebody killed is no reason to fail: the groups are killed here too.
        with contextlib.suppress(OSError):
            os.write(self._process.stdin.fileno(), f"{line}\n".encode())  # type: ignore[union-attr]

    def _dismiss(self) -> None:
        """Close the pipe, which ends it; kill one that does not end."""
        with contextlib.suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]
        try:
            self._process.wait(_DISMISSAL_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
