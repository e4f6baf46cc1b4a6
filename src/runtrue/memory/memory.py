"""Known names: what a name turned out to be, in the same file as the rest of the memory."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from runtrue.memory.scope import OperationScope
from runtrue.memory.store import Store, storable

#: The fixer whose names came out of this memory.
_OWN = "memory"

#: What a machine tells others of a name.
_SHARED = ("kind", "host", "operation", "wanted", "found", "fixer", "fingerprint")

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
_THIS = "FROM repairs WHERE kind = ? AND host = ? AND operation = ? AND wanted = ?"
_LIST = """
    SELECT host, operation, kind, wanted, found, fixer, fingerprint, uses, verified_at
    FROM repairs ORDER BY verified_at DESC, kind, host, operation, wanted
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownName:
    """A name that was wanted, and the one that was found. `uses` counts the verified reuses."""

    scope: OperationScope
    kind: str
    wanted: str
    found: str
    fixer: str
    fingerprint: str
    uses: int
    verified_at: float


class Memory(Store):
    """The known names in the file `memory.db` of a home.

    `kind` separates what one name can mean: a `path` in the response of an operation, or an
    `argument` that it takes.
    """

    def recall(self, scope: OperationScope, wanted: str, *, kind: str = "path") -> str | None:
        """Return the name that was found when this one was last verified."""
        key = _key(kind, scope, wanted)
        row = self._read(lambda db: db.execute(f"SELECT found {_THIS}", key).fetchone())
        return str(row[0]) if row else None

    def remember(
        self,
        scope: OperationScope,
        wanted: str,
        found: str,
        *,
        fixer: str,
        fingerprint: str = "",
        kind: str = "path",
    ) -> None:
        """Store a name that a passing run has proven; the one verified last counts.

        The fixer is `memory` if the run used what had been recalled: that is one more use.
        """
        key = _key(kind, scope, wanted)
        values: dict[str, str | float] = {
            **dict(zip(("kind", "host", "operation", "wanted"), key, strict=True)),
            **{"found": storable(found), "fixer": fixer, "fingerprint": fingerprint},
            **{"own": _OWN, "now": time.time()},
        }
        self._write(lambda db: db.execute(_REMEMBER, values))
        if fixer != _OWN:
            self._share(lambda log: log.add_name({name: values[name] for name in _SHARED}))

    def forget(self, scope: OperationScope, wanted: str, *, kind: str = "path") -> bool:
        """Drop one name; return whether there was one."""
        key = _key(kind, scope, wanted)
        return bool(self._read(lambda db: db.execute(f"DELETE {_THIS}", key).rowcount))

    def list(self) -> tuple[KnownName, ...]:
        """Return all names, the last verified first."""
        rows = self._read(lambda db: db.execute(_LIST).fetchall()) or ()
        names = ("kind", "wanted", "found", "fixer", "fingerprint", "uses", "verified_at")
        return tuple(
            KnownName(scope=OperationScope(host, operation), **dict(zip(names, rest, strict=True)))
            for host, operation, *rest in rows
        )


def normalised(wanted: str) -> str:
    """Normalise a name or a path: `$.userName`, `user_name` and `User name` are one."""
    return " ".join(_WORD.findall(wanted)).casefold() or wanted.strip()


def _key(kind: str, scope: OperationScope, wanted: str) -> tuple[str, ...]:
    return tuple(map(storable, (kind, scope.host, scope.operation, normalised(wanted))))
