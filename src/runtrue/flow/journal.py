"""The journal: what has happened in each run, durably, and who may write to it.

Its tables are in one SQLite file, or in PostgreSQL where many machines share them. A run belongs to
the process that holds its current *fence*, a number that grows with each claim; every write names
the fence and is refused when it is no longer current, so that a process that was stopped and wakes
up late can do no harm.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from runtrue.errors import FlowChanged, RunBusy, RunError, RunWaiting
from runtrue.flow.child_table import ChildTable
from runtrue.flow.events import Event, read_event
from runtrue.flow.owner import Owner
from runtrue.flow.part_table import PartTable
from runtrue.flow.retention import RetentionTable
from runtrue.flow.rows import (
    Claim,
    NewRun,
    Question,
    ResultRow,
    RunRow,
    RunState,
    StepRow,
    to_json,
)
from runtrue.flow.run_list import RunList
from runtrue.flow.schedule_table import ScheduleTable
from runtrue.flow.sqlite import SqliteDatabase

if TYPE_CHECKING:
    from runtrue.flow.database import Database, Location

T = TypeVar("T", bound=Event)


class Journal(PartTable, ChildTable, RetentionTable, ScheduleTable, RunList):
    """The journal at a location; a file is made when it is not there."""

    def __init__(self, location: Location) -> None:
        super().__init__(_open(location))

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- runs -------------------------------------------------------------------------------

    def create(self, kind: str, title: str, data: dict[str, Any]) -> str:
        """Begin a run that nobody drives yet, and return its id."""
        with self._transaction(synced=True):
            return self._insert(NewRun(kind=kind, title=title, input=data))

    def results(
        self, key: str, *, since: float | None = None, kind: str | None = None
    ) -> list[ResultRow]:
        """One key out of the result of every run that ended, in the order in which they did.

        Only that key is read: whole reports, of thousands of runs, are too much to hold.
        """
        with self._db.explained("read"):
            rows = self._db.execute(
                f"SELECT id, kind, ended_at, {self._db.json_at('result', ':key')} FROM runs "
                "WHERE result IS NOT NULL "
                "AND (CAST(:since AS REAL) IS NULL OR ended_at >= :since) "
                "AND (CAST(:kind AS TEXT) IS NULL OR kind = :kind) ORDER BY ended_at, rowid",
                {"key": key, "since": since, "kind": kind},
            ).fetchall()
            return [
                ResultRow(run_id, kind, at, None if text is None else msgspec.json.decode(text))
                for run_id, kind, at, text in rows
            ]

    def claim(self, run_id: str, owner: Owner, *, force: bool = False) -> Claim:
        """Take the right to drive a run, and its next fence.

        Refused while another living process drives the run, unless forced: then whatever that
        process still tries to write is refused instead.
        """
        with self._transaction() as db:
            run = self._locked(run_id)
            if run.is_over:
                raise RunError(f"run {run.id} has ended ({run.state}); start a new one")
            if run.state is RunState.WAITING:
                raise RunWaiting(f"run {run.id} is waiting for an answer")
            if run.owner is not None and run.owner.is_alive() and not force:
                raise RunBusy(
                    f"run {run.id} is already running in {run.owner}; "
                    "wait for it, or stop that process and take over with --force"
                )
            fence = run.fence + 1
            db.execute(
                "UPDATE runs SET fence = ?, owner = ?, state = 'running', error = NULL, "
                "ended_at = NULL WHERE id = ?",
                (fence, to_json(owner), run.id),
            )
        return Claim(run.id, fence)

    def release(self, claim: Claim) -> None:
        """Give the right to drive back, leaving the run to be continued by anyone."""
        with self._transaction() as db:
            db.execute(
                "UPDATE runs SET owner = NULL WHERE id = ? AND fence = ?",
                (claim.run_id, claim.fence),
            )

    def finish(self, claim: Claim, state: RunState, result: Any) -> None:
        """End a run with its outcome; `result` is recorded as JSON."""
        self._end(claim, state, result=to_json(result), error=None)

    def amend(self, run_id: str, result: Any) -> None:
        """Replace the recorded result of a run that has ended with one."""
        with self._transaction(synced=True) as db:
            amended = db.execute(
                "UPDATE runs SET result = ? WHERE id = ? AND ended_at IS NOT NULL "
                "AND result IS NOT NULL",
                (to_json(result), run_id),
            ).rowcount
            if not amended:
                raise RunError(f"run {run_id} has no result to amend")

    def fail(self, claim: Claim, error: str) -> None:
        """Note that a run broke on an exception; it can be claimed again and goes on from there."""
        self._end(claim, RunState.FAILED, result=None, error=error)

    def _end(self, claim: Claim, state: RunState, *, result: str | None, error: str | None) -> None:
        with self._transaction(synced=True) as db:
            ended = db.execute(
                "UPDATE runs SET state = ?, result = ?, error = ?, owner = NULL, ended_at = ? "
                "WHERE id = ? AND fence = ? AND state = 'running'",
                (state, result, error, time.time(), claim.run_id, claim.fence),
            ).rowcount
            if not ended:
                raise self._refusal(claim)

    def cancel(self, run_id: str) -> RunRow:
        """End a run from outside. Its driver, if there is one, is refused at its next write."""
        with self._transaction(synced=True) as db:
            run = self._locked(run_id)
            if run.is_over:
                raise RunError(f"run {run.id} has already ended ({run.state})")
            db.execute(
                "UPDATE runs SET state = 'cancelled', ended_at = ?, owner = NULL WHERE id = ?",
                (time.time(), run.id),
            )
        return run

    # -- steps ------------------------------------------------------------------------------

    def load(self, run_id: str) -> list[StepRow]:
        """The recorded steps of a run, in order."""
        with self._db.explained("read"):
            rows = self._db.execute(
                "SELECT seq, node, input_hash, result, finished_at FROM steps "
                "WHERE run_id = ? ORDER BY seq",
                (run_id,),
            ).fetchall()
        return [StepRow(*row) for row in rows]

    def begin(self, claim: Claim, seq: int, node: str, input_hash: str) -> None:
        """Note that a side effect is about to fire, before it does."""
        with self._synced():
            self._add_step(claim, seq, node, input_hash, None, None)

    def withdraw(self, claim: Claim, seq: int) -> None:
        """Take back that a side effect is about to fire: it was refused, and changed nothing."""
        with self._transaction() as db:
            db.execute(
                "DELETE FROM steps WHERE run_id = ? AND seq = ? AND result IS NULL "
                f"AND {self._still_mine}",
                (claim.run_id, seq, claim.run_id, claim.fence),
            )

    def record(
        self,
        claim: Claim,
        seq: int,
        node: str,
        input_hash: str,
        result: bytes,
        *,
        begun: bool,
        has_parts: bool = False,
    ) -> None:
        """Note a finished step, in place of its parts; `begun` when `begin` was called for it."""
        if has_parts:
            with self._transaction() as db:
                self.record(claim, seq, node, input_hash, result, begun=begun)
                db.execute("DELETE FROM parts WHERE run_id = ? AND seq = ?", (claim.run_id, seq))
            return
        with self._db.explained("written"):
            if not begun:
                self._add_step(claim, seq, node, input_hash, result, time.time())
                return
            written = self._db.execute(
                "UPDATE steps SET result = ?, finished_at = ? WHERE run_id = ? AND seq = ? "
                f"AND {self._still_mine}",
                (result, time.time(), claim.run_id, seq, claim.run_id, claim.fence),
            ).rowcount
            if not written:
                raise self._refusal(claim)

    def _add_step(
        self,
        claim: Claim,
        seq: int,
        node: str,
        input_hash: str,
        result: bytes | None,
        finished_at: float | None,
    ) -> None:
        run_id, fence = claim.run_id, claim.fence
        if not self._db.execute(
            "INSERT INTO steps (run_id, seq, node, input_hash, result, finished_at) "
            f"SELECT ?, ?, ?, ?, ?, ? WHERE {self._still_mine}",
            (run_id, seq, node, input_hash, result, finished_at, run_id, fence),
        ).rowcount:
            raise self._refusal(claim)

    # -- events -----------------------------------------------------------------------------

    def emit(self, claim: Claim, event: Event) -> None:
        """Add an event to the run's list."""
        run_id, fence = claim.run_id, claim.fence
        row = time.time(), event.origin, event.kind, to_json(event.payload)
        with self._db.explained("written"):
            if not self._db.execute(
                "INSERT INTO events (run_id, n, at, node, kind, data) SELECT ?, "
                "(SELECT coalesce(max(n), 0) + 1 FROM events WHERE run_id = ?), ?, ?, ?, ? "
                f"WHERE {self._still_mine}",
                (run_id, run_id, *row, run_id, fence),
            ).rowcount:
                raise self._refusal(claim)

    def events(self, run_id: str, after: int = 0) -> list[tuple[int, Event]]:
        """The run's events with a number above `after`, each with its number."""
        with self._db.explained("read"):
            rows = self._db.execute(
                "SELECT n, kind, node, data FROM events WHERE run_id = ? AND n > ? ORDER BY n",
                (run_id, after),
            ).fetchall()
        return [(n, read_event(kind, node, data)) for n, kind, node, data in rows]

    def latest_event(self, run_id: str, wanted: type[T]) -> T | None:
        """Return the last of the run's events of a type, if this version can read it."""
        with self._db.explained("read"):
            row = self._db.execute(
                "SELECT node, data FROM events WHERE run_id = ? AND kind = ? "
                "ORDER BY n DESC LIMIT 1",
                (run_id, wanted.journal_name),
            ).fetchone()
        event = read_event(wanted.journal_name, *row) if row else None
        return event if isinstance(event, wanted) else None

    # -- questions --------------------------------------------------------------------------

    def ask(self, claim: Claim, seq: int, question: Any) -> None:
        """Put a question where people can see and answer it. The run goes on until it parks."""
        asked = to_json(question)
        with self._transaction(synced=True) as db:
            self._check(claim)
            db.execute(
                "INSERT INTO questions (run_id, seq, question, asked_at) "
                "VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (claim.run_id, seq, asked, time.time()),
            )
            if self.questions(claim.run_id, seq)[0].question != msgspec.json.decode(asked):
                raise FlowChanged(
                    f"step {seq} of run {claim.run_id} asked another question before: the flow "
                    "was edited, or runtrue was upgraded, since the run began; start a new run"
                )

    def park(self, claim: Claim, seq: int) -> Question:
        """Let the run wait for its answer, unless the answer is already there.

        The look for an answer and the change of state are one transaction, so an answer that
        comes between asking and parking is found here and none is ever lost.
        """
        with self._transaction(synced=True) as db:
            self._check(claim)
            asked = self.questions(claim.run_id, seq)[0]
            if not asked.answered:
                db.execute(
                    "UPDATE runs SET state = 'waiting', owner = NULL WHERE id = ?", (claim.run_id,)
                )
        return asked

    def answer(self, run_id: str, value: Any, *, seq: int | None = None) -> None:
        """Answer the run's open question; a parked run can be driven again from now on.

        `seq` names the question that is meant: refused when another one has been asked since.
        """
        with self._transaction(synced=True) as db:
            run = self._locked(run_id)
            question = self.open_question(run.id)
            is_other = seq is not None and question is not None and question.seq != seq
            if question is None or is_other or run.is_over:
                raise RunError(f"run {run.id} ({run.state}) does not ask a question")
            db.execute(
                "UPDATE questions SET answer = ?, answered_at = ? WHERE run_id = ? AND seq = ?",
                (to_json(value), time.time(), run.id, question.seq),
            )
            db.execute(
                "UPDATE runs SET state = 'running' WHERE id = ? AND state = 'waiting'", (run.id,)
            )

    def open_question(self, run_id: str) -> Question | None:
        """The question of a run that has no answer yet."""
        unanswered = [q for q in self.questions(run_id) if not q.answered]
        return unanswered[-1] if unanswered else None

    def questions(self, run_id: str, seq: int | None = None) -> list[Question]:
        """Return what a run has asked, oldest first; only the one of a step, if that is named."""
        with self._db.explained("read"):
            rows = self._db.execute(
                "SELECT seq, question, answer, answered_at, asked_at FROM questions "
                "WHERE run_id = :run AND (CAST(:seq AS INTEGER) IS NULL OR seq = :seq) "
                "ORDER BY seq",
                {"run": run_id, "seq": seq},
            ).fetchall()
        return [
            Question(
                n,
                msgspec.json.decode(question),
                None if answer is None else msgspec.json.decode(answer),
                answered_at is not None,
                asked_at,
            )
            for n, question, answer, answered_at, asked_at in rows
        ]


def _open(location: Location) -> Database:
    if isinstance(location, Path):
        return SqliteDatabase(location)
    from runtrue.flow.postgres import PostgresDatabase

    return PostgresDatabase(location)
