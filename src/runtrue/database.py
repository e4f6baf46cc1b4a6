"""SQLite files that several processes share: write-ahead logging, transactions, migrations."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class NewerFile(Exception):
    """The file was written by a newer runtrue."""

    def __init__(self, version: int, known: int) -> None:
        super().__init__(
            f"it was written by a newer runtrue (schema {version}, this one knows {known})"
        )


def use_wal(connection: sqlite3.Connection, *, patience: float) -> None:
    """Switch to write-ahead logging.

    SQLite does not wait here as it does elsewhere: when several processes open a new file at
    once, all but one find it locked.
    """
    give_up = time.monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
        time.sleep(0.01)


def migrate(connection: sqlite3.Connection, migrations: Sequence[str]) -> None:
    """Bring the tables up to date, one transaction for each migration. Raises NewerFile."""
    version = _version(connection)
    if version > len(migrations):
        raise NewerFile(version, len(migrations))
    while version < len(migrations):
        with transaction(connection):
            # Another process may have migrated while this one waited for the lock.
            version = _version(connection)
            if version < len(migrations):
                for statement in migrations[version].split(";\n"):
                    connection.execute(statement)
                version += 1
                connection.execute(f"PRAGMA user_version = {version}")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Write in one transaction, which is rolled back on any exception."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        # SQLite has already rolled back after some errors, a full disk among them.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)
