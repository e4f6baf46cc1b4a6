"""bubblewrap: commands in namespaces of their own, without most of the machine."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from runtrue.confinement import ResourceLimits, Start
from runtrue.process import COMMAND, MARK
from runtrue.sandbox.isolation._scope import scopes_sockets
from runtrue.sandbox.isolation.box import View
from runtrue.sandbox.isolation.cgroup import counted
from runtrue.sandbox.isolation.seccomp import seccomp_filter
from runtrue.sandbox.isolation.visible_paths import SYSTEM, open_inside, private_paths, root_of

_PROGRAM = "bwrap"
_SCOPE = str(Path(__file__).with_name("_scope.py"))
_NAMESPACES = ("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts")
_ALONE = ("--unshare-cgroup-try", "--cap-drop", "ALL", "--new-session", "--die-with-parent")
#: From this version on, nothing within can make user namespaces of its own.
_DISABLES_USERS = (0, 8)
_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - they are the command's own
#: MiB of shared memory, which is memory that no process is seen to have.
_SHARED_MEMORY = 1024
#: A hard limit that is hit kills without a word; the soft one says which it was.
_SLACK_SECONDS = 5
_SLACK_PROCESSES = 32
_PROBE_SECONDS = 20
#: Reported of a command that ended, and not of one that could not be started.
_ENDED = b'"exit-code"'


@cache
def probe() -> str | None:
    """Return why bubblewrap does not work here, by trying; None if it works."""
    if shutil.which(_PROGRAM) is None:
        return f"there is no program `{_PROGRAM}`"
    command = [_program(), *_NAMESPACES, "--unshare-net", *_ALONE, "--ro-bind", "/", "/"]
    try:
        done = subprocess.run(
            [*command, "--proc", "/proc", "--dev", "/dev", "--json-status-fd", "1", "true"],
            capture_output=True,
            text=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"`{_PROGRAM}` does not run: {error}"
    if done.returncode == 0:
        return None
    said = done.stderr.strip().splitlines()
    return said[-1] if said else f"`{_PROGRAM}` ended with {done.returncode}"


@asynccontextmanager
async def starting(argv: Sequence[str], view: View) -> AsyncIterator[Start]:
    """Prepare to start a command in namespaces of its own."""
    if _size(argv, view.environment) > os.sysconf("SC_ARG_MAX"):
        # Only within the box would the system say so, where nobody could tell why it failed.
        raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
    # In the user's own network there are sockets of other programs that have no path.
    scoped = view.open_network and scopes_sockets()
    unix = scoped or not view.open_network
    code = seccomp_filter(os.uname().machine, sockets=True, unix=unix, pids=True)
    if scoped:
        argv = (sys.executable, "-I", "-S", _SCOPE, *argv)
    with ExitStack() as stack:
        status, status_writer = _pipe(stack)
        os.set_blocking(status, False)
        passed = {"--json-status-fd": status_writer}
        if code is not None:
            passed["--seccomp"] = _memory(stack, code)
        launcher = _launcher_environment(view.environment)
        passed["--args"] = _memory(stack, _variables(launcher, view.environment))
        group = stack.enter_context(counted(view.limits))
        if group is not None:
            passed["--block-fd"], release = _pipe(stack)
        options = (word for option, one in passed.items() for word in (option, str(one)))
        held: list[int] = []
        wrapper = (
            *_wrapper(view, _Holder(view.write, stack, held)),
            *options,
            "--",
            *_limited(view.limits, argv),
        )
        if _dumps_to_a_program():
            # Programs that collect core dumps get one unless the limit is 1, which no shell sets.
            wrapper = ("prlimit", "--core=1:1", *wrapper)
        yield Start(
            argv=wrapper if group is None else group.joining_all(wrapper, release),
            env=launcher,
            pass_fds=(*passed.values(), *held),
            tells_signals=True,
            began=lambda: _ENDED in _read(status),
            exceeded=(lambda: None) if group is None else group.exceeded,
        )


def _launcher_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of what starts bubblewrap, outside of the box.

    Not the command's: they may come from a project, and name libraries to load or programs to run.
    But those by which a command's processes are found.
    """
    ours = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    marks = {name: environment[name] for name in (MARK, COMMAND) if name in environment}
    return {**ours, **marks}


def _variables(launcher: Mapping[str, str], environment: Mapping[str, str]) -> bytes:
    """Return the options that give a command its variables.

    They are read from a descriptor: anyone may read arguments, and some variables are secret.
    """
    command = {"TMPDIR": "/tmp", **environment}  # noqa: S108 - it is the command's own
    gone = [("--unsetenv", name) for name in launcher.keys() - command.keys()]
    options = [*gone, *(("--setenv", name, value) for name, value in command.items())]
    return b"".join(os.fsencode(word) + b"\0" for option in options for word in option)


def _size(argv: Sequence[str], environment: Mapping[str, str]) -> int:
    """Return how many bytes a command and its variables take of what the system allows."""
    words = (*argv, *(f"{name}={value}" for name, value in environment.items()))
    return sum(len(os.fsencode(word)) + 1 + 8 for word in words)  # 8 for the pointer to each


@dataclass(frozen=True, slots=True)
class _Holder:
    """Holds what is mounted below directories that commands write, in case they put links there."""

    roots: tuple[Path, ...]
    stack: ExitStack
    held: list[int]

    def bind(self, option: str, path: Path) -> tuple[str, ...]:
        """Return the option to mount a path where it is; none if it is gone.

        Raises OSError if a link has taken the place of something on the way.
        """
        root = root_of(path, self.roots)
        if root is None or not _holds():
            return (f"{option}-try", str(path), str(path))
        try:
            self.held.append(open_inside(path, root))
        except FileNotFoundError:
            return ()
        self.stack.callback(os.close, self.held[-1])
        return (f"{option}-fd", str(self.held[-1]), str(path))


