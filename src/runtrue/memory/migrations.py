"""The memory's tables, as ordered migrations. Append to the list; never edit what has shipped."""

from __future__ import annotations

MIGRATIONS = [
    # 1: what was wanted of an operation, and what it turned out to be called there
    """
    CREATE TABLE repairs (
        kind        TEXT NOT NULL,
        host        TEXT NOT NULL,
        operation   TEXT NOT NULL,
        wanted      TEXT NOT NULL,
        found       TEXT NOT NULL,
        fixer       TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        uses        INTEGER NOT NULL DEFAULT 0,
        verified_at REAL NOT NULL,
        PRIMARY KEY (kind, host, operation, wanted)
    ) STRICT, WITHOUT ROWID;
    """,
]
