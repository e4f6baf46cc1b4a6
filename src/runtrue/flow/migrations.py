"""The journal's tables, as ordered migrations. Append to the list; never edit what has shipped."""

from __future__ import annotations

import sqlite3

from runtrue import database
from runtrue.errors import JournalError

MIGRATIONS = [
    # 1: runs, their finished steps, their events, and what they asked
    """
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
    ) STRICT;
    CREATE INDEX runs_by_age ON runs (created_at);

    CREATE TABLE steps (
        run_id      TEXT NOT NULL REFERENCES runs (id),
        seq         INTEGER NOT NULL,
        node        TEXT NOT NULL,
        input_hash  TEXT NOT NULL,
        result      BLOB,
        finished_at REAL,
        PRIMARY KEY (run_id, seq)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE events (
        run_id TEXT NOT NULL REFERENCES runs (id),
        n      INTEGER NOT NULL,
        at     REAL NOT NULL,
        node   TEXT NOT NULL,
        kind   TEXT NOT NULL,
        data   TEXT NOT NULL,
        PRIMARY KEY (run_id, n)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE questions (
        run_id      TEXT NOT NULL REFERENCES runs (id),
        seq         INTEGER NOT NULL,
        question    TEXT NOT NULL,
        asked_at    REAL NOT NULL,
        answer      TEXT,
        answered_at REAL,
        PRIMARY KEY (run_id, seq)
    ) STRICT, WITHOUT ROWID;
    """,
    # 2: the parts of a step that is not over: items of a batch, nodes of a workflow within it
    """
    CREATE TABLE parts (
        run_id      TEXT NOT NULL REFERENCES runs (id),
        seq         INTEGER NOT NULL,
        name        TEXT NOT NULL,
        input_hash  TEXT NOT NULL,
        result      BLOB,
        finished_at REAL,
        PRIMARY KEY (run_id, seq, name)
    ) STRICT, WITHOUT ROWID;
    """,
    # 3: runs in a state, such as those that wait, are found without reading all
    """
    CREATE INDEX runs_by_state ON runs (state, created_at);
    """,
    # 4: the runs that a run has begun: one for each line of a file
    """
    CREATE TABLE children (
        parent TEXT NOT NULL REFERENCES runs (id),
        n      INTEGER NOT NULL,
        run_id TEXT NOT NULL REFERENCES runs (id),
        label  TEXT NOT NULL,
        PRIMARY KEY (parent, n)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX children_by_run ON children (run_id);
    """,
    # 5: workflows that run at times of the clock
    """
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
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE ticks (
        schedule TEXT NOT NULL,
        at       REAL NOT NULL,
        run_id   TEXT NOT NULL,
        PRIMARY KEY (schedule, at)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX ticks_by_run ON ticks (run_id);
    """,
]


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables up to date."""
    try:
        database.migrate(connection, MIGRATIONS)
    except database.NewerFile as error:
        raise JournalError(
            f"the journal cannot be used: {error}; upgrade runtrue or set RUNTRUE_HOME to another "
            "directory"
        ) from error
