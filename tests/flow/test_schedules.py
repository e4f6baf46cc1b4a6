"""Schedules: which ticks begin runs, on both databases, and when a cron expression ticks."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from runtrue.errors import UsageError
from runtrue.flow import Journal, Missed, NewRun, Schedule
from runtrue.schedule import begin_due, next_tick

RUN = NewRun(kind="test", title="t", input={"a": 1})


def add(
    journal: Journal, *, ago: float, missed: Missed = Missed.ONCE, cron: str = "* * * * *"
) -> None:
    """Add a schedule whose next tick was so many seconds ago."""
    first = next_tick(cron, "UTC", journal.now() - ago)
    made = Schedule(
        name="s",
        cron=cron,
        zone="UTC",
        queue="default",
        missed=missed,
        is_paused=False,
        run=RUN,
        next_at=first,
    )
    journal.add_schedule(made)


def begin(journal: Journal) -> list[str]:
    return [run_id for _, run_id in begin_due(journal)]


@pytest.mark.parametrize("second", [0.0, 0.4, 30.0, 59.0, 59.5, 59.999])
def test_a_tick_begins_one_run_and_the_schedule_moves_on(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, second: float
) -> None:
    monkeypatch.setattr(Journal, "now", lambda self: 1_795_067_640.0 + second)
    add(journal, ago=90)
    (run_id,) = begin(journal)
    assert begin(journal) == []
    run = journal.find(run_id)
    assert (run.kind, run.title, run.input) == ("test", "t", {"a": 1})
    (schedule,) = journal.schedules()
    assert schedule.last_run == run_id
    assert schedule.last_at is not None
    assert schedule.last_at <= journal.now() < schedule.next_at <= schedule.last_at + 60
    assert journal.open_ticks() == [run_id]


def test_however_many_look_at_once_each_tick_begins_one_run(journal: Journal) -> None:
    add(journal, ago=10 * 60, missed=Missed.ALL)
    (due,) = journal.schedules()
    ticks = round((next_tick("* * * * *", "UTC", journal.now()) - due.next_at) / 60)

    def look(_: int) -> list[str]:
        with Journal(journal.location) as own:
            return begin(own)

    with ThreadPoolExecutor(4) as pool:
        begun = [run_id for found in pool.map(look, range(4)) for run_id in found]
    assert ticks in (10, 11)
    assert ticks <= len(begun) == len(set(begun)) <= ticks + 1  # a minute may have passed meanwhile
    assert sorted(begun) == sorted(run.id for run in journal.runs(limit=None))


@pytest.mark.parametrize(
    ("missed", "least", "most"), [("once", 1, 1), ("all", 3, 4), ("skip", 0, 1)]
)
def test_missed_ticks_run_once_each_or_not_at_all(
    journal: Journal, missed: str, least: int, most: int
) -> None:
    # The tick before the last is far more than a minute old, the last one perhaps not.
    add(journal, ago=3 * 3600 + 60, missed=Missed(missed), cron="0 * * * *")
    assert least <= len(begin(journal)) <= most
    assert begin(journal) == []
    assert journal.schedules()[0].next_at > journal.now()


def test_a_paused_schedule_begins_nothing_and_goes_on_at_its_next_tick(journal: Journal) -> None:
    add(journal, ago=90)
    journal.set_paused("s", is_paused=True)
    assert begin(journal) == []
    assert journal.due_schedules(math.inf) == []
    later = next_tick("* * * * *", "UTC", journal.now())
    journal.set_paused("s", is_paused=False, next_at=later)
    assert journal.due_schedules(math.inf) == ["s"]
    assert journal.schedules()[0].next_at == later


def test_a_name_is_taken_once_unless_it_is_replaced(journal: Journal) -> None:
    add(journal, ago=0)
    with pytest.raises(UsageError, match="pass --replace"):
        add(journal, ago=0)
    journal.add_schedule(journal.schedules()[0], replace=True)
    journal.remove_schedule("s")
    assert journal.schedules() == []


def test_a_deleted_run_leaves_no_tick_behind(journal: Journal) -> None:
    add(journal, ago=90)
    (run_id,) = begin(journal)
    journal.delete([run_id])
    assert journal.open_ticks() == []
    assert journal.schedules()[0].last_run is None


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("cron", "odd"),
        ("cron", "0 0 30 2 *"),
        ("zone", "../../etc/passwd"),
        ("missed", "odd"),
        ("input", "{"),
        ("next_at", -1e300),
    ],
)
def test_a_schedule_that_cannot_tick_is_paused_and_keeps_no_other_waiting(
    journal: Journal, column: str, value: object
) -> None:
    add(journal, ago=10, missed=Missed.ALL)
    journal._db.execute(
        f"UPDATE schedules SET name = 'broken', {column} = ?",  # noqa: S608 - a name of ours
        (value,),
    )
    add(journal, ago=70)
    journal._db.execute(
        "UPDATE schedules SET next_at = ? WHERE name = 'broken' AND next_at > 0", (1,)
    )
    begun = []
    with pytest.raises(UsageError, match="schedule broken was paused: "):  # noqa: PT012
        for schedule, _ in begin_due(journal):
            begun.append(schedule.name)
    assert begun == ["s"]
    assert begin(journal) == []


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo("Europe/Berlin")).timestamp()


@pytest.mark.parametrize(
    ("cron", "after", "expected"),
    [
        ("0 7 * * 1-5", "2026-11-20 07:00", "2026-11-23 07:00"),
        # Clocks go from 2:00 to 3:00, and back from 3:00 to 2:00: it runs once on either day.
        ("30 2 * * *", "2026-03-28 12:00", "2026-03-29 03:00"),
        ("30 2 * * *", "2026-10-25 02:30", "2026-10-26 02:30"),
        ("0 0 29 2 *", "2026-01-01 00:00", "2028-02-29 00:00"),
    ],
)
def test_expressions_tick_in_their_time_zone(cron: str, after: str, expected: str) -> None:
    assert next_tick(cron, "Europe/Berlin", at(after)) == at(expected)


@pytest.mark.parametrize("cron", ["", "61 * * * *", "0 7 * *", "0 0 30 2 *", "@daily", "tomorrow"])
def test_what_is_no_expression_is_refused_with_an_example(cron: str) -> None:
    with pytest.raises(UsageError, match="write minute, hour, day of the month"):
        next_tick(cron, "UTC", 0.0)


def test_a_time_zone_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="no time zone 'Mars/Base' here"):
        next_tick("* * * * *", "Mars/Base", 0.0)
