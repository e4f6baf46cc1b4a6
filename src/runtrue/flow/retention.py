"""Retention: which runs are old enough to be deleted, and how the journal gets smaller by it.

A run that waits for a person, is being driven or could be resumed is kept, and so is one whose
diff was not applied: those only go after a year.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runtrue.flow.rows import read_owner
from runtrue.flow.run_table import RunTable

DAY = 86_400.0
#: Days that something is kept which somebody may still want to go on with.
_UNFINISHED_DAYS = 365.0

_DELETE = (
    "DELETE FROM steps WHERE run_id = ?",
    "DELETE FROM parts WHERE run_id = ?",
    "DELETE FROM events WHERE run_id = ?",
    "DELETE FROM questions WHERE run_id = ?",
    "DELETE FROM ticks WHERE run_id = ?",
    "DELETE FROM children WHERE run_id = ?",
    "DELETE FROM children WHERE parent = ?",
    "DELETE FROM runs WHERE id = ?",
)
_OLD = """
    SELECT id, owner FROM runs
    WHERE state <> 'waiting' AND coalesce(ended_at, created_at) < CASE
        WHEN result IS NULL AND state <> 'cancelled' THEN :unfinished
        WHEN coalesce({diff}, '') <> '' AND coalesce({applied}, '') NOT IN ('1', 'true')
            THEN :unfinished
        ELSE :finished
    END
    AND id NOT IN (SELECT id FROM runs ORDER BY created_at DESC, rowid DESC LIMIT :last)
    ORDER BY created_at
"""


@dataclass(frozen=True, slots=True)
class RunRetention:
    """How long runs are kept: for so many days, and the latest in any case."""

    days: float = 90.0
    last: int = 200


class RetentionTable(RunTable):
    """What the journal does to forget."""

    def old_runs(self, retention: RunRetention, now: float) -> list[str]:
        """Return the ids of runs that need not be kept, oldest first."""
        diff, applied = (self._db.text_at("result", key) for key in ("'diff'", "'applied'"))
        with self._db.explained("read"):
            rows = self._db.execute(
                _OLD.format(diff=diff, applied=applied),
                {
                    "finished": now - retention.days * DAY,
                    "unfinished": now - max(retention.days, _UNFINISHED_DAYS) * DAY,
                    "last": retention.last,
                },
            ).fetchall()
        return [run_id for run_id, owner in rows if not (owner and read_owner(owner).is_alive())]

    def knows(self, run_id: str) -> bool:
        """True if there is a run with this id."""
        with self._db.explained("read"):
            found = self._db.execute("SELECT 1 FROM runs WHERE id = ?", (run_id,)).fetchone()
        return found is not None

    def delete(self, run_ids: Sequence[str]) -> None:
        """Delete runs with all that belongs to them, all or none."""
        with self._transaction(synced=True) as db:
            for statement in _DELETE:
                for run_id in run_ids:
                    db.execute(statement, (run_id,))

    def vacuum(self) -> None:
        """Give the space of what was deleted back, if that is worth it and nobody writes."""
        self._db.vacuum()
