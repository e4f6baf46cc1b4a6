"""The memory's file: opened when it is needed, and never a reason for a run to fail.

The memory makes runs better and is needed by none: a file that cannot be read or written is
reported once, in `Store.trouble`, and from then on nothing is remembered or recalled.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from runtrue import database
from runtrue.atomic_file import private_file
from runtrue.errors import JournalError
from runtrue.memory.migrations import MIGRATIONS

if TYPE_CHECKING:
    from runtrue.memory.shared import SharedLog

T = TypeVar("T")

#: Seconds to wait for other processes that are writing.
_PATIENCE = 5.0


class Store:
    """The file `memory.db` in a home, made when there is something to remember."""

    def __init__(self, home: Path, *, shared: SharedLog | None = None) -> None:
        self.path = home / "memory.db"
        self._shared = shared
        #: Why the file could not be used, in one sentence.
        self.trouble: str | None = None
        self._db: sqlite3.Connection | None = None
        # A loop's nodes run in several threads, one after the other as a rule.
        self._lock = threading.RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def pull(self) -> None:
        """Copy what others have shared since the last time."""
        if self._shared is None:
            return
        from runtrue.memory.shared import import_entries, last_number

        name = self._shared.name
        known = self._read(lambda db: last_number(db, name)) or 0
        entries = self._share(lambda log: log.entries(known))
        if entries:
            self._write(lambda db: import_entries(db, name, entries))

    def _share(self, use: Callable[[SharedLog], T]) -> T | None:
        """Use the log of a shared database, if there is one; a failure is noted, not raised."""
        if self._shared is None or self.trouble is not None:
            return None
        try:
            return use(self._shared)
        except JournalError as error:
            self.trouble = f"the shared memory cannot be used: {error}; runs go on without memory"
            return None

    def _read(self, ask: Callable[[sqlite3.Connection], T]) -> T | None:
        """Read from the file, if there is one: a question must not make it."""
        return self._guarded("read", lambda: ask(self._opened()) if self.path.exists() else None)

    def _write(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        def done() -> T:
            with database.transaction(self._opened()) as db:
                return work(db)

        return self._guarded("written", done)

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            private_file(self.path)
            db = sqlite3.connect(
                self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
            try:
                database.use_wal(db, patience=_PATIENCE)
                db.execute("PRAGMA synchronous = NORMAL")
                database.migrate(db, MIGRATIONS)
            except BaseException:
                db.close()
                raise
            self._db = db
        return self._db

    def _guarded(self, verb: str, work: Callable[[], T]) -> T | None:
        with self._lock:
            # Once is enough: another try would wait for the same lock again.
            if self.trouble is not None:
                return None
            try:
                return work()
            except (sqlite3.Error, OSError, database.NewerFile) as error:
                self.trouble = (
                    f"the memory {self.path} cannot be {verb}: {error}; runs continue without it "
                    "until it is repaired or moved away, or RUNTRUE_HOME names another directory"
                )
                return None


def storable(text: str) -> str:
    """Return text without halves of surrogate pairs, which SQLite refuses."""
    return text.encode(errors="replace").decode()
