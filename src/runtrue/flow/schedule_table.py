"""The journal's table of schedules: each tick of one begins one run, once."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runtrue.errors import UsageError
from runtrue.flow.rows import NewRun, to_json
from runtrue.flow.run_table import RunTable
from runtrue.typed_data import decode_json


class Missed(StrEnum):
    """What becomes of the ticks at which nobody was there to run anything."""

    #: One run for all of them.
    ONCE = "once"
    #: One run for each.
    ALL = "all"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A run that begins at times of the clock."""

    name: str
    cron: str
    #: The time zone of the cron expression, by its name.
    zone: str
    #: Which workers drive the runs, where there are workers.
    queue: str
    missed: Missed
    is_paused: bool
    run: NewRun
    next_at: float
    last_at: float | None = None
    last_run: str | None = None


_COLUMNS = (
    "name, cron, zone, queue, missed, paused, kind, title, input, next_at, "
    "(SELECT max(at) FROM ticks WHERE schedule = name), "
    "(SELECT run_id FROM ticks WHERE schedule = name ORDER BY at DESC LIMIT 1)"
)


class ScheduleTable(RunTable):
    """What runs at times of the clock."""

    def now(self) -> float:
        """Return the time by the clock that all who use this journal share."""
        with self._db.explained("read"):
            return self._db.now()

    def add_schedule(self, schedule: Schedule, *, replace: bool = False) -> None:
        """Store a schedule. Raises UsageError if the name is taken, unless it is replaced."""
        values = (
            *(schedule.name, schedule.cron, schedule.zone, schedule.queue, schedule.missed.value),
            *(int(schedule.is_paused), schedule.run.kind, schedule.run.title),
            *(to_json(schedule.run.input), schedule.next_at),
        )
        with self._transaction(synced=True) as db:
            if replace:
                db.execute("DELETE FROM schedules WHERE name = ?", (schedule.name,))
            added = db.execute(
                "INSERT INTO schedules (name, cron, zone, queue, missed, paused, kind, title, "
                "input, next_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                values,
            ).rowcount
        if not added:
            raise UsageError(
                f"there is a schedule {schedule.name!r} already: pass --replace, or another name"
            )

    def schedules(self) -> list[Schedule]:
        """Return all schedules, by name."""
        with self._db.explained("read"):
            rows = self._db.execute(f"SELECT {_COLUMNS} FROM schedules ORDER BY name").fetchall()
        return [_schedule(row) for row in rows]

    def schedule(self, name: str) -> Schedule | None:
        """Return a schedule by its name, if there is one. Raises UsageError for a broken one."""
        with self._db.explained("read"):
            row = self._db.execute(
                f"SELECT {_COLUMNS} FROM schedules WHERE name = ?", (name,)
            ).fetchone()
        return None if row is None else _schedule(row)

    def due_schedules(self, now: float) -> list[str]:
        """Return the names of schedules whose next tick has come, the earliest first."""
        with self._db.explained("read"):
            rows = self._db.execute(
                "SELECT name FROM schedules WHERE paused = 0 AND next_at <= ? "
                "ORDER BY next_at, name",
                (now,),
            ).fetchall()
        return [name for (name,) in rows]

    def advance(self, schedule: Schedule, next_at: float, *, tick: float | None) -> str | None:
        """Move a schedule on to its next tick, and begin the run of `tick`; return that run.

        Nothing is done if the schedule is no longer as it was read: another was first.
        """
        with self._transaction(synced=True) as db:
            moved = db.execute(
                "UPDATE schedules SET next_at = ? WHERE name = ? AND next_at = ? AND paused = 0",
                (next_at, schedule.name, schedule.next_at),
            ).rowcount
            if not moved or tick is None:
                return None
            key = (schedule.name, tick)
            if db.execute("SELECT 1 FROM ticks WHERE schedule = ? AND at = ?", key).fetchone():
                return None  # before the clock was set back
            run_id = self._insert(schedule.run)
            db.execute(
                "INSERT INTO ticks (schedule, at, run_id) VALUES (?, ?, ?)",
                (schedule.name, tick, run_id),
            )
        return run_id

    def open_ticks(self) -> list[str]:
        """Return the runs of ticks that have not ended and wait for nobody, in order."""
        with self._db.explained("read"):
            rows = self._db.execute(
                "SELECT run_id FROM ticks JOIN runs ON id = run_id WHERE state = 'running' "
                "ORDER BY at"
            ).fetchall()
        return [run_id for (run_id,) in rows]

    def set_paused(self, name: str, *, is_paused: bool, next_at: float | None = None) -> None:
        """Pause a schedule, or let it go on, from `next_at` if that is given."""
        with self._transaction(synced=True) as db:
            db.execute(
                "UPDATE schedules SET paused = ?, next_at = coalesce(CAST(? AS REAL), next_at) "
                "WHERE name = ?",
                (int(is_paused), next_at, name),
            )

    def remove_schedule(self, name: str) -> None:
        """Delete a schedule; its runs stay."""
        with self._transaction(synced=True) as db:
            db.execute("DELETE FROM schedules WHERE name = ?", (name,))


def _schedule(row: tuple[Any, ...]) -> Schedule:
    name, cron, zone, queue, missed, paused, kind, title, data, next_at, last_at, last_run = row
    try:
        run = NewRun(kind=kind, title=title, input=decode_json(data, dict[str, Any]))
        how = Missed(missed)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the schedule {name} is not as runtrue made it: {error}") from error
    return Schedule(
        name=name,
        cron=cron,
        zone=zone,
        queue=queue,
        missed=how,
        is_paused=bool(paused),
        run=run,
        next_at=next_at,
        last_at=last_at,
        last_run=last_run,
    )
