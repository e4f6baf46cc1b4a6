"""A worker: takes segments of runs from a queue and drives them, several at once.

It says once a second that it lives. Workers that have been silent for five seconds are lost: the
others take over what they were driving. What a lost worker still writes is refused by the journal's
fences; when it wakes up, it lets go of its runs.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from dbos import DBOS, DBOSConfig

from runtrue.errors import (
    JournalError,
    RunBusy,
    RuntrueError,
    RunWaiting,
    SideEffectInterrupted,
)
from runtrue.flow import Journal, LocalDispatcher, Owner, PostgresDatabase, RunRow, Segment
from runtrue.foreign_text import visible_name
from runtrue.scale.engine import APPLICATION, SEGMENT, migrate_engine, version_name
from runtrue.scale.metrics import QueueMetrics
from runtrue.scale.queue import Queue
from runtrue.scale.worker_table import WorkerTable
from runtrue.telemetry import meter

#: Seconds between two beats, and between two tries to reach the database when it is away.
_BEAT, _AGAIN = 1.0, 0.5
#: Seconds between two looks of a worker at its queue, at least, and how often in a second all of
#: its workers look together, at most.
_POLL, _POLLS = 0.05, 500
#: Seconds between two looks for runs that should be on a queue and are not.
_FORGOTTEN = 10.0
#: The name of the lock that a worker holds while it frees the runs of others.
_SWEEP_LOCK = 0x72756E75
#: Seconds that segments get to let go when they are to stop.
_LET_GO = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLimits:
    """How much of a queue goes on at once; the latest worker's hold for all of its workers."""

    #: Runs at once on each worker, and on all together.
    each: int = 4
    all: int | None = None
    #: So many runs may begin in so many seconds.
    rate: tuple[int, float] | None = None
    #: New runs are refused while so many wait.
    waiting: int | None = None


Prepare = Callable[[RunRow, bool], Segment]


