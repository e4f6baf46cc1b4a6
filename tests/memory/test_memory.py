"""The memory: what was verified is recalled, by every process, and no file of it stops a run."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.database import migrate
from runtrue.memory import Counts, DebugMemory, KnownName, Memory, OperationScope
from runtrue.memory.migrations import MIGRATIONS

USERS = OperationScope("api.example.org", "GET /users/{}")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "home") as memory:
        yield memory
        assert memory.trouble is None


def learn(
    memory: Memory, wanted: str, found: str, fixer: str = "fields", kind: str = "path"
) -> None:
    memory.remember(USERS, wanted, found, fixer=fixer, fingerprint="f1", kind=kind)


def test_what_was_verified_is_recalled_for_this_operation_only(memory: Memory) -> None:
    learn(memory, "username", "$.login")
    assert memory.recall(USERS, "username") == "$.login"
    assert memory.recall(USERS, "biography") is None
    assert memory.recall(OperationScope(USERS.host, "GET /teams/{}"), "username") is None
    assert memory.recall(OperationScope("other.example.org", USERS.operation), "username") is None


@pytest.mark.parametrize(
    "spelling", ["$.userName", "user_name", "User name", "$['user-name']", "USER.NAME", "userName"]
)
def test_a_name_is_recalled_in_any_spelling(memory: Memory, spelling: str) -> None:
    learn(memory, "$.user_name", "$.login")
    assert memory.recall(USERS, spelling) == "$.login"


@pytest.mark.parametrize(
    "other", ["$.items[1].name", "$.items.name", "$.item[0].name", "名前", "$"]
)
def test_other_names_are_others(memory: Memory, other: str) -> None:
    learn(memory, "$.items[0].name", "$.data[0].title")
    assert memory.recall(USERS, other) is None


def test_an_argument_and_a_path_of_one_name_are_kept_apart(memory: Memory) -> None:
    learn(memory, "tz", "timezone", kind="argument")
    learn(memory, "tz", "$.zone")
    assert memory.recall(USERS, "tz", kind="argument") == "timezone"
    assert memory.recall(USERS, "tz") == "$.zone"


def test_what_was_verified_last_holds(memory: Memory) -> None:
    learn(memory, "username", "$.login")
    learn(memory, "username", "$.login", fixer="memory")
    learn(memory, "username", "$.handle")
    (repair,) = memory.list()
    assert (repair.found, repair.uses, repair.fixer) == ("$.handle", 0, "fields")


def test_a_use_counts_when_it_was_verified_and_keeps_who_found_it(memory: Memory) -> None:
    begin = time.time()
    learn(memory, "username", "$.login", fixer="model")
    memory.recall(USERS, "username")
    for _ in range(2):
        memory.remember(USERS, "username", "$.login", fixer="memory")
    (repair,) = memory.list()
    assert begin <= repair.verified_at <= time.time()
    assert repair == KnownName(
        scope=USERS,
        kind="path",
        wanted="username",
        found="$.login",
        fixer="model",
        fingerprint="f1",
        uses=2,
        verified_at=repair.verified_at,
    )


def test_verifying_something_again_makes_it_the_first_of_the_list(memory: Memory) -> None:
    for name in ("a", "b", "a"):
        learn(memory, name, f"$.{name}")
    assert [repair.wanted for repair in memory.list()] == ["a", "b"]


def test_forgetting_drops_one_repair_and_tells_whether_there_was_one(memory: Memory) -> None:
    learn(memory, "username", "$.login")
    learn(memory, "biography", "$.bio")
    assert memory.forget(USERS, "username")
    assert not memory.forget(USERS, "username")
    assert [repair.wanted for repair in memory.list()] == ["biography"]


def test_looking_makes_no_file(tmp_path: Path) -> None:
    with Memory(tmp_path / "home") as memory:
        assert memory.recall(USERS, "username") is None
        assert memory.list() == ()
        assert not memory.forget(USERS, "username")
    assert list(tmp_path.iterdir()) == []


def test_it_is_there_for_the_next_one_who_opens_it(tmp_path: Path) -> None:
    with Memory(tmp_path) as memory:
        learn(memory, "username", "$.login")
    with Memory(tmp_path) as memory:
        assert memory.recall(USERS, "username") == "$.login"
        memory.close()
        assert memory.recall(USERS, "username") == "$.login"


@given(st.text(st.characters()), st.text(st.characters()))
def test_any_name_and_any_path_can_be_kept(
    tmp_path_factory: pytest.TempPathFactory, wanted: str, found: str
) -> None:
    with Memory(tmp_path_factory.mktemp("home")) as memory:
        memory.remember(OperationScope(wanted, found), wanted, found, fixer="fields")
        recalled = memory.recall(OperationScope(wanted, found), wanted)
        assert memory.trouble is None
        assert recalled == found.encode(errors="replace").decode()


# -- the file -----------------------------------------------------------------------------------

SCHEMA = {
    "repairs": "kind host operation wanted found fixer fingerprint uses verified_at",
    "shapes": "id shape error_type cause message",
    "words": "word shapes",
    "shape_words": "word shape",
    "failures": "id fingerprint shape language file test project path seen first_seen last_seen "
    "last_run learning escalated code_shape",
    "sightings": "failure run attempt",
    "fixes": "id fingerprint shape error_type cause language diff template template_key fixer "
    "tried passed project path first_seen last_seen learning escalated",
    "trials": "fix run passed",
    "misfits": "project shape fix",
    "edits": "cause kind run",
    "applied": "run project path before",
    "pulled": "log n",
}
INDEXES = {
    *("failures_by_shape", "failures_by_file", "failures_by_test", "failures_by_age"),
    *("fixes_by_fingerprint", "fixes_by_template", "fixes_by_age", "proven_fixes"),
    "applied_by_project",
}


def test_the_final_schema_is_exactly_this(memory: Memory) -> None:
    learn(memory, "username", "$.login")
    db = sqlite3.connect(memory.path)
    try:
        known = "SELECT name FROM sqlite_master WHERE type = ? AND sql IS NOT NULL"
        tables = {name for (name,) in db.execute(known, ("table",))} - {"sqlite_sequence"}
        columns = {
            table: " ".join(column[1] for column in db.execute(f"PRAGMA table_info({table})"))
            for table in tables
        }
        assert columns == SCHEMA
        assert {name for (name,) in db.execute(known, ("index",))} == INDEXES
        strict = "SELECT name FROM pragma_table_list WHERE strict"
        assert {name for (name,) in db.execute(strict)} == tables
        assert db.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    finally:
        db.close()


def test_a_file_of_the_first_version_is_brought_up_to_date(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "memory.db", isolation_level=None)
    migrate(db, MIGRATIONS[:1])
    db.execute("INSERT INTO repairs VALUES ('path', 'h', 'GET /', 'a', '$.b', 'fields', '', 0, 1)")
    db.close()
    with Memory(tmp_path) as memory, DebugMemory(tmp_path) as debug:
        assert memory.recall(OperationScope("h", "GET /"), "a") == "$.b"
        assert debug.counts() == Counts(0, 0)
        assert memory.trouble is debug.trouble is None


WRITER = """
import sys
from pathlib import Path
from runtrue.memory import Memory, OperationScope

