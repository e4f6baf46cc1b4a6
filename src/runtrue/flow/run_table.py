"""The journal's table of runs: finding them, listing them, and who may write to them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from runtrue.errors import FenceLost, RunCancelled, RunError, UnknownRun
from runtrue.flow.rows import RUN_COLUMNS, Claim, NewRun, RunRow, RunState, run_row, to_json

if TYPE_CHECKING:
    from runtrue.flow.database import Database, Location

#: Comes after every character that an id is made of.
_LAST = "\U0010ffff"


class RunTable:
    """The runs in a database, and what all tables that belong to runs share."""

    def __init__(self, db: Database) -> None:
        self._db = db
        #: True for as long as the claim is current, with `run_id` and `fence` as its values. The
        #: run stays as it is until what is written with it is committed.
        self._still_mine = (
            "EXISTS (SELECT 1 FROM runs WHERE id = ? AND fence = ? AND state = 'running'"
            f"{db.locked})"
        )

    @property
    def location(self) -> Location:
        """What opens the same journal again."""
        return self._db.location

    @property
    def name(self) -> str:
        """What messages call the journal."""
        return self._db.name

    def find(self, prefix: str) -> RunRow:
        """The run whose id is, or begins with, `prefix`."""
        if not prefix:
            raise UnknownRun("a run id cannot be empty")
        with self._db.explained("read"):
            rows = self._db.execute(
                # A range, which the index serves; `substr` would read every run.
                f"SELECT {RUN_COLUMNS} FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT 3",
                (prefix, prefix + _LAST),
            ).fetchall()
            if len(rows) == 1:
                return run_row(rows[0])
        if rows:
            found = ", ".join(row[0] for row in rows)
            raise UnknownRun(f"run id {prefix!r} is not unique: {found}; give more characters")
        recent = ", ".join(row.id for row in self.runs(limit=5)) or "none yet"
        raise UnknownRun(f"there is no run {prefix!r} in {self.name}; latest runs: {recent}")

    def runs(
        self,
        *,
        limit: int | None = 50,
        state: RunState | None = None,
        kind: str | None = None,
        title: str | None = None,
        within: Path | None = None,
        of: str | None = None,
        with_children: bool = True,
    ) -> list[RunRow]:
        """Return the latest runs, newest first.

        Only those in a state, of a kind, with a title, or of a directory and those in it; only the
        children `of` a run; or no children.
        """
        wanted = {"state": state, "kind": kind, "title": title}
        # Only what is asked for, so that an index can serve it.
        named = [f"{name} = :{name}" for name, value in wanted.items() if value is not None]
        if within is not None:
            project, other = (
                self._db.text_at("input", key) for key in ("'project'", "'directory'")
            )
            place = f"coalesce({project}, {other}) || '/'"
            named.append(f"substr({place}, 1, length(:within) + 1) = :within || '/'")
            wanted["within"] = str(within)
        if of is not None:
            named.append("id IN (SELECT run_id FROM children WHERE parent = :of)")
            wanted["of"] = of
        elif not with_children:
            named.append("NOT EXISTS (SELECT 1 FROM children WHERE run_id = runs.id)")
        with self._db.explained("read"):
            rows = self._db.execute(
                f"SELECT {RUN_COLUMNS} FROM runs WHERE {' AND '.join(named) or 'TRUE'} "
                f"ORDER BY created_at DESC, rowid DESC{'' if limit is None else ' LIMIT :limit'}",
                {**wanted, "limit": limit},
            ).fetchall()
            return [run_row(row) for row in rows]

    def latest_within(self, directory: Path) -> RunRow | None:
        """Return the latest run of a directory, or of one in it."""
        return next(iter(self.runs(within=directory, limit=1, with_children=False)), None)

    def _insert(self, run: NewRun) -> str:
        """Add a run within a transaction, and return its id."""
        while True:
            run_id = secrets.token_hex(4)
            if self._db.execute(
                "INSERT INTO runs (id, kind, title, state, input, created_at) "
                "VALUES (?, ?, ?, 'running', ?, ?) ON CONFLICT DO NOTHING",
                (run_id, run.kind, run.title, to_json(run.input), time.time()),
            ).rowcount:
                return run_id

    def _locked(self, run_id: str) -> RunRow:
        """Return a run, which nobody else can change before the transaction ends."""
        run = self.find(run_id)
        if not self._db.locked:
            return run
        row = self._db.execute(
            f"SELECT {RUN_COLUMNS} FROM runs WHERE id = ?{self._db.locked}", (run.id,)
        ).fetchone()
        return run_row(row)

    def _refusal(self, claim: Claim) -> RunError:
        run = self.find(claim.run_id)
        if run.state is RunState.CANCELLED:
            return RunCancelled(f"run {run.id} was cancelled")
        return FenceLost(f"run {run.id} was taken over by another process; this one stops")

    def _check(self, claim: Claim) -> None:
        values = (claim.run_id, claim.fence)
        if not self._db.execute(f"SELECT {self._still_mine}", values).fetchone()[0]:
            raise self._refusal(claim)

    @contextmanager
    def _transaction(self, *, synced: bool = False) -> Iterator[Database]:
        if synced:
            with self._synced(), self._db.transaction():
                yield self._db
        else:
            with self._db.explained("written"), self._db.transaction():
                yield self._db

    @contextmanager
    def _synced(self) -> Iterator[None]:
        """Commit what is written within to the disk itself."""
        with self._db.explained("written"), self._db.synced():
            yield
