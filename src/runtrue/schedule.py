"""Schedules: when a cron expression ticks, and which runs its ticks begin."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from runtrue.errors import UsageError
from runtrue.flow import Journal, Missed, Schedule
from runtrue.foreign_text import visible_name

#: A tick is not missed if somebody looks within so many seconds.
GRACE = 60.0
_ZONES = "zoneinfo/"


def local_zone() -> str:
    """Return the name of this machine's time zone, as far as it can be found out."""
    names = [os.environ.get("TZ", "").lstrip(":")]
    if Path("/etc/localtime").is_symlink():
        names.append(str(Path("/etc/localtime").resolve()).rpartition(_ZONES)[2])
    for name in filter(None, names):
        with suppress(UsageError):
            zone_named(name)
            return name
    return "UTC"


def zone_named(name: str) -> tzinfo:
    """Return a time zone. Raises UsageError for a name that there is not."""
    if name == "UTC":
        return UTC  # which needs no files
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError) as error:
        raise UsageError(
            f"there is no time zone {name!r} here: name one as in Europe/Berlin, or UTC"
        ) from error


def next_tick(cron: str, zone: str, after: float) -> float:
    """Return the first time after another at which an expression ticks. Raises UsageError."""
    try:
        begin = datetime.fromtimestamp(after, zone_named(zone))
        return next(CronSim(cron, begin)).timestamp()
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{after} cannot be read as a time") from error
    except CronSimError as error:
        raise UsageError(
            f"{cron!r} is not a cron expression ({error}): write minute, hour, day of the month, "
            "month and day of the week, as in '0 7 * * 1-5'"
        ) from error
    except StopIteration:
        raise UsageError(f"{cron!r} never ticks") from None


def begin_due(journal: Journal) -> Iterator[tuple[Schedule, str]]:
    """Begin the runs of all ticks that have come; yield each schedule with its new run.

    Each tick begins one run, however many processes do this at once. A schedule that cannot tick is
    paused, so that it keeps none of the others waiting; UsageError says so at the end.
    """
    now = journal.now()
    broken = []
    for name in journal.due_schedules(now):
        try:
            yield from _begin_ticks(journal, name, now)
        except UsageError as error:
            journal.set_paused(name, is_paused=True)
            broken.append(f"schedule {visible_name(name)} was paused: {error}")
    if broken:
        raise UsageError("; ".join(broken))


def _begin_ticks(journal: Journal, name: str, now: float) -> Iterator[tuple[Schedule, str]]:
    schedule = journal.schedule(name)
    while schedule is not None and schedule.next_at <= now:
        tick, following = _move(schedule, now)
        if run_id := journal.advance(schedule, following, tick=tick):
            yield schedule, run_id
        schedule = replace(schedule, next_at=following)


def _move(schedule: Schedule, now: float) -> tuple[float | None, float]:
    """Return the tick to run, if there is one, and the tick that comes then."""
    cron, zone = schedule.cron, schedule.zone
    if schedule.missed is Missed.ALL:
        return schedule.next_at, next_tick(cron, zone, schedule.next_at)
    following = next_tick(cron, zone, now)
    # The latest that has come stands for all before it. The expression is asked for what is before
    # a whole second: with a part of one, the next tick would count that has not come yet.
    begin = datetime.fromtimestamp(math.floor(now) + 1, zone_named(zone))
    latest = max(schedule.next_at, next(CronSim(cron, begin, reverse=True)).timestamp())
    is_wanted = schedule.missed is Missed.ONCE or now - latest <= GRACE
    return latest if is_wanted else None, following
