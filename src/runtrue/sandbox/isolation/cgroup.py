"""Control groups: how many processes a command may have, where the kernel would let root have any.

The kernel's own limit of processes is not for root. Without one, processes that multiply leave
those that watch them hardly any time. A group needs root as well, and is there on most machines.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from uuid import uuid4

_PREFIX = "runtrue-"
#: What starts a command, and watches over it, is in the group as well; and what is too much must be
#: seen to be.
_MORE = 32
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
class Group:
    """A control group that a launcher is to join, with all that it starts."""

    directory: Path

    def joining(self, launcher: Sequence[str]) -> tuple[str, ...]:
        """The launcher as one that joins. It must wait for a child of its own to end well."""
        return ("/bin/sh", "-c", _JOIN, self._members, *launcher)

    def joining_all(self, launcher: Sequence[str], release: int) -> tuple[str, ...]:
        """The same for one that goes on when something is written to our descriptor `release`."""
        way = f"/proc/{os.getpid()}/fd/{release}"
        return ("/bin/sh", "-c", _JOIN_ALL, self._members, way, *launcher)

    @property
    def _members(self) -> str:
        return str(self.directory / "cgroup.procs")


@contextmanager
def counted(processes: int) -> Iterator[Group | None]:
    """A group for a command that may have so many processes; None where there can be none."""
    top = _top() if os.geteuid() == 0 else None
    directory = None if top is None else _made(top, processes + _MORE)
    if directory is None:
        yield None
        return
    try:
        yield Group(directory)
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


def _remove(group: Path) -> None:
    """Remove a group, as soon as those in it, who were killed, are gone."""
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
    """Where groups that count processes can be made."""
    if not _CHILDREN.exists():
        return None
    for place in (Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup")):
        if not (place / "cgroup.procs").exists():
            continue
        # What others of us left who were killed.
        for left in place.glob(f"{_PREFIX}*"):
            number = left.name.removeprefix(_PREFIX).partition("-")[0]
            if number.isdecimal() and not Path("/proc", number).exists():
                _remove(left)
        probe = _made(place, _MORE)
        if probe is not None:
            _remove(probe)
            return place
    return None
