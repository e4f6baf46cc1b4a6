"""However isolated commands end, and however we do, nothing of them is left."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import statistics
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from runtrue.sandbox.isolation import Level, unavailable
from tests.isolation.soaking import MESS, SHARES, available, soak

RUNS = 60
#: Long enough that no test gets there, but one that has found something that is left.
FOREVER = 120
#: MiB that come and go.
NOISE = 4

#: Runs one command at a level, and reports nothing: it is killed before it could.
RUNTRUE = """
import asyncio, os, pathlib, sys
from runtrue import process
from runtrue.sandbox.isolation import Box, Level

level, folder, script = sys.argv[1:]
work = pathlib.Path(folder, "work")
box = Box(level=Level(level), write=(work,), private=pathlib.Path(folder, "private"))
environment = {"PATH": os.environ["PATH"], "HOME": folder + "/home"}
asyncio.run(
    process.run(
        ["sh", "-c", script], cwd=work, env=environment, timeout=600, confinement=box
    )
)
"""


def test_many_isolated_commands_leave_no_process_mount_file_or_descriptor_behind(
    tmp_path: Path,
) -> None:
    soaked = asyncio.run(soak(tmp_path, RUNS, available()))
    first, *_, last = soaked.counts
    assert (last.processes, last.mounts) == (first.processes, first.mounts)
    assert (last.files, last.descriptors) == (first.files, first.descriptors)
    # One for each command that runs, and those that ended just now.
    assert last.threads <= (os.cpu_count() or 1) + 5
    early, late = (
        statistics.median(one.memory for one in soaked.fifth(number)) for number in (2, 5)
    )
    assert late <= early + NOISE


@pytest.mark.parametrize("level", SHARES)
def test_nothing_of_an_isolated_command_survives_when_runtrue_is_killed(
    level: Level, tmp_path: Path
) -> None:
    if reason := unavailable(level):
        pytest.skip(f"{level}: {reason}")
    for name in ("work", "home"):
        (tmp_path / name).mkdir()
    os.mkfifo(tmp_path / "work" / "fifo")
    # Whoever has the pipe open for writing is still there, and the kernel knows.
    reader = os.open(tmp_path / "work" / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    try:
        script = f"{MESS}\nsleep 600"
        runtrue = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(RUNTRUE), level.value, str(tmp_path), script]
        )
        try:
            assert read(reader) == b"up\n"
            runtrue.send_signal(signal.SIGKILL)
        finally:
            runtrue.kill()
            runtrue.wait()
        assert read(reader) == b"", "somebody wrote, or is still there"
    finally:
        os.close(reader)


def read(descriptor: int) -> bytes:
    """What comes next from a pipe; empty when nobody has the other end any more."""
    ready, _, _ = select.select([descriptor], [], [], FOREVER)
    assert ready, "nothing came, and somebody still has the pipe"
    return os.read(descriptor, 64)
