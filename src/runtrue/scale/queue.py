"""Queues: where runs wait for a worker, from the side of those who put them there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy
from dbos import DBOSClient

from runtrue.errors import QueueFull
from runtrue.flow import PostgresDatabase, RunRow
from runtrue.scale.engine import APPLICATION, SEGMENT, migrate_engine, version_of
from runtrue.scale.worker_table import WorkerRow, WorkerTable

#: So many runs are put on a queue in one transaction.
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """The runs on a queue: how many wait, for how long the first of them has, and are driven."""

    waiting: int = 0
    driven: int = 0
    #: Seconds. None: none waits.
    oldest: float | None = None


class Queue:
    """The queues of a database, for as long as a command needs them."""

    def __init__(self, url: str) -> None:
        self._db = PostgresDatabase(url)
        self._workers = WorkerTable(self._db)
        self._client: DBOSClient | None = None
        self._engine: sqlalchemy.Engine | None = None

    def __enter__(self) -> Queue:
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.destroy()
        self._db.close()

    def of_run(self, run_id: str) -> str | None:
        """Return the queue that a run belongs to, if it is one for workers."""
        with self._db.explained("read"):
            return self._workers.queue_of(run_id)

    def submit(
        self,
        run: RunRow,
        queue: str | None = None,
        *,
        force: bool = False,
        priority: int | None = None,
    ) -> str:
        """Have a worker go on with a run, on its queue or on another; return which one.

        `force` allows a side effect that was interrupted to be fired again. Of the runs on a queue,
        those with the lowest `priority` go first; the priority stays with the run.
        """
        return self.submit_all([run], queue, force=force, priority=priority)[0]

    def submit_all(
        self,
        runs: Sequence[RunRow],
        queue: str | None = None,
        *,
        force: bool = False,
        priority: int | None = None,
    ) -> list[str]:
        """Have workers go on with runs; return the queue of each."""
        queues: list[str] = []
        for start in range(0, len(runs), _AT_ONCE):
            some = runs[start : start + _AT_ONCE]
            with self._db.explained("written"):
                found = self._workers.next_segments([run.id for run in some], queue, priority)
                client, engine = self._connected()
                with engine.begin() as connection:
                    for run in some:
                        segment = found[run.id]
                        client.enqueue_in_transaction(
                            connection,
                            {
                                "workflow_name": SEGMENT,
                                "queue_name": segment.queue,
                                "workflow_id": f"{run.id}-{segment.number}",
                                "app_version": version_of(run),
                                "priority": segment.priority,
                            },
                            run.id,
                            force,
                        )
                        queues.append(segment.queue)
        return queues

    def adopt(self, run_id: str, queue: str) -> None:
        """Note that a run belongs to a queue, without putting it there."""
        with self._db.explained("written"):
            self._workers.next_segments([run_id], queue, None)

    def must_have_room(self, queue: str) -> None:
        """Raise QueueFull if as many runs wait on a queue as its workers allow."""
        with self._db.explained("read"):
            most = self._workers.max_waiting(queue)
        if most is None:
            return
        waiting = self.depths().get(queue, QueueDepth()).waiting
        if waiting >= most:
            raise QueueFull(
                f"{waiting} runs wait on queue {queue}, and its workers allow {most}: try again "
                "later, or start more workers (`runtrue worker status`)"
            )

    def workers(self) -> list[WorkerRow]:
        """Return the workers that are at work or were lately."""
        with self._db.explained("read"):
            return self._workers.rows()

    def depths(self) -> dict[str, QueueDepth]:
        """Return how many runs wait and are driven on each queue that has any."""
        if not self._has_engine():
            return {}
        waits = "FILTER (WHERE status = 'ENQUEUED')"
        with self._db.explained("read"):
            rows = self._db.execute(
                f"SELECT queue_name, count(*) {waits}, count(*) FILTER (WHERE status = 'PENDING'), "
                "CAST(extract(epoch FROM clock_timestamp()) "
                f"- min(created_at) {waits} / 1000.0 AS DOUBLE PRECISION) "
                "FROM dbos.workflow_status WHERE name = ? AND status IN ('ENQUEUED', 'PENDING') "
                "GROUP BY 1 ORDER BY 1",
                (SEGMENT,),
            ).fetchall()
        return {
            queue: QueueDepth(waiting, driven, None if oldest is None else max(0.0, oldest))
            for queue, waiting, driven, oldest in rows
        }

    def _has_engine(self) -> bool:
        row = self._db.execute("SELECT to_regclass('dbos.workflow_status')").fetchone()
        return bool(row and row[0] is not None)

    def _connected(self) -> tuple[DBOSClient, sqlalchemy.Engine]:
        if self._client is None or self._engine is None:
            if not self._has_engine():
                migrate_engine(self._db)
            # A command needs no more, and opens none before it puts something on a queue.
            url = sqlalchemy.make_url(self._db.location).set(drivername="postgresql+psycopg")
            self._engine = sqlalchemy.create_engine(url, pool_size=1, max_overflow=1)
            self._client = DBOSClient(
                system_database_engine=self._engine,
                application_name=APPLICATION,
                lazy=True,
                retry_connection_errors=False,
            )
        return self._client, self._engine
