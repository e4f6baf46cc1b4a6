"""However sessions end, the processes of their servers end with them, and all those started."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtrue.workflow.mcp import Sessions, StdioServer, ToolError
from tests.test_process import await_death, is_alive
from tests.workflow.mcp.support import SECONDS, appears, run, tiny

ROOT = Path(__file__).parents[3]
#: What closing may take: a server gets a moment to end by itself, and another after it was told.
FEW_SECONDS = 10


async def spawned(sessions: Sessions, server: str) -> list[int]:
    """The ids of a server and of what it started, which left its process group."""
    answer = await sessions.call(server, "spawn", {}, timeout=SECONDS)
    assert all(is_alive(pid) for pid in answer.result)
    return list(answer.result)


def all_end(pids: list[int]) -> None:
    assert pids
    for pid in pids:
        await_death(pid)


@pytest.mark.parametrize("manners", ["decent", "stubborn"])
def test_nothing_is_left_after_closing(manners: str) -> None:
    async def use(sessions: Sessions) -> tuple[list[int], float]:
        return await spawned(sessions, manners), time.monotonic()

    pids, before = run(tiny(manners), use)
    assert time.monotonic() - before < FEW_SECONDS
    all_end(pids)


def test_many_servers_are_closed_at_once() -> None:
    servers: dict[str, StdioServer] = {f"s{n}": tiny("stubborn") for n in range(5)}

    async def use(sessions: Sessions) -> tuple[list[int], float]:
        groups = await asyncio.gather(*(spawned(sessions, name) for name in servers))
        return [pid for group in groups for pid in group], time.monotonic()

    pids, before = run(servers, use)
    assert time.monotonic() - before < FEW_SECONDS
    all_end(pids)


def test_nothing_is_left_after_a_cancel_in_the_middle_of_a_call(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    pids: list[int] = []

    async def hold() -> None:
        async with Sessions({"decent": tiny(env={"FLAG": str(flag)})}, environment={}) as sessions:
            pids.extend(await spawned(sessions, "decent"))
            await sessions.call("decent", "hang", {}, timeout=SECONDS)

    async def cancelled() -> None:
        task = asyncio.create_task(hold())
        await appears(flag)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    all_end(pids)


def test_nothing_is_left_after_a_cancel_while_closing() -> None:
    pids: list[int] = []

    async def hold() -> None:
        async with Sessions({"stubborn": tiny("stubborn")}, environment={}) as sessions:
            pids.extend(await spawned(sessions, "stubborn"))

    async def cancelled() -> None:
        task = asyncio.create_task(hold())
        while not pids:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    all_end(pids)


def test_nothing_is_left_of_a_server_that_is_still_starting() -> None:
    async def use(sessions: Sessions) -> list[int]:
        printed = ""
        while not printed:
            with pytest.raises(ToolError, match="did not start") as raised:
                await sessions.tools("mute", timeout=0.1)
            printed = raised.value.stderr
        return [int(printed)]

    all_end(run(tiny("mute"), use))


@pytest.fixture
def holder() -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """Another process that holds two sessions, and the ids of all that hangs on it."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.workflow.mcp.holder"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield process, json.loads(line)
        process.kill()


def test_nothing_is_left_after_ctrl_c(holder: tuple[subprocess.Popen[str], list[int]]) -> None:
    process, pids = holder
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=SECONDS)
    assert "KeyboardInterrupt" in errors.splitlines()[-1]
    all_end(pids)


def test_nothing_is_left_after_we_were_killed(
    holder: tuple[subprocess.Popen[str], list[int]],
) -> None:
    process, pids = holder
    process.kill()
    process.wait(SECONDS)
    all_end(pids)
