"""The memory's tables, as ordered migrations. Append to the list; never edit what has shipped."""

from __future__ import annotations

import sqlite3

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


class NewerFile(Exception):
    """The file was written by a newer runtrue."""


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables up to date, one transaction for each migration."""
    version = _version(connection)
    if version > len(MIGRATIONS):
        raise NewerFile(
            f"it was written by a newer runtrue (schema {version}, "
            f"this one knows {len(MIGRATIONS)})"
        )
    while version < len(MIGRATIONS):
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another process may have migrated while this one waited for the lock.
            version = _version(connection)
            if version < len(MIGRATIONS):
                for statement in MIGRATIONS[version].split(";\n"):
                    connection.execute(statement)
                version += 1
                connection.execute(f"PRAGMA user_version = {version}")
            connection.execute("COMMIT")
        except BaseException:
            # SQLite has already rolled back after some errors, a full disk among them.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)
