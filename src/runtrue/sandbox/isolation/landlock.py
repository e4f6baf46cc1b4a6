"""Landlock, and plain processes: commands that give up rights before they start, with a warden.

Where the kernel lets users have namespaces, a command at the level `landlock` also gets some of its
own, which contain only what it may see, and no network but its own loopback. Elsewhere it has only
Landlock's rules and a filter of system calls; `missing` names what it lacks.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import json
import marshal
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from runtrue.confinement import ResourceLimits, Start
from runtrue.sandbox.isolation._scope import scopes_sockets
from runtrue.sandbox.isolation.cgroup import ControlGroup, counted
from runtrue.sandbox.isolation.seccomp import seccomp_filter
from runtrue.sandbox.isolation.visible_paths import SYSTEM, private_paths

if TYPE_CHECKING:
    from runtrue.sandbox.isolation.box import View

__all__ = ["Cell", "StartReport", "confining", "missing", "probe", "seccomp_filter", "starting"]

_PROBE_SECONDS = 20
#: The time for the rest of a command to end; anything slower hangs in the kernel.
_SWEEP_SECONDS = 30
_LAUNCH = (
    "import sys; sys.path.append(sys.argv[1]); "
    "import _confine, _warden; _warden.main(_confine.confine)"
)
_HERE = str(Path(__file__).parent)
_TEMPORARY = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - the command's own
_RESOLVER = Path("/etc/resolv.conf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The rights of one command, with the machine's own paths.

    It may see `read` and change `write`, except for `read_only`, and must not see `hidden`. `binds`
    are writable directories, each with the path where the command sees it; without namespaces that
    is its own path, and `environment_together` leads there.
    """

    level: str
    directory: Path
    environment: dict[str, str]
    limits: ResourceLimits = field(default_factory=ResourceLimits)
    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    read_only: tuple[Path, ...] = ()
    is_restored: bool = False
    hidden: tuple[Path, ...] = ()
    binds: tuple[tuple[Path, Path], ...] = ()
    #: Further variables, with namespaces and without.
    environment_apart: dict[str, str] = field(default_factory=dict)
    environment_together: dict[str, str] = field(default_factory=dict)
    #: A home, and the user's, whose tools it links to without namespaces.
    home: tuple[Path, Path] | None = None
    #: Use the user's own network in place of none.
    open_network: bool = False
    #: Try namespaces.
    namespaces: bool = True
    #: Descriptors that the command inherits besides the usual three.
    keep: tuple[int, ...] = ()

    @classmethod
    def of(cls, level: str, view: View) -> Cell:
        """Return the cell for a view."""
        home = Path(view.environment["HOME"])
        read = [*map(Path, SYSTEM), *view.tools, *view.read]
        if view.open_network:
            read.append(_RESOLVER.resolve())
        temporary = {"TMPDIR": str(view.temporary)}
        return cls(
            level=level,
            directory=view.directory,
            environment=view.environment,
            limits=view.limits,
            read=tuple(read),
            write=view.write,
            read_only=view.read_only,
            is_restored=view.is_restored,
            hidden=(*private_paths(), *view.hidden),
            binds=(
                *((view.home, place) for place in view.homes),
                *((view.temporary, place) for place in _TEMPORARY),
            ),
            environment_apart={"TMPDIR": str(_TEMPORARY[0])},
            # As a plain process, it finds all that is in the user's home anyway.
            environment_together=(
                temporary if level == "process" else {**temporary, "HOME": str(view.home)}
            ),
            home=(view.home, home),
            open_network=view.open_network,
        )

    def spec(self, control: int, report: int, *, joins: bool) -> dict[str, object]:
        """Return the cell as data for `_warden` and `_confine`; `joins` a control group."""
        machine, sockets = os.uname().machine, self.open_network
        # Only the last part may be a link, which has to be there.
        shown = [place.parent.resolve() / place.name for place in self.read if place.exists()]
        links = {place: place.readlink() for place in shown if place.is_symlink()}
        return {
            "level": self.level,
            "namespaces": self.namespaces and self.level == "landlock",
            "open_network": self.open_network,
            "directory": str(self.directory),
            "environment": self.environment,
            "environment_apart": self.environment_apart,
            "environment_together": self.environment_together,
            "limits": asdict(self.limits),
            "read": list(dict.fromkeys(str(place.resolve()) for place in shown)),
            "links": [[str(link), str(target)] for link, target in links.items()],
            "write": list(map(str, self.write)),
            "read_only": list(map(str, self.read_only)),
            "is_restored": self.is_restored,
            "hidden": list(map(str, self.hidden)),
            "binds": [[str(source), str(place)] for source, place in self.binds],
            "home": None if self.home is None else list(map(str, self.home)),
            "filter_apart": seccomp_filter(
                machine, sockets=True, unix=not self.open_network or scopes_sockets()
            ),
            "filter_together": seccomp_filter(machine, sockets=sockets, apart=False),
            "keep": list(self.keep),
            "control": control,
            "report": report,
            "joins": joins,
        }


@dataclass(slots=True)
class StartReport:
    """The result of a start."""

    #: Protections that do not work here: `namespaces`, `signals` or `filter`.
    missing: tuple[str, ...] = ()
    #: Why there are no namespaces.
    reason: str | None = None
    #: Why the command was not confined, and so not started.
    failed: str | None = None
    #: Why the command could not be started.
    errno: int | None = None

    def read(self, text: bytes) -> None:
        """Read what the warden wrote."""
        for line in text.splitlines():
            said = json.loads(line)
            self.missing = tuple(said.get("missing", self.missing))
            self.reason = next(iter(said.get("namespaces", ())), self.reason)
            self.failed = next(iter(said.get("failed", ())), self.failed)
            self.errno = said.get("errno", self.errno)

    def check(self, program: str) -> None:
        """Raise the OSError that the start of a program ended with, if any."""
        if self.failed is not None:
            raise OSError(errno.ENOTSUP, f"it cannot be confined: {self.failed}", program)
        if self.errno is not None:
            raise OSError(self.errno, os.strerror(self.errno), program)