def _wrapper(view: View, holder: _Holder) -> Iterator[str]:
    yield from (_program(), *_NAMESPACES, *_ALONE)
    if not view.open_network:
        yield "--unshare-net"
    if _version() >= _DISABLES_USERS:
        yield "--disable-userns"
    yield from _system()
    for path in private_paths():
        if path.exists():
            yield from _hide(path)
    memory = min(view.limits.memory, _SHARED_MEMORY) * 1024 * 1024
    yield from ("--proc", "/proc", "--dev", "/dev", "--size", str(memory), "--tmpfs", "/dev/shm")  # noqa: S108
    if view.open_network:
        # Often a link to where nothing is shown.
        resolved = str(Path("/etc/resolv.conf").resolve())
        yield from ("--ro-bind-try", resolved, resolved)
    yield from _mounts(view, holder)
    # They are memory, of which nobody keeps count.
    yield from ("--remount-ro", "/dev", "--remount-ro", "/")
    # For root, whose number alone is enough to write the kernel's settings there.
    yield from ("--remount-ro", "/proc", "--chdir", str(view.directory))


def _mounts(view: View, holder: _Holder) -> Iterator[str]:
    """Return the mounts from the outside to the inside: paths within others come later."""
    ways = [
        *((Path(path), ("--bind", str(view.temporary), path)) for path in _TEMPORARY),
        *((home, ("--bind", str(view.home), str(home))) for home in view.homes),
        *((path, ("--ro-bind-try", str(path), str(path))) for path in (*view.tools, *view.read)),
        *((path, holder.bind("--bind", path)) for path in view.write),
        *((path, holder.bind("--ro-bind", path)) for path in view.read_only),
        *((path, _hide(path)) for path in view.hidden),
    ]
    for _, way in sorted(ways, key=lambda one: len(one[0].parts)):
        yield from way


@cache
def _system() -> tuple[str, ...]:
    """Return mounts for the system's directories and links."""
    shown: list[str] = []
    for path in map(Path, SYSTEM):
        if path.is_symlink():
            shown += ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            shown += ("--ro-bind", str(path), str(path))
    return tuple(shown)


def _hide(path: Path) -> tuple[str, ...]:
    if path.is_dir():
        return ("--tmpfs", str(path), "--remount-ro", str(path))
    return ("--ro-bind", "/dev/null", str(path))


def _limited(limits: ResourceLimits, argv: Sequence[str]) -> tuple[str, ...]:
    """Return the command under the kernel's limits, set by a shell in its namespaces.

    Only in there its processes are counted by themselves.
    """
    cpu = max(1, int(limits.cpu))
    # A net as well: one that is never passed could not be seen to be passed.
    processes = limits.processes + _SLACK_PROCESSES
    lines = [
        f"ulimit -S -t {cpu}; ulimit -H -t {cpu + _SLACK_SECONDS}",
        f"ulimit -n {limits.open_files}",
        # In blocks of 512 bytes.
        f"ulimit -f {limits.file_size * 2048}",
        *(() if _dumps_to_a_program() else ("ulimit -c 0",)),
        # One shell calls it so, another one so.
        f"ulimit -u {processes} || ulimit -p {processes}",
    ]
    script = "{ " + "; ".join(lines) + '; } 2>/dev/null; exec "$@"'
    return ("/bin/sh", "-c", script, "sh", *argv)


@cache
def _program() -> str:
    return shutil.which(_PROGRAM) or _PROGRAM


@cache
def _dumps_to_a_program() -> bool:
    """Return whether the kernel hands core dumps to a program, which runs outside of any box."""
    try:
        pattern = Path("/proc/sys/kernel/core_pattern").read_bytes()
    except OSError:
        return False
    return pattern.startswith(b"|") and shutil.which("prlimit") is not None


@cache
def _holds() -> bool:
    """Return whether this build mounts what a descriptor holds."""
    done = subprocess.run([_program(), "--help"], capture_output=True, text=True, check=False)
    return "--ro-bind-fd" in done.stdout + done.stderr


@cache
def follows_links() -> bool:
    """Return whether this build makes files through a link out of the sandbox, by trying.

    That is CVE-2026-87766, closed in 0.12.0 and in packages whose version does not show it.
    """
    with tempfile.TemporaryDirectory(prefix="rt-") as made:
        inside, outside = Path(made, "inside"), Path(made, "outside")
        inside.mkdir()
        outside.mkdir()
        (inside / "link").symlink_to(f"/oldroot{outside.resolve()}")
        places = ("--ro-bind", "/", "/", "--bind", str(inside), str(inside))
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run(
                [_program(), *_NAMESPACES, *places, "--dir", str(inside / "link" / "x"), "true"],
                capture_output=True,
                timeout=_PROBE_SECONDS,
                check=False,
            )
        return (outside / "x").exists()


@cache
def _version() -> tuple[int, ...]:
    done = subprocess.run([_program(), "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"(\d+)\.(\d+)", done.stdout)
    return tuple(map(int, found.groups())) if found else (0, 0)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except BlockingIOError:
        return b""


def _pipe(stack: ExitStack) -> tuple[int, int]:
    ends = os.pipe()
    for end in ends:
        stack.callback(os.close, end)
    return ends


def _memory(stack: ExitStack, data: bytes) -> int:
    """Return a descriptor to read data of any length from."""
    descriptor = os.memfd_create("bwrap")
    stack.callback(os.close, descriptor)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