class Worker:
    """Drives runs of one queue in this process; there can be one at a time."""

    def __init__(
        self,
        url: str,
        prepare: Prepare,
        *,
        queue: str,
        limits: QueueLimits,
        drain: float,
        say: Callable[[str], None],
        after: Callable[[RunRow], None] = lambda run: None,
    ) -> None:
        self.id = secrets.token_hex(4)
        self._url = url
        self._prepare = prepare
        self._queue = queue
        self._limits = limits
        self._drain = drain
        self._say = say
        #: Is given each run as it is after its segment.
        self._after = after
        found = meter()
        self._metrics = None if found is None else QueueMetrics(found, url, queue)
        self._owner = Owner.this_process()
        self._active: dict[str, tuple[asyncio.AbstractEventLoop, asyncio.Task[RunRow]]] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._let_go = threading.Event()
        self._ended = threading.Event()
        self._noticed: set[str] = set()
        self._look_for_forgotten = 0.0

    def stop(self) -> None:
        """Take no more segments; end those that are being driven, or let go of them in time."""
        self._stop.set()

    def run(self) -> None:
        """Work until `stop` is called."""
        db = PostgresDatabase(self._url)
        try:
            migrate_engine(db)
            table = WorkerTable(db)
            with db.explained("written"):
                table.register(
                    self.id,
                    self._owner,
                    self._queue,
                    self._limits.each,
                    version_name(),
                    self._limits.waiting,
                )
                workers = table.count_working(self._queue)
        finally:
            db.close()
        config: DBOSConfig = {
            "name": APPLICATION,
            "system_database_url": self._url,
            "application_version": version_name(),
            "executor_id": self.id,
            "log_level": "CRITICAL",
            "run_migrations": False,
            "use_listen_notify": False,
            # Each takes a connection: dequeuing, results and our own looks.
            "sys_db_pool_size": 5,
        }
        DBOS(config=config)

        @DBOS.workflow(name=SEGMENT, max_recovery_attempts=None)
        def segment(run_id: str, force: bool) -> None:
            self.drive(run_id, force)

        DBOS.listen_queues([self._queue])
        DBOS.launch()
        rate = self._limits.rate
        DBOS.register_queue(
            self._queue,
            worker_concurrency=self._limits.each,
            global_concurrency=self._limits.all,
            limiter={"limit": rate[0], "period": rate[1]} if rate else None,
            polling_interval_sec=max(_POLL, workers / _POLLS),
            on_conflict="always_update",
        )
        beats = threading.Thread(target=self._beat_until_ended, daemon=True)
        beats.start()
        most = f"{self._limits.each} at once"
        self._say(f"worker {self.id} takes runs of queue {self._queue}, {most}")
        self._stop.wait()
        with self._lock:
            count = len(self._active)
        self._say(f"worker {self.id} is stopping: {count} runs get {self._drain:g} s to end")
        timer = threading.Timer(self._drain, self._release_all)
        timer.daemon = True
        timer.start()
        DBOS.destroy(workflow_completion_timeout_sec=int(self._drain) + _LET_GO)
        timer.cancel()
        self._ended.set()
        beats.join(_LET_GO)
        self._say(f"worker {self.id} has stopped")

    # -- segments ---------------------------------------------------------------------------

    def drive(self, run_id: str, force: bool) -> None:
        """Drive one segment of a run. What becomes of it is in the journal, and nowhere else."""
        while True:
            try:
                with Journal(self._url) as journal:
                    self._drive(journal, run_id, force=force)
                    self._after(journal.find(run_id))
                    self._end_parent(journal, run_id)
                return
            except JournalError as error:
                if self._let_go.is_set():
                    return
                self._say(f"run {run_id}: {error}")
                self._let_go.wait(_AGAIN)
            except RunWaiting:
                return

    def _drive(self, journal: Journal, run_id: str, *, force: bool) -> None:
        run = journal.find(run_id)
        if run.is_over:
            return
        dispatcher = LocalDispatcher(journal, lambda run: self._prepare(run, force))
        begun = time.monotonic()
        try:
            run = asyncio.run(self._watched(dispatcher, run, force=force))
        except asyncio.CancelledError:
            if journal.find(run_id).is_over:
                self._say(f"run {run_id} was cancelled")
                return
            with Queue(self._url) as queue:
                queue.submit(run, force=force)
            self._say(f"run {run_id} was released for another worker")
        except SideEffectInterrupted as error:
            # Nobody looks over a worker's shoulder: the run says why it has stopped.
            journal.fail(journal.claim(run_id, self._owner), str(error))
            self._say(f"run {run_id}: {error}")
        except (JournalError, RunWaiting):
            raise
        except Exception as error:
            # The journal holds what happened; the next segment begins there.
            self._say(f"run {run_id}: {error}")
        else:
            self._say(f"run {run.id} {run.state}: {run.kind} {run.title}")
        finally:
            if self._metrics is not None:
                self._metrics.record_segment(run.kind, time.monotonic() - begun)

    def _end_parent(self, journal: Journal, run_id: str) -> None:
        """Have the parent of a run end, if this was the last of its children."""
        parent = journal.parent_of(run_id)
        if parent is None or not journal.find(run_id).is_stopped:
            return
        if not journal.has_open_children(parent):
            with Queue(self._url) as queue:
                queue.submit(journal.find(parent))

    async def _watched(self, dispatcher: LocalDispatcher, run: RunRow, *, force: bool) -> RunRow:
        take_over = run.owner is not None and self._is_free(run.id, run.owner)
        task = asyncio.ensure_future(dispatcher.run(run.id, force=force, take_over=take_over))
        with self._lock:
            if run.id in self._active:
                task.cancel()
                raise RunBusy(f"this worker already runs {run.id}")
            self._active[run.id] = asyncio.get_running_loop(), task
        try:
            if self._let_go.is_set():
                task.cancel()
            return await task
        finally:
            with self._lock:
                del self._active[run.id]

    def _is_free(self, run_id: str, owner: Owner) -> bool:
        """True if a run's owner is a worker that drives it no more."""
        if owner == self._owner:
            # From before the database went away.
            return run_id not in self._active
        db = PostgresDatabase(self._url)
        try:
            return WorkerTable(db).is_gone(owner)
        finally:
            db.close()

    def _release(self, runs: list[str]) -> None:
        with self._lock:
            found = [self._active[run_id] for run_id in runs if run_id in self._active]
        for loop, task in found:
            # A loop that has just closed has nothing left to cancel.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(task.cancel)

    def _release_all(self) -> None:
        self._let_go.set()
        self._release(list(self._active))

    # -- beats ------------------------------------------------------------------------------

    def _beat_until_ended(self) -> None:
        """Beat and look after the others; go on by a new connection when one is lost."""
        while not self._ended.is_set():
            try:
                db = PostgresDatabase(self._url)
                try:
                    with db.explained("written"):
                        self._beat_while_connected(WorkerTable(db), db)
                finally:
                    db.close()
            except Exception as error:
                # Whatever is wrong with a row: without beats, others would take the runs over.
                said = str(error) if isinstance(error, RuntrueError) else repr(error)
                self._say(visible_name(said))
                self._ended.wait(_AGAIN)

    def _beat_while_connected(self, table: WorkerTable, db: PostgresDatabase) -> None:
        is_draining = False
        while not self._ended.is_set():
            begun = time.monotonic()
            if not table.beat(self.id):
                self._say(f"worker {self.id} was silent for too long: others took over its runs")
                self._release(list(self._active))
                table.set_state(self.id, "working")
                is_draining = False
            if self._stop.is_set() and not is_draining:
                table.set_state(self.id, "draining")
                is_draining = True
            if self._active:
                self._release(table.cancelled(list(self._active)))
            if not is_draining:
                self._free_runs_of_the_lost(table, db)
                self._begin_scheduled(table)
                self._find_forgotten(table)
                self._notice_other_versions(db)
            self._ended.wait(max(0.0, _BEAT / 2 - (time.monotonic() - begun)))
        table.set_state(self.id, "stopped")

    def _free_runs_of_the_lost(self, table: WorkerTable, db: PostgresDatabase) -> None:
        lost = [worker for worker in table.give_up_silent() if worker != self.id]
        if not lost or self._stop.is_set():
            return
        if not db.execute("SELECT pg_try_advisory_lock(?)", (_SWEEP_LOCK,)).fetchone()[0]:
            return
        try:
            pending = DBOS.list_workflows(
                executor_id=lost, status="PENDING", load_input=False, load_output=False
            )
            for queue in {str(one.queue_name) for one in pending}:
                ids = [one.workflow_id for one in pending if one.queue_name == queue]
                DBOS.resume_workflows(ids, queue_name=queue)
            for worker in lost:
                table.set_state(worker, "gone")
            if pending:
                if self._metrics is not None:
                    self._metrics.record_takeovers(len(pending))
                self._say(f"worker {self.id} frees {len(pending)} runs of {', '.join(lost)}")
        finally:
            db.execute("SELECT pg_advisory_unlock(?)", (_SWEEP_LOCK,))

    def _begin_scheduled(self, table: WorkerTable) -> None:
        """Put the runs of schedules on their queues whose time has come."""
        if not table.has_due_schedule():
            return
        from runtrue.schedule import begin_due

        with Journal(self._url) as journal, Queue(self._url) as queue:
            for schedule, run_id in begin_due(journal):
                queue.submit(journal.find(run_id), schedule.queue)
                self._say(f"schedule {schedule.name} began run {run_id}")

    def _find_forgotten(self, table: WorkerTable) -> None:
        """Look for runs that a worker was about to put on a queue when it was lost."""
        if time.monotonic() < self._look_for_forgotten:
            return
        self._look_for_forgotten = time.monotonic() + _FORGOTTEN
        # Parents are to end after their last child.
        found: list[tuple[str, str | None]] = [
            *((parent, None) for parent in table.parents_to_end(self._queue, _FORGOTTEN)),
            *table.scheduled_and_lost(_FORGOTTEN),
        ]
        for run_id, name in found:
            with Journal(self._url) as journal, Queue(self._url) as queue:
                queue.submit(journal.find(run_id), name)

    def _notice_other_versions(self, db: PostgresDatabase) -> None:
        """Say once which runs wait that this version does not understand."""
        rows = db.execute(
            "SELECT application_version, count(*) FROM dbos.workflow_status WHERE name = ? "
            "AND queue_name = ? AND status = 'ENQUEUED' AND application_version <> ? GROUP BY 1",
            (SEGMENT, self._queue, version_name()),
        ).fetchall()
        for version, count in rows:
            if version not in self._noticed:
                self._noticed.add(version)
                self._say(
                    f"{count} runs of queue {self._queue} are left for other workers: they have "
                    f"{version}, and this runtrue knows {version_name()}"
                )