@asynccontextmanager
async def starting(level: str, argv: Sequence[str], view: View) -> AsyncIterator[Start]:
    """Prepare to start a command that gives up its rights first.

    The end of the block ends the command and all that it started, and waits for that. It raises
    OSError if the command could not be started.
    """
    with counted(view.limits) as group:
        async with confining(Cell.of(level, view), argv, group) as (start, _):
            yield start


@asynccontextmanager
async def confining(
    cell: Cell, argv: Sequence[str], group: ControlGroup | None = None
) -> AsyncIterator[tuple[Start, StartReport]]:
    """Prepare to start a command in a cell; the report is complete after the block."""
    report = StartReport()
    pipes = _Pipes(cell, argv, group)
    try:
        try:
            yield pipes.start, report
        finally:
            pipes.end()
            report.read(await pipes.read_report())
    finally:
        pipes.close()
    report.check(argv[0])


@functools.cache
def probe(level: str) -> str | None:
    """Return why a level, `landlock` or `process`, does not work here; None if it works.

    A command is started that tries to read what it must not.
    """
    return _try(level)[0]


@functools.cache
def missing(level: str) -> tuple[str, ...]:
    """Return what the level lacks here: `namespaces`, `signals`, `filter`; see the docs."""
    return _try(level)[1].missing


@functools.cache
def _try(level: str) -> tuple[str | None, StartReport]:
    report = StartReport()
    if not sys.platform.startswith("linux"):
        return "it needs Linux", report
    with tempfile.TemporaryDirectory(prefix="rt-") as made:
        secret = Path(made, "secret")
        secret.write_text("x")
        seen = Path(made, "seen")
        seen.mkdir()
        cell = Cell(
            level=level,
            directory=seen,
            environment={"PATH": os.defpath},
            read=tuple(map(Path, SYSTEM)),
            write=(seen,),
        )
        script = 'cat "$1" 2>/dev/null && exit 9; : >mine || exit 8; exit 3'
        pipes = _Pipes(cell, ("/bin/sh", "-c", script, "sh", str(secret)))
        try:
            ended = subprocess.run(
                pipes.start.argv,
                cwd=seen,
                env=pipes.start.env,
                pass_fds=pipes.start.pass_fds,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                start_new_session=True,
                timeout=_PROBE_SECONDS,
                check=False,
            )
            pipes.end()
            report.read(pipes.report_so_far())
        except (OSError, subprocess.SubprocessError) as error:
            return f"a command cannot be started: {error}", report
        finally:
            pipes.close()
    if report.failed is not None:
        return report.failed, report
    expected = {"landlock": {3}, "process": {3, 9}}[level]
    if ended.returncode in expected:
        return None, report
    said = ended.stderr.decode(errors="replace").strip().splitlines()
    reasons = {8: "an allowed file cannot be written", 9: "a file outside can be read"}
    reason = reasons.get(ended.returncode, f"a command ended with {ended.returncode}")
    return ": ".join([reason, *said[-1:]]), report


class _Pipes:
    """The start of a command, and the pipes between it and us."""

    def __init__(self, cell: Cell, argv: Sequence[str], group: ControlGroup | None = None) -> None:
        control, self._control = os.pipe()
        self._report, report = os.pipe()
        os.set_blocking(self._report, False)
        # Not an argument, which anybody may read: there is an environment in it.
        spec = os.memfd_create("spec")
        self._open = {control, self._control, self._report, report, spec}
        with open(spec, "wb", closefd=False) as file:
            file.write(marshal.dumps(cell.spec(control, report, joins=group is not None)))
        os.lseek(spec, 0, os.SEEK_SET)
        launcher = (sys.executable, "-I", "-S", "-c", _LAUNCH, _HERE, str(spec), "--", *argv)
        # Not the command's environment: that may name libraries of the command's own to load, and
        # bears the mark by which its processes are killed.
        environment = {n: os.environ[n] for n in ("LD_LIBRARY_PATH",) if n in os.environ}
        self.start = Start(
            argv=launcher if group is None else group.joining(launcher),
            env=environment,
            pass_fds=(control, report, spec, *cell.keep),
            exceeded=(lambda: None) if group is None else group.exceeded,
        )
        self._theirs = (control, report, spec)

    def end(self) -> None:
        """End the command with all that it started."""
        for descriptor in (self._control, *self._theirs):
            self._close(descriptor)

    async def read_report(self) -> bytes:
        """Return the whole report; when it ends, nothing is left of the command."""
        loop = asyncio.get_running_loop()
        text = b""
        try:
            async with asyncio.timeout(_SWEEP_SECONDS):
                while True:
                    try:
                        chunk = os.read(self._report, 65536)
                    except BlockingIOError:
                        await _readable(loop, self._report)
                        continue
                    if not chunk:
                        break
                    text += chunk
        except TimeoutError:
            pass  # it hangs in the kernel
        return text

    def report_so_far(self) -> bytes:
        """Return the report on a command that has ended."""
        try:
            return os.read(self._report, 65536)
        except BlockingIOError:
            return b""

    def close(self) -> None:
        """Close all that is still open."""
        for descriptor in list(self._open):
            self._close(descriptor)

    def _close(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.remove(descriptor)
            os.close(descriptor)


async def _readable(loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
