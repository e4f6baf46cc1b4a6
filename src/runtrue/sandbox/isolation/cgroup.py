"""Control groups: limits of processes and memory for root's commands.

The kernel's own limit of processes is not for root. Without one, processes that multiply leave
those that watch them hardly any time. Where a group has a limit of memory as well (version 2), it
counts what no process is seen to have: caches of the kernel, pipes, sockets. A group needs root,
and works on most machines.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from uuid import uuid4

from runtrue.confinement import Exceeded, ResourceLimits

_PREFIX = "runtrue-"
#: The launcher and the warden are in the group as well, and an excess must become visible.
_MORE = 32
#: MiB for these, and for what the kernel cannot give back at once: usage that is seen to pass the
#: limit ends a command first, with the number.
_MORE_MEMORY = 128
_MIB = 1024 * 1024
_DYING_SECONDS, _TRIES = 0.005, 100
#: Joining may take longer than all else that a launcher does: the kernel waits until every core has
#: taken a breath. So the launcher starts meanwhile, and waits before it starts the command.
_JOIN = 'echo $$ >"$0" & exec "$@"'
#: For a launcher that has others wait: those that it started before it had joined join after it.
_JOIN_ALL = """\
release=$1; shift
{
    echo $$ >"$0" || kill -9 $$
    read -r all </proc/$$/task/$$/children
    for one in $all; do { echo $one >"$0" || kill -9 $one; } 2>/dev/null; done
    echo >"$release"
} &
exec "$@"
"""
_CHILDREN = Path("/proc/thread-self/children")


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """A control group for a launcher and all that it starts."""

    directory: Path
    limits: ResourceLimits

    def exceeded(self) -> Exceeded | None:
        """Return the limit of memory if the kernel has ended processes at it."""
        try:
            events = (self.directory / "memory.events").read_text().split()
            killed = int(events[events.index("oom_kill") + 1])
        except (OSError, ValueError, IndexError):
            return None
        if not killed:
            return None
        allowed = self.limits.memory
        return Exceeded(limit="memory", allowed=allowed, used=allowed + _MORE_MEMORY)

    def joining(self, launcher: Sequence[str]) -> tuple[str, ...]:
        """Return the command for a launcher that joins, and waits for a child to succeed."""
        return ("/bin/sh", "-c", _JOIN, self._members, *launcher)

    def joining_all(self, launcher: Sequence[str], release: int) -> tuple[str, ...]:
        """Return the command for a launcher that waits for input from our `release`."""
        way = f"/proc/{os.getpid()}/fd/{release}"
        return ("/bin/sh", "-c", _JOIN_ALL, self._members, way, *launcher)

    @property
    def _members(self) -> str:
        return str(self.directory / "cgroup.procs")


@contextmanager
def counted(limits: ResourceLimits) -> Iterator[ControlGroup | None]:
    """Make a group for a command with these limits; None where it is impossible."""
    top = _top() if os.geteuid() == 0 else None
    directory = None if top is None else _made(top, limits.processes + _MORE)
    if directory is None:
        yield None
        return
    _limit_memory(directory, limits.memory)
    try:
        yield ControlGroup(directory, limits)
    finally:
        _remove(directory)


def _made(top: Path, most: int) -> Path | None:
    group = top / f"{_PREFIX}{os.getpid()}-{uuid4().hex[:8]}"
    try:
        group.mkdir()
        (group / "pids.max").write_text(str(most))
    except OSError:
        _remove(group)
        return None
    return group


def _limit_memory(group: Path, memory: int) -> None:
    """Have the kernel limit the memory of a group, if it does so here."""
    limits = {"memory.max": str((memory + _MORE_MEMORY) * _MIB), "memory.swap.max": "0"}
    for name, value in limits.items():
        if (group / name).exists():
            with suppress(OSError):
                (group / name).write_text(value)


def _remove(group: Path) -> None:
    """Remove a group as soon as its killed processes are gone."""
    for _ in range(_TRIES):
        try:
            group.rmdir()
        except OSError as error:
            if error.errno != errno.EBUSY:
                return
            time.sleep(_DYING_SECONDS)
        else:
            return


@cache
def _top() -> Path | None:
    """Return the directory in which groups can be made, if there is one."""
    if not _CHILDREN.exists():
        return None
    for place in (Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup")):
        if not (place / "cgroup.procs").exists():
            continue
        # Those of killed processes of ours.
        for left in place.glob(f"{_PREFIX}*"):
            number = left.name.removeprefix(_PREFIX).partition("-")[0]
            if number.isdecimal() and not Path("/proc", number).exists():
                _remove(left)
        probe = _made(place, _MORE)
        if probe is not None:
            _remove(probe)
            return place
    return None
