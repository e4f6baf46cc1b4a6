"""Queues: where runs wait for a worker, from the side of those who put them there."""

from __future__ import annotations

import sqlalchemy
from dbos import DBOSClient

from runtrue.flow import PostgresDatabase, RunRow
from runtrue.scale.engine import APPLICATION, SEGMENT, migrate_engine, version_of
from runtrue.scale.worker_table import WorkerRow, WorkerTable


class Queue:
    """The queues of a database, for as long as a command needs them."""

    def __init__(self, url: str) -> None:
        self._db = PostgresDatabase(url)
        self._workers = WorkerTable(self._db)
        self._client: DBOSClient | None = None

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
        with self._db.explained("written"):
            name, segment, rank = self._workers.next_segment(run.id, queue, priority)
            self._engine().enqueue(
                {
                    "workflow_name": SEGMENT,
                    "queue_name": name,
                    "workflow_id": f"{run.id}-{segment}",
                    "app_version": version_of(run),
                    "priority": rank,
                },
                run.id,
                force,
            )
        return name

    def adopt(self, run_id: str, queue: str) -> None:
        """Note that a run belongs to a queue, without putting it there."""
        with self._db.explained("written"):
            self._workers.next_segment(run_id, queue, None)

    def workers(self) -> list[WorkerRow]:
        """Return the workers that are at work or were lately."""
        with self._db.explained("read"):
            return self._workers.rows()

    def depths(self) -> dict[str, dict[str, int]]:
        """Return for each queue how many segments wait and how many are being driven."""
        found: dict[str, dict[str, int]] = {}
        if not self._has_engine():
            return found
        with self._db.explained("read"):
            rows = self._db.execute(
                "SELECT queue_name, status, count(*) FROM dbos.workflow_status WHERE name = ? "
                "AND status IN ('ENQUEUED', 'PENDING') GROUP BY 1, 2 ORDER BY 1, 2",
                (SEGMENT,),
            ).fetchall()
        for queue, status, count in rows:
            counts = found.setdefault(queue, {"waiting": 0, "driven": 0})
            counts["waiting" if status == "ENQUEUED" else "driven"] = count
        return found

    def _has_engine(self) -> bool:
        row = self._db.execute("SELECT to_regclass('dbos.workflow_status')").fetchone()
        return bool(row and row[0] is not None)

    def _engine(self) -> DBOSClient:
        if self._client is None:
            if not self._has_engine():
                migrate_engine(self._db)
            # A command needs no more, and opens none before it puts something on a queue.
            url = sqlalchemy.make_url(self._db.location).set(drivername="postgresql+psycopg")
            engine = sqlalchemy.create_engine(url, pool_size=1, max_overflow=1)
            self._client = DBOSClient(
                system_database_engine=engine,
                application_name=APPLICATION,
                lazy=True,
                retry_connection_errors=False,
            )
        return self._client
