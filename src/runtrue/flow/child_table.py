"""The journal's table of child runs: those that one parent run has begun, in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from runtrue.flow.owner import Owner
from runtrue.flow.rows import NewRun, RunState, read_owner
from runtrue.flow.run_table import RunTable


@dataclass(frozen=True, slots=True)
class ChildRow:
    """One child of a run, without its report; `n` counts from 1."""

    n: int
    run_id: str
    label: str
    state: RunState
    owner: Owner | None
    error: str | None
    fence: int
    ended_at: float | None
    has_result: bool

    @property
    def is_over(self) -> bool:
        """True if it came to its end. A run that broke on an exception is not over."""
        return self.has_result or self.state is RunState.CANCELLED

    @property
    def is_stopped(self) -> bool:
        """True if nobody need wait for it: it is over, failed, or waits for a person."""
        return self.state is not RunState.RUNNING


class ChildTable(RunTable):
    """Runs that belong to a parent. A child is a run like any other; it has one parent at most."""

    def create_parent(self, parent: NewRun, children: Iterable[tuple[str, NewRun]]) -> str:
        """Begin a run with its children, all or none of them, and return the parent's id.

        Each child comes with a short text that lists show it by.
        """
        with self._transaction(synced=True) as db:
            parent_id = self._insert(parent)
            for n, (label, child) in enumerate(children, 1):
                db.execute(
                    "INSERT INTO children (parent, n, run_id, label) VALUES (?, ?, ?, ?)",
                    (parent_id, n, self._insert(child), label),
                )
        return parent_id

    def children(self, parent: str) -> list[ChildRow]:
        """Return the children of a run, in order."""
        with self._db.explained("read"):
            rows = self._db.execute(
                "SELECT n, id, label, state, owner, error, fence, ended_at, result IS NOT NULL "
                "FROM children JOIN runs ON id = run_id WHERE parent = ? ORDER BY n",
                (parent,),
            ).fetchall()
        return [_child(row) for row in rows]

    def parent_of(self, run_id: str) -> str | None:
        """Return the run that a child belongs to."""
        with self._db.explained("read"):
            row = self._db.execute(
                "SELECT parent FROM children WHERE run_id = ?", (run_id,)
            ).fetchone()
        return None if row is None else str(row[0])

    def has_open_children(self, parent: str) -> bool:
        """True if at least one child of a run is running or waits for a person."""
        with self._db.explained("read"):
            row = self._db.execute(
                "SELECT 1 FROM children JOIN runs ON id = run_id "
                "WHERE parent = ? AND state IN ('running', 'waiting') LIMIT 1",
                (parent,),
            ).fetchone()
        return row is not None


def _child(row: tuple[Any, ...]) -> ChildRow:
    n, run_id, label, state, owner, error, fence, ended_at, has_result = row
    return ChildRow(
        n=n,
        run_id=run_id,
        label=label,
        state=RunState(state),
        owner=None if owner is None else read_owner(owner),
        error=error,
        fence=fence,
        ended_at=ended_at,
        has_result=bool(has_result),
    )
