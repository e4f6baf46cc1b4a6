"""The warden: starts one confined command, and ends all that is left of it.

Runs by itself, with `_confine`, and imports nothing of runtrue and little else: each command waits
for it. It is two processes. The starter sees the *front*, which ends like the command, by the same
signal or with the same exit code, and passes on signals. The *warden* is the command's parent in a
session of its own, so that killing the front's group does not kill it. It ends everything when the
command or the front has ended, or when the control pipe closes, because the starter is gone or
wants an end. Everything that a command starts stays below the warden, in whatever session and with
whatever parent or environment.

The descriptor in the first argument contains the *spec*. Lines of JSON are written to the report
pipe; when that closes, nothing is left of the command.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import resource
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing these takes longer than all the rest
    from collections.abc import Callable
    from typing import Any, NoReturn

    #: Confines its process. Returns the command's environment and the missing protections, or why
    #: it must be called again, in another process, without namespaces.
    Confine = Callable[[dict[str, Any], bool], "tuple[dict[str, str], list[str]] | str"]

_libc = ctypes.CDLL(None, use_errno=True)

_SIGHUP, _SIGINT, _SIGKILL, _SIGPIPE, _SIGTERM = 1, 2, 9, 13, 15
_PIDFD_SEND_SIGNAL = 424
_BLOWS = 300
#: What is killed needs a moment; what hangs in the kernel is looked at again and again.
_DYING_SECONDS = 0.003
_SIGCHLD, _SIGSTOP, _SIGXFSZ = 17, 19, 25
_BLOCK, _SET = 0, 2
_SET_DUMPABLE, _SET_PARENT_DEATH_SIGNAL, _SET_CHILD_SUBREAPER = 4, 1, 36
#: What a shell says of a command that is not there, and what we say of one that we do not start.
_NOT_STARTED, _NOT_CONFINED = 127, 125


def main(confine: Confine) -> NoReturn:
    """Run the command in the arguments: a directory, a descriptor, `--`, the command."""
    descriptor, argv = int(sys.argv[2]), sys.argv[4:]
    with open(descriptor, "rb") as file:
        spec = marshal.loads(file.read())  # noqa: S302 - our starter wrote it
    # A child that the program before us left sees to it that we join a control group.
    if spec["joins"] and os.wait()[1]:
        _report(spec, "failed", "its control group cannot be joined")
        os._exit(_NOT_CONFINED)
    _prctl(_SET_CHILD_SUBREAPER, 1)
    # Other processes of the same user cannot read our memory or take our pipes.
    _prctl(_SET_DUMPABLE, 0)
    _libc.signal(_SIGCHLD, None)
    signals = _signals(_SIGHUP, _SIGINT, _SIGTERM, _SIGCHLD)
    before = _signals()
    _libc.sigprocmask(_BLOCK, signals, before)
    life, front = os.pipe()
    warden = os.fork()
    if not warden:
        os.close(front)
        # It is not inherited, and the front may be killed first.
        _prctl(_SET_CHILD_SUBREAPER, 1)
        _end_as(_guard(_start(confine, spec, argv, before), spec, life))
    for descriptor in (life, spec["control"], *spec["keep"]):
        os.close(descriptor)
    status = _wait(warden, signals, front)
    # Nothing is left, unless somebody killed the warden: then we are who inherits.
    _sweep()
    _end_as(status)


def _wait(warden: int, signals: ctypes.Array[ctypes.c_char], front: int) -> int:
    """Wait for the end of the warden, and pass signals on to it."""
    got = ctypes.c_int()
    while True:
        _libc.sigwait(signals, ctypes.byref(got))
        if got.value != _SIGCHLD:
            try:
                os.write(front, bytes([got.value]))
            except OSError:
                continue
        pid, status = os.waitpid(warden, os.WNOHANG)
        if pid:
            return status


def _start(
    confine: Confine, spec: dict[str, Any], argv: list[str], signals: ctypes.Array[ctypes.c_char]
) -> int:
    """Start the command, with namespaces if they work; return its process id."""
    os.setsid()
    for apart in (True, False) if spec["namespaces"] else (False,):
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            try:
                _become(confine, spec, argv, signals, apart=apart, again=writer)
            except BaseException as error:
                _report(spec, "failed", f"{type(error).__name__}: {error}")
            os._exit(_NOT_CONFINED)
        os.close(writer)
        again = os.read(reader, 1)
        os.close(reader)
        if not again:
            break
        os.waitpid(child, 0)
    for descriptor in spec["keep"]:
        os.close(descriptor)
    return child


def _become(
    confine: Confine,
    spec: dict[str, Any],
    argv: list[str],
    signals: ctypes.Array[ctypes.c_char],
    *,
    apart: bool,
    again: int,
) -> None:
    """Become the command. Returns only if it must not be started."""
    warden = os.getppid()
    os.setsid()
    _prctl(_SET_DUMPABLE, 1)
    kept = {0, 1, 2, again, spec["report"], *spec["keep"]}
    for descriptor in {int(name) for name in os.listdir("/proc/self/fd")} - kept:
        try:
            os.close(descriptor)
        except OSError:
            pass  # the one that the directory was read with
    os.set_inheritable(spec["report"], False)
    try:
        confined = confine(spec, apart)
    except OSError as error:
        _report(spec, "failed", f"{error.filename or 'confining'}: {error.strerror}")
        return
    if isinstance(confined, str):
        _report(spec, "namespaces", confined)
        os.write(again, b"1")
        return
    environment, missing = confined
    _report(spec, "missing", *missing)
    # What Python ignores, commands expect to be as usual.
    for number in (_SIGPIPE, _SIGXFSZ):
        _libc.signal(number, None)
    _libc.sigprocmask(_SET, signals, None)
    # Late, since a process that changes its rights loses it.
    _prctl(_SET_PARENT_DEATH_SIGNAL, _SIGKILL)
    if os.getppid() != warden:
        return
    os.write(spec["report"], b'{"errno": %d}\n' % _execute(argv, environment))
    os._exit(_NOT_STARTED)


def _execute(argv: list[str], environment: dict[str, str]) -> int:
    """Become a program, looked up as usual; return the error number if that fails."""
    if "/" in argv[0]:
        places = [argv[0]]
    else:
        directories = environment.get("PATH", os.defpath).split(":")
        places = [os.path.join(directory, argv[0]) for directory in directories]
    worst = 2  # ENOENT
    for place in places:
        try:
            os.execve(place, argv, environment)  # noqa: S606 - there is to be no shell
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            worst = error.errno or worst
    return worst


def _guard(child: int, spec: dict[str, Any], life: int) -> int:
    """Wait for the end of the command, or the request to end it; then end all that is left."""
    events = _libc.signalfd(-1, _signals(_SIGCHLD), os.O_CLOEXEC | os.O_NONBLOCK)
    poll = select.poll()
    for descriptor in (spec["control"], life, events):
        poll.register(descriptor, select.POLLIN)
    over = False
    while not over and not _has_ended(child):
        for descriptor, _ in poll.poll():
            if descriptor == events:
                os.read(events, 128)
            elif descriptor == life and (number := os.read(life, 1)):
                _kill(-child, number[0])
            else:
                over = True
    # The group first: one blow, which processes that multiply do not outrun. Its leader is not
    # reaped yet, so that nobody else can have its number.
    _kill(-child, _SIGKILL)
    return _sweep().get(child, _SIGKILL)


def _has_ended(child: int) -> bool:
    """Return whether the command has ended; reap its orphans."""
    while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        if ended.si_pid == child:
            return True
        os.waitpid(ended.si_pid, 0)
    return False


def _sweep() -> dict[int, int]:
    """Kill all our descendants, and return the status of our own children.

    A process that loses its parent becomes our child, and nobody else gets a child's number before
    we reap it. So our children are killed again and again, fast enough for those that fork and end
    all the time; those that only multiply are all stopped first, since a running one could start
    another that was not seen.
    """
    ended: dict[int, int] = {}
    while True:
        for _ in range(_BLOWS):
            try:
                while (reaped := os.waitpid(-1, os.WNOHANG))[0]:
                    ended[reaped[0]] = reaped[1]
            except ChildProcessError:
                return ended
            _strike()
        stopped: dict[int, int] = {}
        # Parents before children, whose stop they would learn of.
        while new := [one for one in _descendants().items() if one not in stopped.items()]:
            for pid, born in new:
                _kill_known(pid, born, _SIGSTOP)
            stopped.update(new)
        for pid, born in stopped.items():
            _kill_known(pid, born, _SIGKILL)
        select.select([], [], [], _DYING_SECONDS)


def _strike() -> None:
    try:
        descriptor = os.open(f"/proc/self/task/{os.getpid()}/children", os.O_RDONLY)
    except OSError:
        return  # this kernel does not tell
    for pid in os.read(descriptor, 65536).split(b" ")[:-1]:
        _kill(int(pid), _SIGKILL)
    os.close(descriptor)


def _descendants() -> dict[int, int]:
    """Return the living processes below us with their start times."""
    seen: dict[int, tuple[int, int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (found := _look(int(name))):
            seen[int(name)] = found
    below = {os.getpid()}
    found_below: dict[int, int] = {}
    grown = True
    while grown:
        grown = False
        for pid, (parent, born) in seen.items():
            if parent in below and pid not in below:
                below.add(pid)
                found_below[pid] = born
                grown = True
    return found_below


def _look(pid: int) -> tuple[int, int] | None:
    """Return the parent and the start time of a process; None if it is dead."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    # Threads may go on when the first one of a process has ended.
    dead = fields[0] == b"X" or (fields[0] == b"Z" and fields[17] == b"1")
    return None if dead else (int(fields[1]), int(fields[19]))


