"""Repairs: what a name turned out to be, in the same file as the rest of the memory."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from runtrue.memory.scope import Scope
from runtrue.memory.store import Store, storable

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


class Memory(Store):
    """The repairs in the file `memory.db` of a home.

    `kind` keeps apart what can be wanted under one name: a `path` in what an operation answers,
    an `argument` that it takes.
    """

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
            **{"found": storable(found), "fixer": fixer, "fingerprint": fingerprint},
            **{"own": _OWN, "now": time.time()},
        }
        self._write(lambda db: db.execute(_REMEMBER, values))

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


def normalised(wanted: str) -> str:
    """A name or a path as it is kept: `$.userName`, `user_name` and `User name` are one."""
    return " ".join(_WORD.findall(wanted)).casefold() or wanted.strip()


def _key(kind: str, scope: Scope, wanted: str) -> tuple[str, ...]:
    return tuple(map(storable, (kind, scope.host, scope.operation, normalised(wanted))))
