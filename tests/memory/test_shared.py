"""The log of a shared database: every machine copies it once, and what is newer counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from runtrue.flow import Journal, PostgresDatabase
from runtrue.memory import DebugMemory, Memory
from runtrue.memory.shared import SharedLog
from tests.memory.test_debug import SHOP, finding, learn
from tests.memory.test_memory import USERS


@pytest.fixture
def log(database_url: str) -> SharedLog:
    Journal(database_url).close()  # which makes the tables
    return SharedLog(database_url, shares=True)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_a_name_goes_to_the_others_and_the_one_verified_last_counts(
    log: SharedLog, tmp_path: Path, stack: ExitStack
) -> None:
    ada, grace = (
        stack.enter_context(Memory(tmp_path / name, shared=log)) for name in ("ada", "grace")
    )
    ada.remember(USERS, "username", "$.login", fixer="fields")
    grace.pull()
    assert grace.recall(USERS, "username") == "$.login"
    grace.remember(USERS, "username", "$.handle", fixer="fields")
    ada.pull()
    assert ada.recall(USERS, "username") == "$.handle"


def test_a_name_that_was_only_recalled_is_not_told_again(
    log: SharedLog, tmp_path: Path, stack: ExitStack
) -> None:
    ada = stack.enter_context(Memory(tmp_path / "ada", shared=log))
    ada.remember(USERS, "username", "$.login", fixer="memory")
    assert log.entries(0) == []


def test_who_does_not_share_may_read(log: SharedLog, database_url: str, tmp_path: Path) -> None:
    reader = SharedLog(database_url, shares=False)
    with Memory(tmp_path / "ada", shared=log) as ada:
        ada.remember(USERS, "username", "$.login", fixer="fields")
    with Memory(tmp_path / "grace", shared=reader) as grace:
        grace.pull()
        assert grace.recall(USERS, "username") == "$.login"
        grace.remember(USERS, "mail", "$.email", fixer="fields")
    assert [json.loads(entry.data)["wanted"] for entry in log.entries(0)] == ["username"]


def test_a_log_copied_twice_changes_nothing(
    log: SharedLog, tmp_path: Path, stack: ExitStack
) -> None:
    ada = stack.enter_context(DebugMemory(tmp_path / "ada", shared=log))
    learn(ada)
    ada.record_applied("r1", SHOP, {})
    for _ in range(2):
        with DebugMemory(tmp_path / "grace", shared=log) as grace:
            grace.pull()
            (fix,) = grace.fixes()
            assert (fix.fixer, fix.tried, fix.passed) == ("agent", 1, 1)


def test_a_database_made_new_is_copied_from_its_beginning(
    log: SharedLog, database_url: str, tmp_path: Path, stack: ExitStack
) -> None:
    ada = stack.enter_context(Memory(tmp_path / "ada", shared=log))
    for wanted in ("one", "two", "three"):
        ada.remember(USERS, wanted, f"$.{wanted}", fixer="fields")
    grace = stack.enter_context(Memory(tmp_path / "grace", shared=log))
    grace.pull()
    db = PostgresDatabase(database_url)
    db.execute("TRUNCATE memory_log RESTART IDENTITY")
    db.close()
    ada.remember(USERS, "four", "$.four", fixer="fields")
    grace.pull()
    assert grace.recall(USERS, "four") == "$.four"


def test_what_was_learnt_in_a_run_that_is_taken_back_is_gone_everywhere(
    log: SharedLog, tmp_path: Path, stack: ExitStack
) -> None:
    ada, grace = (
        stack.enter_context(DebugMemory(tmp_path / name, shared=log)) for name in ("ada", "grace")
    )
    learn(ada)
    ada.record_applied("r1", SHOP, {})
    grace.pull()
    assert grace.lookup(finding().fingerprint)
    ada.unlearn("r1")
    grace.pull()
    assert grace.fixes() == ()


def test_machines_that_write_at_once_leave_no_entry_out(
    log: SharedLog, database_url: str, tmp_path: Path
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def write(machine: int) -> None:
        for number in range(10):
            log.add_name(
                {
                    **{"kind": "path", "host": "h", "operation": "o", "found": "$.x"},
                    **{"wanted": f"{machine} {number}", "fixer": "fields", "fingerprint": ""},
                }
            )

    reader = SharedLog(database_url, shares=False)
    with Memory(tmp_path / "grace", shared=reader) as grace, ThreadPoolExecutor(4) as pool:
        writing = [pool.submit(write, machine) for machine in range(4)]
        while not all(one.done() for one in writing):
            grace.pull()
        grace.pull()
        assert len(grace.list()) == 40


FIX = {
    **{"fingerprint": "f", "shape": "s", "error_type": "E", "cause": "x", "language": "python"},
    **{"diff": "d", "template": None, "template_key": "k", "fixer": "agent"},
    **{"project": "p", "path": "q"},
}


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("fix", "{"),
        ("fix", "[]"),
        ("fix", "{}"),
        ("fix", "[" * 100_000),
        ("fix", json.dumps({**FIX, "shape": {}})),
        ("fix", json.dumps({**FIX, "diff": 2**70})),
        ("fix", json.dumps({**FIX, "diff": "\ud800"})),
        ("fix", json.dumps({**FIX, "diff": "x" * 2_000_000})),
        ("name", "{}"),
        ("name", json.dumps({"wanted": None})),
        ("odd", "{}"),
    ],
    ids=range(11),
)
def test_an_entry_that_somebody_made_up_hides_no_others(
    log: SharedLog, database_url: str, tmp_path: Path, kind: str, data: str
) -> None:
    db = PostgresDatabase(database_url)
    good = json.dumps({**FIX, "shape": "good"})
    for what, run, text in (
        *((kind, "r0", data), ("applied", "r0", "{}")),
        *(("fix", "r1", good), ("applied", "r1", "{}")),
    ):
        db.execute(
            "INSERT INTO memory_log (at, what, run_id, data) VALUES (1, ?, ?, ?)", (what, run, text)
        )
    db.close()
    with DebugMemory(tmp_path / "ada", shared=log) as ada:
        ada.pull()
        assert ada.trouble is None
        assert len(ada.fixes()) == 1