def _kill_known(pid: int, born: int, number: int) -> None:
    """Signal a process, and no other that has its number by now."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return
    found = _look(pid)
    if found is not None and found[1] == born:
        _libc.syscall(ctypes.c_long(_PIDFD_SEND_SIGNAL), descriptor, number, None, 0)
    os.close(descriptor)


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass  # it is gone


def _end_as(status: int) -> NoReturn:
    """End like a child: with its exit code, or by the same signal."""
    # By ourselves, as the kernel might close the report first, which tells that all is over.
    os.closerange(0, 3)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _libc.signal(number, None)
        _libc.sigprocmask(_SET, _signals(), None)
        os.kill(os.getpid(), number)
        os._exit(128 + number)
    os._exit(os.WEXITSTATUS(status))


def _report(spec: dict[str, Any], key: str, *words: str) -> None:
    """Write a line of JSON to the report."""
    escaped = (word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") for word in words)
    line = ", ".join(f'"{word}"' for word in escaped)
    os.write(spec["report"], f'{{"{key}": [{line}]}}\n'.encode(errors="replace"))


def _signals(*numbers: int) -> ctypes.Array[ctypes.c_char]:
    signals = ctypes.create_string_buffer(128)
    _libc.sigemptyset(signals)
    for number in numbers:
        _libc.sigaddset(signals, number)
    return signals


def _prctl(option: int, value: int) -> None:
    zeros = (ctypes.c_ulong(0),) * 3
    _libc.prctl(option, ctypes.c_ulong(value), *zeros)