print("ready", flush=True)
sys.stdin.readline()
with Memory(Path(sys.argv[1])) as memory:
    for n in range(50):
        memory.remember(OperationScope("h", "GET /"), f"{sys.argv[2]} {n}", "$.x", fixer="fields")
        memory.remember(OperationScope("h", "GET /"), "shared", f"$.{sys.argv[2]}", fixer="fields")
    print(memory.trouble, flush=True)
"""


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, home, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("ann", "ben", "cay")
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    said = [writer.communicate("go\n", timeout=120)[0] for writer in writers]
    assert said == ["None\n"] * 3
    with Memory(home) as memory:
        assert len(memory.list()) == 3 * 50 + 1
        assert memory.recall(OperationScope("h", "GET /"), "shared") in ("$.ann", "$.ben", "$.cay")


def _garbage(path: Path) -> None:
    path.write_bytes(b"this is no database" * 100)


def _directory(path: Path) -> None:
    path.mkdir()


def _newer(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.close()


def _other_tables(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE repairs (somebody_elses TEXT)")
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    db.close()


def _older_tables(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE repairs (somebody_elses TEXT)")
    db.close()


@pytest.mark.parametrize("spoil", [_garbage, _directory, _newer, _other_tables, _older_tables])
def test_a_file_that_cannot_be_used_is_told_in_one_sentence_and_stops_nothing(
    tmp_path: Path, spoil: object
) -> None:
    assert callable(spoil)
    spoil(tmp_path / "memory.db")
    with Memory(tmp_path) as memory:
        assert memory.recall(USERS, "username") is None
        assert memory.trouble is not None
        assert str(tmp_path / "memory.db") in memory.trouble
        told = memory.trouble
        learn(memory, "username", "$.login")
        assert (memory.list(), memory.forget(USERS, "username")) == ((), False)
        assert memory.trouble == told


def test_a_home_that_cannot_be_made_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with Memory(tmp_path / "home") as memory:
        learn(memory, "username", "$.login")
        assert memory.trouble is not None
        assert "cannot be written" in memory.trouble


def test_a_locked_file_is_waited_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory(tmp_path) as memory:
        learn(memory, "username", "$.login")
    holder = sqlite3.connect(tmp_path / "memory.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr("runtrue.memory.store._PATIENCE", 0.2)
    try:
        with Memory(tmp_path) as memory:
            # Reading goes on beside a writer.
            assert memory.recall(USERS, "username") == "$.login"
            begin = time.monotonic()
            for _ in range(20):
                learn(memory, "username", "$.handle")
            assert time.monotonic() - begin < 2
            assert memory.trouble is not None
            assert "locked" in memory.trouble
    finally:
        holder.close()


def test_a_new_file_that_is_locked_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = sqlite3.connect(tmp_path / "memory.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr("runtrue.memory.store._PATIENCE", 0.1)
    try:
        with Memory(tmp_path) as memory:
            learn(memory, "username", "$.login")
            assert memory.trouble is not None
            assert "locked" in memory.trouble
    finally:
        holder.close()


def test_a_file_that_may_not_be_written_can_still_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory(tmp_path) as memory:
        learn(memory, "username", "$.login")
    connect = sqlite3.connect
    # As it is for everyone but root, who may write everything.
    monkeypatch.setattr(
        "runtrue.memory.store.sqlite3.connect",
        lambda path, **options: connect(f"file:{path}?mode=ro", uri=True, **options),
    )
    with Memory(tmp_path) as memory:
        assert memory.recall(USERS, "username") == "$.login"
        learn(memory, "username", "$.handle")
        assert memory.trouble is not None
        assert "readonly" in memory.trouble
