"""Lists of runs without their reports, page by page, and signs that something has changed.

A report may be megabytes: what many runs are shown by is read without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from runtrue.flow.events import Event, read_event
from runtrue.flow.owner import Owner
from runtrue.flow.rows import RunState, read_owner
from runtrue.flow.run_table import RunTable
from runtrue.typed_data import json_decoder

_COLUMNS = "id, kind, title, state, owner, input, error, created_at, ended_at, result IS NOT NULL"


class _Input(msgspec.Struct):
    """The part of a run's input that says where it works."""

    project: str | None = None
    directory: str | None = None


_decode_input = json_decoder(_Input)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs are wanted: of a state, a kind, a project, a text in their title, or an age."""

    state: RunState | None = None
    kind: str | None = None
    project: str | None = None
    text: str | None = None
    since: float | None = None


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run without its report."""

    id: str
    kind: str
    title: str
    state: RunState
    owner: Owner | None
    project: str | None
    error: str | None
    created_at: float
    ended_at: float | None
    has_result: bool

    @property
    def is_driven(self) -> bool:
        """True if a living process drives it right now."""
        return self.owner is not None and self.owner.is_alive()

    @property
    def is_over(self) -> bool:
        """True if it came to its end. A run that broke on an exception is not over."""
        return self.has_result or self.state is RunState.CANCELLED


@dataclass(frozen=True, slots=True)
class TimedEvent:
    """A recorded event with its number in the run, and when it happened."""

    n: int
    at: float
    event: Event


class RunList(RunTable):
    """What the journal says about many runs at once, and about what is new."""

    def summaries(
        self,
        wanted: RunFilter | None = None,
        *,
        limit: int = 50,
        before: tuple[float, str] | None = None,
    ) -> list[RunSummary]:
        """Return the latest runs, newest first: those `before` a run's age and id, for a page."""
        where, values = _conditions(wanted or RunFilter())
        if before is not None:
            # The first half lets the index of ages begin where the page does.
            where.append("created_at <= :age AND (created_at < :age OR id < :id)")
            values |= {"age": before[0], "id": before[1]}
        with self._db.explained("read"):
            rows = self._db.execute(
                f"SELECT {_COLUMNS} FROM runs WHERE {' AND '.join(where) or 'TRUE'} "
                "ORDER BY created_at DESC, id DESC LIMIT :limit",
                {**values, "limit": limit},
            ).fetchall()
            return [_summary(row) for row in rows]

    def result_texts(self, run_ids: Sequence[str], *, most: int) -> dict[str, str]:
        """Return the recorded results of some runs as JSON; none that is longer than `most`."""
        names = {f"id{n}": run_id for n, run_id in enumerate(run_ids)}
        if not names:
            return {}
        with self._db.explained("read"):
            rows = self._db.execute(
                f"SELECT id, result FROM runs WHERE id IN (:{', :'.join(names)}) "
                "AND result IS NOT NULL AND length(result) <= :most",
                {**names, "most": most},
            ).fetchall()
        return dict(rows)

    def count_by_state(self, *, since: float | None = None) -> dict[RunState, int]:
        """Return how many runs there are in each state, of those begun since a time."""
        where = "" if since is None else "WHERE created_at >= :since "
        with self._db.explained("read"):
            rows = self._db.execute(
                f"SELECT state, count(*) FROM runs {where}GROUP BY state",
                {} if since is None else {"since": since},
            ).fetchall()
        return {RunState(state): count for state, count in rows}

    def pulse(self) -> tuple[Any, ...]:
        """Return what differs as soon as a run begins, ends, waits or goes on."""
        with self._db.explained("read"):
            (newest,) = self._db.execute("SELECT max(created_at) FROM runs").fetchone()
        return newest, tuple(sorted(self.count_by_state().items()))

    def pulse_of(self, run_id: str) -> tuple[Any, ...]:
        """Return what differs as soon as anything of a run is recorded; empty without the run."""
        with self._db.explained("read"):
            row = self._db.execute(
                # What is amended after the end has another length: `true` instead of `false`.
                "SELECT state, fence, owner, ended_at, length(result), "
                "(SELECT max(n) FROM events WHERE run_id = runs.id), "
                "(SELECT count(*) FROM steps WHERE run_id = runs.id), "
                "(SELECT count(*) FROM parts WHERE run_id = runs.id), "
                "(SELECT count(answered_at) FROM questions WHERE run_id = runs.id) "
                "FROM runs WHERE id = :id",
                {"id": run_id},
            ).fetchone()
        return () if row is None else tuple(row)

    def last_event_number(self, run_id: str) -> int:
        """Return the number of a run's latest event, which is how many it has."""
        with self._db.explained("read"):
            (last,) = self._db.execute(
                "SELECT coalesce(max(n), 0) FROM events WHERE run_id = :id", {"id": run_id}
            ).fetchone()
        return int(last)

    def timed_events(self, run_id: str, *, after: int = 0, limit: int = 1000) -> list[TimedEvent]:
        """Return at most so many of a run's events, with a number above `after`."""
        with self._db.explained("read"):
            rows = self._db.execute(
                "SELECT n, at, kind, node, data FROM events "
                "WHERE run_id = :id AND n > :after ORDER BY n LIMIT :limit",
                {"id": run_id, "after": after, "limit": limit},
            ).fetchall()
        return [TimedEvent(n, at, read_event(kind, node, data)) for n, at, kind, node, data in rows]


def _conditions(wanted: RunFilter) -> tuple[list[str], dict[str, Any]]:
    where: list[str] = []
    values: dict[str, Any] = {}
    for name in ("state", "kind"):
        if (value := getattr(wanted, name)) is not None:
            where.append(f"{name} = :{name}")
            values[name] = value
    if wanted.since is not None:
        where.append("created_at >= :since")
        values["since"] = wanted.since
    if wanted.text:
        where.append("lower(title) LIKE :text ESCAPE '!'")
        values["text"] = f"%{_literal(wanted.text.lower())}%"
    if wanted.project:
        where.append("(input LIKE :project ESCAPE '!' OR input LIKE :directory ESCAPE '!')")
        path = _literal(msgspec.json.encode(wanted.project).decode())
        values |= {"project": f'%"project":{path}%', "directory": f'%"directory":{path}%'}
    return where, values


def _literal(text: str) -> str:
    """Return a text as a pattern of LIKE that matches itself."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def _summary(row: tuple[Any, ...]) -> RunSummary:
    run_id, kind, title, state, owner, data, error, created_at, ended_at, has_result = row
    place = _decode_input(data)
    return RunSummary(
        id=run_id,
        kind=kind,
        title=title,
        state=RunState(state),
        owner=None if owner is None else read_owner(owner),
        project=place.project or place.directory,
        error=error,
        created_at=created_at,
        ended_at=ended_at,
        has_result=bool(has_result),
    )
