"""The journal's tables in one SQLite file, in WAL mode.

Ordinary steps are committed with `synchronous=NORMAL`: a killed process loses nothing, and a power
cut may lose the last steps of a run, which are then done again. What must not be lost even then
(that a side effect is about to fire, a question, an answer, an outcome) is synced to the disk.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from runtrue import database
from runtrue.atomic_file import private_file
from runtrue.errors import JournalError
from runtrue.flow.migrations import migrate

if TYPE_CHECKING:
    from runtrue.flow.database import Values

#: Seconds to wait for other processes that are writing.
_PATIENCE = 30.0
#: The share of a file that may be empty before it is written again without the gaps.
_GAPS = 0.2


class SqliteDatabase:
    """The file at `path`, made when it is not there."""

    #: A transaction holds the whole file.
    locked = ""

    def __init__(self, path: Path) -> None:
        self.location = path
        self.name = str(path)
        with self.explained("opened"):
            private_file(path)
            self._db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
            try:
                database.use_wal(self._db, patience=_PATIENCE)
                self._db.execute("PRAGMA synchronous = NORMAL")
                self._db.execute("PRAGMA foreign_keys = OFF")
                migrate(self._db)
            except BaseException:
                self._db.close()
                raise

    def text_at(self, column: str, key: str) -> str:
        """Return SQL for the text at a key of a column's JSON; `key` is SQL too."""
        return f"CAST(json_extract({column}, '$.' || {key}) AS TEXT)"

    def json_at(self, column: str, key: str) -> str:
        """Return SQL for the JSON at a key of a column's JSON; `key` is SQL too."""
        return f"json_quote(json_extract({column}, '$.' || {key}))"

    def execute(self, statement: str, values: Values = ()) -> sqlite3.Cursor:
        """Execute one statement; outside of a transaction it is one by itself."""
        return self._db.execute(statement, values)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write in one transaction, which is rolled back on any exception."""
        with database.transaction(self._db):
            yield

    @contextmanager
    def synced(self) -> Iterator[None]:
        """Commit what is written within to the disk itself."""
        self._db.execute("PRAGMA synchronous = FULL")
        try:
            yield
        finally:
            self._db.execute("PRAGMA synchronous = NORMAL")

    @contextmanager
    def explained(self, verb: str) -> Iterator[None]:
        """Turn what SQLite and the file system raise into one sentence."""
        try:
            yield
        except (sqlite3.OperationalError, OSError) as error:
            raise JournalError(
                f"the journal {self.name} cannot be {verb}: {error}; "
                "free space or set RUNTRUE_HOME to a writable directory, then continue with "
                "`runtrue runs resume`"
            ) from error
        except (sqlite3.Error, msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise JournalError(
                f"the journal {self.name} is damaged: {error}; move it away and runtrue will "
                "create a new one"
            ) from error

    def now(self) -> float:
        """Return the time by the machine's clock."""
        return time.time()

    def vacuum(self) -> None:
        """Give the space of what was deleted back, if that is worth it and nobody writes."""
        (gaps,), (pages,) = (
            self._db.execute(f"PRAGMA {name}").fetchone()
            for name in ("freelist_count", "page_count")
        )
        if gaps <= _GAPS * pages:
            return
        try:
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.OperationalError:
            # Another process is at work in the file, or the disk is full: another time.
            return

    def close(self) -> None:
        """Close the file; SQLite folds the write-ahead log back into it."""
        self._db.close()
