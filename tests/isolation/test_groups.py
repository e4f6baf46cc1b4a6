"""The control group that counts a command's processes, where root may make one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runtrue import process
from runtrue.confinement import Exceeded, ResourceLimits
from runtrue.sandbox.isolation import Box, Level, bubblewrap, cgroup, landlock, unavailable

LEVELS = (Level.BUBBLEWRAP, Level.LANDLOCK, Level.PROCESS)
ENV = {"PATH": os.defpath, "HOME": "/root"}


@pytest.fixture(params=LEVELS, ids=str)
def box(request: pytest.FixtureRequest, tmp_path: Path) -> Box:
    level: Level = request.param
    if (reason := unavailable(level)) is not None:
        pytest.skip(reason)
    with cgroup.counted(ResourceLimits()) as group:
        if group is None:
            pytest.skip("control groups cannot be made here")
    return Box(level=level, write=(tmp_path,))


def run(box: Box, script: str) -> process.Ended:
    where = box.write[0]
    argv = ("/bin/sh", "-c", script)
    return asyncio.run(process.run(argv, cwd=where, env=ENV, timeout=60, confinement=box))


def test_a_command_is_counted_from_its_first_moment_with_all_that_it_starts(box: Box) -> None:
    where = box.write[0]
    ready, go = where / "ready", where / "go"
    for fifo in (ready, go):
        os.mkfifo(fifo)

    def groups() -> list[str]:
        """Those of the command and of the two that it has started, as the machine sees them."""
        ready.read_text()
        named = [one.parent for one in Path("/proc").glob("[0-9]*/cmdline") if is_ours(one)]
        found = [(one / "cgroup").read_text() for one in named]
        go.write_text("\n")
        return found

    def is_ours(cmdline: Path) -> bool:
        try:
            return str(go).encode() in cmdline.read_bytes().split(b"\0")
        except OSError:
            return False

    async def look() -> list[str]:
        idle = "(while :; do sleep 1; done) &"
        script = f'{idle} {idle} echo >ready; read -r _ <"$1"'
        argv = ("/bin/sh", "-c", script, "sh", str(go))
        command = process.run(argv, cwd=where, env=ENV, timeout=60, confinement=box)
        found, _ = await asyncio.gather(asyncio.to_thread(groups), command)
        return found

    for _ in range(10):
        found = asyncio.run(look())
        assert len(found) >= 3
        assert all(f"/runtrue-{os.getpid()}-" in one for one in found), found


def test_a_command_that_cannot_be_counted_is_not_started(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def gone(limits: ResourceLimits) -> Iterator[cgroup.ControlGroup]:
        with cgroup.counted(limits) as group:
            assert group is not None
        yield group

    for level in (bubblewrap, landlock):
        monkeypatch.setattr(level, "counted", gone)
    try:
        ended = run(box, "echo >started")
    except OSError as error:
        assert "control group" in str(error)  # noqa: PT017 - or it is killed
    else:
        assert ended.exit_code == -9
        assert "cgroup.procs" in ended.stderr.text
    assert not (box.write[0] / "started").exists()


def test_a_group_with_a_limit_of_memory_gets_it_and_says_when_it_was_hit(tmp_path: Path) -> None:
    """As the kernel shows it in version 2, which this machine need not have."""
    group = cgroup.ControlGroup(tmp_path, ResourceLimits(memory=256))
    assert group.exceeded() is None
    for name in ("memory.max", "memory.swap.max"):
        (tmp_path / name).write_text("max\n")
    cgroup._limit_memory(tmp_path, 256)
    assert (tmp_path / "memory.max").read_text() == str((256 + 128) * 1024 * 1024)
    assert (tmp_path / "memory.swap.max").read_text() == "0"
    events = tmp_path / "memory.events"
    events.write_text("low 0\nhigh 0\nmax 7\noom 1\noom_kill 0\n")
    assert group.exceeded() is None
    events.write_text("low 0\nhigh 0\nmax 7\noom 1\noom_kill 2\n")
    assert group.exceeded() == Exceeded(limit="memory", allowed=256, used=384)


def test_a_command_that_the_kernel_ended_at_a_limit_is_reported_with_it(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    hit = Exceeded(limit="memory", allowed=64, used=192)
    monkeypatch.setattr(cgroup.ControlGroup, "exceeded", lambda _: hit)
    assert run(box, "kill -9 $$").exceeded == hit
