"""The shared log: what one machine has learnt, for all that use the same database.

Each machine copies what is new in the log into its own `memory.db`, and looks things up there
alone. A fix is logged when it is verified, and counts for others once it is applied in a project
whose fixes the user shares; it is withdrawn when the user takes it back.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from runtrue.flow import location_name
from runtrue.home import shared_database
from runtrue.memory import rows
from runtrue.trust import Agreements, TrustRequest
from runtrue.typed_data import decode_json

if TYPE_CHECKING:
    from runtrue.flow import PostgresDatabase

_YEAR = 365 * 86_400.0
#: Characters of an entry: far more than those of a diff as it is stored.
_LONGEST = 1_000_000
#: The lock that writers hold, so that numbers become visible in their order.
_WRITE_LOCK = 0x6D656D6F
_IMPORT_NAME = """
    INSERT INTO repairs (kind, host, operation, wanted, found, fixer, fingerprint, verified_at)
    VALUES (:kind, :host, :operation, :wanted, :found, :fixer, :fingerprint, :at)
    ON CONFLICT DO UPDATE SET found = :found, fixer = :fixer, verified_at = :at
    WHERE verified_at < :at
"""


class LogKind(StrEnum):
    """The kinds of entries."""

    FIX = "fix"
    APPLIED = "applied"
    WITHDRAWN = "withdrawn"
    NAME = "name"


class LogEntry(msgspec.Struct, frozen=True):
    """One entry: `data` is what was learnt, `at` the time by the clock of the database."""

    number: int
    at: float
    kind: str
    run_id: str
    #: As JSON. Anyone who can write to the database may have written it.
    data: str


class _Fix(msgspec.Struct, forbid_unknown_fields=True):
    """A fix, as `rows.shareable_fix` gives it."""

    fingerprint: str
    shape: str
    error_type: str
    cause: str
    language: str
    diff: str
    template: str | None
    template_key: str
    fixer: str
    project: str
    path: str


class _Name(msgspec.Struct, forbid_unknown_fields=True):
    """What a name turned out to be."""

    kind: str
    host: str
    operation: str
    wanted: str
    found: str
    fixer: str
    fingerprint: str


def sharing_request(project: Path) -> TrustRequest:
    """Return what a person agrees to who shares the fixes of a project."""
    item = "fixes applied here, and names learnt here, are used by everyone on your database"
    return TrustRequest.of(project, "share fixes", [item])


def shared_log(project: Path) -> SharedLog | None:
    """Return the log of the user's database, to write to if the user shares this project."""
    location = shared_database()
    if location is None:
        return None
    return SharedLog(location, shares=Agreements.of_user().covers(sharing_request(project)))


class SharedLog:
    """The log in the database at a URL. `shares` is False for those who may only read."""

    def __init__(self, location: str, *, shares: bool) -> None:
        self._location = location
        self.name = location_name(location)
        self._shares = shares

    def add_fix(self, run_id: str, fix: Mapping[str, Any]) -> None:
        """Log a fix that a run has verified; nobody uses it before it is applied."""
        with self._writing() as db:
            _append(db, LogKind.FIX, run_id, fix)

    def add_applied(self, run_id: str) -> None:
        """Log that what a run has changed is applied, if this project's fixes are shared."""
        if self._shares:
            with self._writing() as db:
                _append(db, LogKind.APPLIED, run_id, {})
                db.execute(
                    "DELETE FROM memory_log WHERE at < extract(epoch FROM now()) - ?", (_YEAR,)
                )

    def withdraw(self, run_id: str) -> None:
        """Log that what a run taught is taken back, if others may have it."""
        with self._writing() as db:
            known = "SELECT 1 FROM memory_log WHERE run_id = ? LIMIT 1"
            if db.execute(known, (run_id,)).fetchone() is not None:
                _append(db, LogKind.WITHDRAWN, run_id, {})

    def add_name(self, name: Mapping[str, Any]) -> None:
        """Log what a name turned out to be, if this project's fixes are shared."""
        if self._shares:
            with self._writing() as db:
                _append(db, LogKind.NAME, "", name)

    def entries(self, after: int) -> list[LogEntry]:
        """Return the entries that count, behind a number; fixes only of runs that were applied.

        All of them where the log does not reach that number: then it is a new one.
        """
        with self._opened() as db:
            row = db.execute("SELECT coalesce(max(n), 0) FROM memory_log").fetchone()
            begin = after if row is not None and after <= row[0] else 0
            found = db.execute(
                "SELECT l.n, l.at, coalesce(f.what, l.what), l.run_id, coalesce(f.data, l.data) "
                "FROM memory_log l LEFT JOIN memory_log f "
                "ON l.what = 'applied' AND f.what = 'fix' AND f.run_id = l.run_id AND f.n < l.n "
                "WHERE l.n > ? AND l.what <> 'fix' AND length(coalesce(f.data, l.data)) <= ? "
                "ORDER BY l.n, f.n",
                (begin, _LONGEST),
            ).fetchall()
        return [LogEntry(*row) for row in found]

    @contextmanager
    def _opened(self) -> Iterator[PostgresDatabase]:
        from runtrue.flow import PostgresDatabase

        db = PostgresDatabase(self._location)
        try:
            with db.explained("used"):
                yield db
        finally:
            db.close()

    @contextmanager
    def _writing(self) -> Iterator[PostgresDatabase]:
        with self._opened() as db, db.transaction():
            db.execute(f"SELECT pg_advisory_xact_lock({_WRITE_LOCK})")
            yield db


def _append(db: PostgresDatabase, kind: LogKind, run_id: str, data: Mapping[str, Any]) -> None:
    db.execute(
        "INSERT INTO memory_log (at, what, run_id, data) "
        "VALUES (extract(epoch FROM clock_timestamp()), ?, ?, ?)",
        (kind, run_id, msgspec.json.encode(dict(data)).decode()),
    )


def last_number(db: sqlite3.Connection, log: str) -> int:
    """Return the number up to which a memory has copied a log."""
    row = db.execute("SELECT n FROM pulled WHERE log = ?", (log,)).fetchone()
    return int(row[0]) if row else 0


def import_entries(db: sqlite3.Connection, log: str, entries: Iterable[LogEntry]) -> None:
    """Copy entries of a log into a memory. Done again, it changes nothing.

    What is not as runtrue writes it is passed over: one bad entry hides no others.
    """
    number = 0
    for entry in entries:
        number = entry.number
        with suppress(msgspec.MsgspecError, RecursionError):
            _import_entry(db, entry)
    if number:
        db.execute("INSERT OR REPLACE INTO pulled (log, n) VALUES (?, ?)", (log, number))


def _import_entry(db: sqlite3.Connection, entry: LogEntry) -> None:
    match entry.kind:
        case LogKind.FIX:
            fix = decode_json(entry.data, _Fix)
            id_ = rows.import_fix(db, msgspec.structs.asdict(fix), time.time())
            rows.add_trial(db, id_, entry.run_id, passed=True, now=time.time())
        case LogKind.WITHDRAWN:
            rows.unlearn(db, entry.run_id)
        case LogKind.NAME:
            name = decode_json(entry.data, _Name)
            db.execute(_IMPORT_NAME, {**msgspec.structs.asdict(name), "at": entry.at})
