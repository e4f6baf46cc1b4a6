"""Migrations: what the journal's tables are, and how an older file gets there."""

import sqlite3
from contextlib import ExitStack
from pathlib import Path

import pytest

from runtrue.errors import JournalError
from runtrue.flow import Journal
from runtrue.flow.migrations import MIGRATIONS, migrate
from tests.flow.child import Child

#: Changing this is changing what users' files hold: add a migration, never edit one.
SCHEMA = {
    "runs": """
        CREATE TABLE runs (
            id         TEXT PRIMARY KEY,
            kind       TEXT NOT NULL,
            title      TEXT NOT NULL,
            state      TEXT NOT NULL,
            fence      INTEGER NOT NULL DEFAULT 0,
            owner      TEXT,
            input      TEXT NOT NULL,
            result     TEXT,
            error      TEXT,
            created_at REAL NOT NULL,
            ended_at   REAL
        ) STRICT
    """,
    "runs_by_age": "CREATE INDEX runs_by_age ON runs (created_at)",
    "runs_by_state": "CREATE INDEX runs_by_state ON runs (state, created_at)",
    "steps": """
        CREATE TABLE steps (
            run_id      TEXT NOT NULL REFERENCES runs (id),
            seq         INTEGER NOT NULL,
            node        TEXT NOT NULL,
            input_hash  TEXT NOT NULL,
            result      BLOB,
            finished_at REAL,
            PRIMARY KEY (run_id, seq)
        ) STRICT, WITHOUT ROWID
    """,
    "events": """
        CREATE TABLE events (
            run_id TEXT NOT NULL REFERENCES runs (id),
            n      INTEGER NOT NULL,
            at     REAL NOT NULL,
            node   TEXT NOT NULL,
            kind   TEXT NOT NULL,
            data   TEXT NOT NULL,
            PRIMARY KEY (run_id, n)
        ) STRICT, WITHOUT ROWID
    """,
    "questions": """
        CREATE TABLE questions (
            run_id      TEXT NOT NULL REFERENCES runs (id),
            seq         INTEGER NOT NULL,
            question    TEXT NOT NULL,
            asked_at    REAL NOT NULL,
            answer      TEXT,
            answered_at REAL,
            PRIMARY KEY (run_id, seq)
        ) STRICT, WITHOUT ROWID
    """,
    "parts": """
        CREATE TABLE parts (
            run_id      TEXT NOT NULL REFERENCES runs (id),
            seq         INTEGER NOT NULL,
            name        TEXT NOT NULL,
            input_hash  TEXT NOT NULL,
            result      BLOB,
            finished_at REAL,
            PRIMARY KEY (run_id, seq, name)
        ) STRICT, WITHOUT ROWID
    """,
    "children": """
        CREATE TABLE children (
            parent TEXT NOT NULL REFERENCES runs (id),
            n      INTEGER NOT NULL,
            run_id TEXT NOT NULL REFERENCES runs (id),
            label  TEXT NOT NULL,
            PRIMARY KEY (parent, n)
        ) STRICT, WITHOUT ROWID
    """,
    "children_by_run": "CREATE UNIQUE INDEX children_by_run ON children (run_id)",
    "schedules": """
        CREATE TABLE schedules (
            name     TEXT PRIMARY KEY,
            cron     TEXT NOT NULL,
            zone     TEXT NOT NULL,
            queue    TEXT NOT NULL,
            missed   TEXT NOT NULL,
            paused   INTEGER NOT NULL,
            kind     TEXT NOT NULL,
            title    TEXT NOT NULL,
            input    TEXT NOT NULL,
            next_at  REAL NOT NULL
        ) STRICT, WITHOUT ROWID
    """,
    "ticks": """
        CREATE TABLE ticks (
            schedule TEXT NOT NULL,
            at       REAL NOT NULL,
            run_id   TEXT NOT NULL,
            PRIMARY KEY (schedule, at)
        ) STRICT, WITHOUT ROWID
    """,
    "ticks_by_run": "CREATE INDEX ticks_by_run ON ticks (run_id)",
}


def _schema(path: Path) -> dict[str, str]:
    db = sqlite3.connect(path)
    try:
        rows = db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    finally:
        db.close()
    return {name: _one_line(sql) for name, sql in rows}


def _one_line(sql: str) -> str:
    return " ".join(sql.split())


EXPECTED = {name: _one_line(sql) for name, sql in SCHEMA.items()}


def _pragma(path: Path, name: str) -> object:
    db = sqlite3.connect(path)
    try:
        return db.execute(f"PRAGMA {name}").fetchone()[0]
    finally:
        db.close()


def _at_version(path: Path, version: int) -> None:
    """A file as the runtrue of that version left it, with what it had recorded."""
    db = sqlite3.connect(path, isolation_level=None)
    try:
        for migration in MIGRATIONS[:version]:
            db.executescript(migration)
        db.execute(f"PRAGMA user_version = {version}")
        if version:
            db.execute(
                "INSERT INTO runs (id, kind, title, state, input, created_at) "
                "VALUES ('0ld0ld00', 'test', 'old', 'running', '{}', 1.5)"
            )
    finally:
        db.close()


def test_the_final_schema_is_exactly_this(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    Journal(path).close()
    assert _schema(path) == EXPECTED
    assert _pragma(path, "user_version") == len(MIGRATIONS)


def test_the_file_is_in_wal_mode_whoever_opens_it(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    Journal(path).close()
    assert _pragma(path, "journal_mode") == "wal"


@pytest.mark.parametrize("version", range(len(MIGRATIONS) + 1))
def test_a_file_of_any_earlier_version_is_brought_up_to_date_with_all_it_holds(
    tmp_path: Path, version: int
) -> None:
    path = tmp_path / "journal.db"
    _at_version(path, version)
    with Journal(path) as journal:
        assert [run.title for run in journal.runs()] == (["old"] if version else [])
    assert _schema(path) == EXPECTED
    assert _pragma(path, "user_version") == len(MIGRATIONS)


def test_a_file_of_a_newer_runtrue_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    _at_version(path, len(MIGRATIONS))
    newer = len(MIGRATIONS) + 1
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {newer}")
    db.close()
    expected = rf"newer runtrue \(schema {newer}, this one knows {len(MIGRATIONS)}\); upgrade"
    with pytest.raises(JournalError, match=expected):
        Journal(path)
    assert _pragma(path, "user_version") == newer


def test_a_migration_that_breaks_in_the_middle_leaves_nothing_of_itself(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    db = sqlite3.connect(path, isolation_level=None)
    try:
        db.execute("CREATE TABLE questions (somebody_elses TEXT)")
        with pytest.raises(sqlite3.OperationalError, match="questions already exists"):
            migrate(db)
        assert not db.in_transaction
    finally:
        db.close()
    assert list(_schema(path)) == ["questions"]
    assert _pragma(path, "user_version") == 0


def test_processes_that_open_a_new_file_at_the_same_time_all_find_it_ready(tmp_path: Path) -> None:
    for attempt in range(5):
        path = tmp_path / str(attempt) / "journal.db"
        with ExitStack() as stack:
            children = [
                stack.enter_context(Child(path, module="tests.flow.opener")) for _ in range(4)
            ]
            assert [child.line() for child in children] == ["ready"] * 4
            for child in children:
                child.send("open")
            assert [child.line() for child in children] == ["opened"] * 4
        assert _schema(path) == EXPECTED
