"""The workers of a database: who is at work, who has fallen silent, and which runs are queued."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runtrue.flow import Owner, PostgresDatabase, to_json

#: Seconds without a beat after which a worker is lost, and its runs are taken over.
SILENCE = 5.0
#: The clock of the database: those of machines differ.
_NOW = "extract(epoch FROM clock_timestamp())"


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """One worker: `silent` is how many seconds ago it was last heard of."""

    id: str
    host: str
    pid: int
    queue: str
    concurrency: int
    version: str
    state: str
    silent: float


@dataclass(frozen=True, slots=True)
class NextSegment:
    """Where a run is to go on: its queue, the number of the segment, and its priority."""

    queue: str
    number: int
    priority: int


class WorkerTable:
    """What workers tell each other through the database."""

    def __init__(self, db: PostgresDatabase) -> None:
        self._db = db

    def register(
        self,
        worker: str,
        owner: Owner,
        queue: str,
        concurrency: int,
        ver: str,
        max_waiting: int | None = None,
    ) -> None:
        """Note a new worker, and forget those of long ago."""
        self._db.execute(f"DELETE FROM workers WHERE beat_at < {_NOW} - 2592000")
        self._db.execute(
            "INSERT INTO workers (id, owner, host, pid, queue, concurrency, version, max_waiting, "
            "state, started_at, beat_at) "
            f"VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'working', {_NOW}, {_NOW})",
            (worker, to_json(owner), owner.host, owner.pid, queue, concurrency, ver, max_waiting),
        )

    def beat(self, worker: str) -> bool:
        """Note that a worker lives; return False if the others have given it up meanwhile."""
        kept = self._db.execute(
            f"UPDATE workers SET beat_at = {_NOW} WHERE id = ? "
            "AND state IN ('working', 'draining')",
            (worker,),
        ).rowcount
        return bool(kept)

    def set_state(self, worker: str, state: str) -> None:
        """Note what a worker does now."""
        self._db.execute(
            f"UPDATE workers SET state = ?, beat_at = {_NOW} WHERE id = ?", (state, worker)
        )

    def give_up_silent(self) -> list[str]:
        """Mark workers that have fallen silent as lost; return all whose runs are to be freed."""
        self._db.execute(
            "UPDATE workers SET state = 'lost' WHERE state IN ('working', 'draining') "
            f"AND beat_at < {_NOW} - ?",
            (SILENCE,),
        )
        rows = self._db.execute("SELECT id FROM workers WHERE state = 'lost'").fetchall()
        return [worker for (worker,) in rows]

    def is_gone(self, owner: Owner) -> bool:
        """True if a process was a worker and is lost, or has stopped."""
        row = self._db.execute(
            "SELECT 1 FROM workers WHERE owner = ? AND state NOT IN ('working', 'draining')",
            (to_json(owner),),
        ).fetchone()
        return row is not None

    def cancelled(self, runs: Sequence[str]) -> list[str]:
        """Return those of some runs that were cancelled."""
        rows = self._db.execute(
            "SELECT id FROM runs WHERE state = 'cancelled' AND id = ANY(?)", (list(runs),)
        ).fetchall()
        return [run_id for (run_id,) in rows]

    def rows(self) -> list[WorkerRow]:
        """Return the workers that are at work or were within the last hour."""
        rows = self._db.execute(
            "SELECT id, host, pid, queue, concurrency, version, state, "
            f"CAST({_NOW} - beat_at AS DOUBLE PRECISION) FROM workers "
            f"WHERE beat_at > {_NOW} - 3600 ORDER BY started_at, id"
        ).fetchall()
        return [WorkerRow(*row) for row in rows]

    def max_waiting(self, queue: str) -> int | None:
        """Return how many runs may wait on a queue, as its latest worker says."""
        row = self._db.execute(
            "SELECT max_waiting FROM workers WHERE queue = ? ORDER BY started_at DESC, id LIMIT 1",
            (queue,),
        ).fetchone()
        return None if row is None or row[0] is None else int(row[0])

    def queue_of(self, run_id: str) -> str | None:
        """Return the queue that a run belongs to."""
        row = self._db.execute("SELECT queue FROM queued WHERE run_id = ?", (run_id,)).fetchone()
        return None if row is None else str(row[0])

    def next_segments(
        self, runs: Sequence[str], queue: str | None, priority: int | None
    ) -> dict[str, NextSegment]:
        """Note that runs are put on their queue again, by their ids.

        Queue and priority are as before, unless they are given.
        """
        rows = self._db.execute(
            "INSERT INTO queued (run_id, queue, segment, priority) "
            "SELECT run, coalesce(:queue, 'default'), 1, coalesce(:priority, 100) "
            "FROM unnest(CAST(:runs AS TEXT[])) AS run "
            "ON CONFLICT (run_id) DO UPDATE SET segment = queued.segment + 1, "
            "queue = coalesce(CAST(:queue AS TEXT), queued.queue), "
            "priority = coalesce(CAST(:priority AS INTEGER), queued.priority) "
            "RETURNING run_id, queue, segment, priority",
            {"runs": list(runs), "queue": queue, "priority": priority},
        ).fetchall()
        return {run_id: NextSegment(*rest) for run_id, *rest in rows}

    def count_working(self, queue: str) -> int:
        """Return how many workers of a queue are at work."""
        row = self._db.execute(
            "SELECT count(*) FROM workers WHERE queue = ? AND state = 'working' "
            f"AND beat_at > {_NOW} - ?",
            (queue, SILENCE),
        ).fetchone()
        return int(row[0])

    def has_due_schedule(self) -> bool:
        """True if the tick of a schedule has come."""
        row = self._db.execute(
            f"SELECT 1 FROM schedules WHERE paused = 0 AND next_at <= {_NOW} LIMIT 1"
        ).fetchone()
        return row is not None

    def scheduled_and_lost(self, seconds: float) -> list[tuple[str, str]]:
        """Return runs that a schedule began so long ago and nobody put on a queue, with that."""
        rows = self._db.execute(
            "SELECT r.id, s.queue FROM ticks t JOIN runs r ON r.id = t.run_id "
            "JOIN schedules s ON s.name = t.schedule "
            f"WHERE r.state = 'running' AND r.fence = 0 AND r.created_at < {_NOW} - ? "
            "AND NOT EXISTS (SELECT 1 FROM dbos.workflow_status w "
            "WHERE w.workflow_uuid LIKE r.id || '-%')",
            (seconds,),
        ).fetchall()
        return [(run_id, queue) for run_id, queue in rows]

    def parents_to_end(self, queue: str, seconds: float) -> list[str]:
        """Return the parents of a queue whose children have all stopped for so many seconds."""
        rows = self._db.execute(
            "SELECT r.id FROM runs r JOIN queued q ON q.run_id = r.id WHERE r.state = 'running' "
            "AND r.owner IS NULL AND q.queue = ? "
            "AND EXISTS (SELECT 1 FROM children c WHERE c.parent = r.id) "
            "AND NOT EXISTS (SELECT 1 FROM children c JOIN runs k ON k.id = c.run_id "
            "WHERE c.parent = r.id AND (k.state IN ('running', 'waiting') "
            f"OR k.ended_at > {_NOW} - ?))",
            (queue, seconds),
        ).fetchall()
        return [run_id for (run_id,) in rows]
