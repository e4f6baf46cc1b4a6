"""The memory: one SQLite file of verified repairs.

It makes runs better and is needed by none: a file that cannot be read or written is told once, in
`Memory.trouble`, and from then on nothing is remembered or recalled.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from runtrue import database
from runtrue.memory.migrations import MIGRATIONS
from runtrue.memory.scope import Scope

T = TypeVar("T")

#: Seconds to wait for other processes that are writing.
_PATIENCE = 5.0
#: The fixer whose repairs came out of this memory.
_OWN = "memory"

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")

_REMEMBER = """
    INSERT INTO repairs (kind, host, operation, wanted, found, fixer, fingerprint, verified_at)
    VALUES (:kind, :host, :operation, :wanted, :found, :fixer, :fingerprint, :now)
    ON CONFLICT DO UPDATE SET
        uses = CASE WHEN found IS NOT :found THEN 0 ELSE uses + (:fixer = :own) END,
        fixer = CASE WHEN found IS :found AND :fixer = :own THEN fixer ELSE :fixer END,
        fingerprint = CASE WHEN :fingerprint = '' THEN fingerprint ELSE :fingerprint END,
        found = :found,
        verified_at = :now
"""
_RECALL = """
    SELECT found FROM repairs WHERE kind = ? AND host = ? AND operation = ? AND wanted = ?
"""
_FORGET = """
    DELETE FROM repairs WHERE kind = ? AND host = ? AND operation = ? AND wanted = ?
"""
_LIST = """
    SELECT host, operation, kind, wanted, found, fixer, fingerprint, uses, verified_at
    FROM repairs ORDER BY verified_at DESC, kind, host, operation, wanted
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What was wanted, and what it turned out to be. `uses` counts the verified reuses."""

    scope: Scope
    kind: str
    wanted: str
    found: str
    fixer: str
    fingerprint: str
    uses: int
    verified_at: float


class Memory:
    """The file `memory.db` in a home, made when there is something to be remembered.

    `kind` keeps apart what can be wanted under one name: a `path` in what an operation answers,
    an `argument` that it takes.
    """

    def __init__(self, home: Path) -> None:
        self.path = home / "memory.db"
        #: Why the file could not be used, in one sentence.
        self.trouble: str | None = None
        self._db: sqlite3.Connection | None = None

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def recall(self, scope: Scope, wanted: str, *, kind: str = "path") -> str | None:
        """What this was found to be when it was last verified."""
        key = _key(kind, scope, wanted)
        row = self._read(lambda db: db.execute(_RECALL, key).fetchone())
        return str(row[0]) if row else None

    def remember(
        self,
        scope: Scope,
        wanted: str,
        found: str,
        *,
        fixer: str,
        fingerprint: str = "",
        kind: str = "path",
    ) -> None:
        """Keep what a run that has passed has proven. What was verified last holds.

        The fixer is `memory` where the run used what had been recalled: that is one more use.
        """
        key = _key(kind, scope, wanted)
        values: dict[str, str | float] = {
            **dict(zip(("kind", "host", "operation", "wanted"), key, strict=True)),
            **{"found": _storable(found), "fixer": fixer, "fingerprint": fingerprint},
            **{"own": _OWN, "now": time.time()},
        }
        self._guarded("written", lambda: self._opened().execute(_REMEMBER, values))

    def forget(self, scope: Scope, wanted: str, *, kind: str = "path") -> bool:
        """Drop one repair; whether there was one."""
        key = _key(kind, scope, wanted)
        return bool(self._read(lambda db: db.execute(_FORGET, key).rowcount))

    def list(self) -> tuple[Repair, ...]:
        """All repairs, those first that were verified last."""
        rows = self._read(lambda db: db.execute(_LIST).fetchall()) or ()
        names = ("kind", "wanted", "found", "fixer", "fingerprint", "uses", "verified_at")
        return tuple(
            Repair(scope=Scope(host, operation), **dict(zip(names, rest, strict=True)))
            for host, operation, *rest in rows
        )

    def _read(self, ask: Callable[[sqlite3.Connection], T]) -> T | None:
        """Ask the file, unless there is none: looking must not make one."""
        return self._guarded("read", lambda: ask(self._opened()) if self.path.exists() else None)

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            db = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
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
        # Once is enough: another try would wait for the same lock again.
        if self.trouble is not None:
            return None
        try:
            return work()
        except (sqlite3.Error, OSError, database.NewerFile) as error:
            self.trouble = (
                f"the memory {self.path} cannot be {verb}: {error}; runs go on without it, "
                "until it is mended, moved away, or RUNTRUE_HOME names another directory"
            )
            return None


def normalised(wanted: str) -> str:
    """A name or a path as it is kept: `$.userName`, `user_name` and `User name` are one."""
    return " ".join(_WORD.findall(wanted)).casefold() or wanted.strip()


def _key(kind: str, scope: Scope, wanted: str) -> tuple[str, ...]:
    return tuple(map(_storable, (kind, scope.host, scope.operation, normalised(wanted))))


def _storable(text: str) -> str:
    """Text without halves of surrogate pairs, which SQLite refuses."""
    return text.encode(errors="replace").decode()
