"""Control groups: how many processes a command may have, where the kernel would let root have any.

The kernel's own limit of processes is not for root. Without one, processes that multiply leave
those that watch them hardly any time. A group needs root as well, and is there on most machines.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from uuid import uuid4

_PREFIX = "runtrue-"
#: What starts a command, and watches over it, is in the group as well; and what is too much must be
#: seen to be.
_MORE = 32
_DYING_SECONDS, _TRIES = 0.005, 100
_JOIN = 'echo $$ >"$0" && exec "$@"'


@contextmanager
def counted(processes: int) -> Iterator[tuple[str, ...]]:
    """The words to put before a command, so that it has so many processes at most; none if not."""
    top = _top() if os.geteuid() == 0 else None
    group = None if top is None else _made(top, processes + _MORE)
    if group is None:
        yield ()
        return
    try:
        yield ("/bin/sh", "-c", _JOIN, str(group / "cgroup.procs"))
    finally:
        _remove(group)


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
