"""Servers that are started before anybody asks: used once, or ended by themselves."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from runtrue.checks import CommandCheck
from runtrue.fixers.search.early_servers import EarlyServers
from runtrue.fixers.search.forked_prover import Prover, Unprovable
from runtrue.fixers.search.trial import End
from runtrue.loop import Workplace
from tests.fixers.search.test_forked_prover import FAST, FIXED, SHOP_FILES, TESTS, place

BROKEN = CommandCheck(name="tests", command="python -m no_such_module")


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def _pid(early: EarlyServers) -> int:
    """The process of a server, once it runs; nobody has taken it."""
    servers = await early._ready
    assert servers.fresh is not None
    return servers.fresh.pid


def test_what_was_started_ahead_proves_as_what_was_not(tmp_path: Path) -> None:
    workplace = place(tmp_path, SHOP_FILES)

    async def run() -> tuple[int, int, End]:
        early = EarlyServers(TESTS, workplace, FAST)
        started = await _pid(early)
        assert early.fits(TESTS, workplace)
        async with Prover.open(TESTS, workplace, FAST, early) as prover:
            assert not early.fits(TESTS, workplace)  # it is for one
            assert prover.servers.fresh is not None
            used = prover.servers.fresh.pid
            return started, used, (await prover.prove({"shop.py": FIXED})).end

    started, used, end = asyncio.run(run())
    assert started == used
    assert end is End.PASSED
    assert not _is_alive(started)


def test_it_is_for_one_command_in_one_place(tmp_path: Path) -> None:
    workplace = place(tmp_path / "one", SHOP_FILES)
    other = place(tmp_path / "other", SHOP_FILES)

    async def run() -> None:
        early = EarlyServers(TESTS, workplace, FAST)
        assert not early.fits(TESTS, other)
        assert not early.fits(BROKEN, workplace)
        await early.close()
        assert not early.fits(TESTS, workplace)

    asyncio.run(run())


def test_what_nobody_asks_for_ends_with_the_run(tmp_path: Path) -> None:
    workplace = place(tmp_path, SHOP_FILES)
    started = asyncio.run(_started(workplace))
    assert not _is_alive(started)


async def _started(workplace: Workplace) -> int:
    return await _pid(EarlyServers(TESTS, workplace, FAST))


def test_files_that_change_before_it_is_used_are_read_as_they_then_are(tmp_path: Path) -> None:
    workplace = place(tmp_path, SHOP_FILES)

    async def run() -> bool:
        early = EarlyServers(TESTS, workplace, FAST)
        await _pid(early)
        (workplace.root / "shop.py").write_text(FIXED)
        async with Prover.open(TESTS, workplace, FAST, early) as prover:
            return not (await prover.baseline()).failing

    assert asyncio.run(run())


def test_why_it_cannot_be_started_is_told_to_who_asks(tmp_path: Path) -> None:
    workplace = place(tmp_path, SHOP_FILES)

    async def run() -> None:
        early = EarlyServers(BROKEN, workplace, FAST)
        async with Prover.open(BROKEN, workplace, FAST, early):
            raise AssertionError

    with pytest.raises(Unprovable, match=r"before pytest started: .*no_such_module"):
        asyncio.run(run())


def test_tests_that_were_run_already_are_not_run_again_for_who_goes_on(tmp_path: Path) -> None:
    workplace = place(tmp_path, SHOP_FILES)

    async def run() -> tuple[bool, End]:
        early = EarlyServers(TESTS, workplace, FAST)
        failing = await early.failing(FAST.longest)
        assert failing == frozenset({"test_shop.py::test_total"})
        assert early.fits(TESTS, workplace)
        measured = early.prover
        async with Prover.open(TESTS, workplace, FAST, early) as prover:
            baseline = await prover.baseline()
            assert {case.test for case in baseline.failing} == failing
            return prover is measured, (await prover.prove({"shop.py": FIXED})).end

    assert asyncio.run(run()) == (True, End.PASSED)


@pytest.mark.parametrize("change", ["edited", "added", "removed"])
def test_they_are_of_no_use_where_files_are_not_as_they_were(tmp_path: Path, change: str) -> None:
    workplace = place(tmp_path, {**SHOP_FILES, "prices.txt": "3"})

    async def run() -> None:
        early = EarlyServers(TESTS, workplace, FAST)
        await early.failing(FAST.longest)
        if change == "edited":
            (workplace.root / "shop.py").write_text(FIXED)
        elif change == "added":
            (workplace.root / "other.py").touch()
        else:
            (workplace.root / "prices.txt").unlink()
        assert not early.fits(TESTS, workplace)
        started = await _pid(early)
        early.abandon()
        await early.close()
        assert not _is_alive(started)

    asyncio.run(run())


def test_what_tests_write_is_gone_before_anybody_goes_on(tmp_path: Path) -> None:
    writes = "def test_written(): open('written', 'w').close(); assert False\n"
    workplace = place(tmp_path, {"test_writes.py": writes})

    async def run() -> bool:
        early = EarlyServers(TESTS, workplace, FAST)
        assert await early.failing(FAST.longest)
        fits = early.fits(TESTS, workplace)
        await early.close()
        return fits

    assert asyncio.run(run())
    assert not (workplace.root / "written").exists()


def test_what_fails_by_turns_is_not_known_to_fail(tmp_path: Path) -> None:
    turns = tmp_path / "turns"
    turns.mkdir()
    by_turns = f"""
        import os, tempfile

        def test_steady(): assert False

        def test_by_turns():
            tempfile.mkstemp(dir={str(turns)!r})
            assert len(os.listdir({str(turns)!r})) % 2 == 0
    """
    workplace = place(tmp_path / "project", {"test_turns.py": by_turns})
    assert asyncio.run(_failing(workplace)) == frozenset({"test_turns.py::test_steady"})


def test_servers_that_end_while_they_are_waited_for_do_not_end_who_waits(tmp_path: Path) -> None:
    async def run() -> None:
        early = EarlyServers(TESTS, place(tmp_path, SHOP_FILES), FAST)
        early._ready.cancel()
        assert await early.failing(FAST.longest) is None

    asyncio.run(run())


def test_nobody_loses_patience_while_the_tests_are_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtrue.fixers.search.early_servers._PATIENCE", 0.001)
    assert asyncio.run(_failing(place(tmp_path, SHOP_FILES)))


def test_where_tests_cannot_be_run_this_way_nothing_is_known(tmp_path: Path) -> None:
    assert asyncio.run(_failing(place(tmp_path, SHOP_FILES), BROKEN)) is None


async def _failing(workplace: Workplace, check: CommandCheck = TESTS) -> frozenset[str] | None:
    early = EarlyServers(check, workplace, FAST)
    try:
        return await early.failing(FAST.longest)
    finally:
        await early.close()


def test_nobody_waits_for_what_broke_before_it_could_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*about: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("runtrue.fixers.search.servers.Servers", broken)

    async def run() -> frozenset[str] | None:
        early = EarlyServers(TESTS, place(tmp_path, SHOP_FILES), FAST)
        async with asyncio.timeout(10):
            return await early.failing(1.0)

    assert asyncio.run(run()) is None
