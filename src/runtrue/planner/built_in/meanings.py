"""Meanings: texts that show by themselves what they are: time zones, times of day, dates."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from functools import cache

_DAYS = {"today": 0, "tomorrow": 1, "yesterday": -1}
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::[0-5]\d)?")
_HALF_DAY = re.compile(r"(1[0-2]|0?[1-9])(?::([0-5]\d))?(am|pm)", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?")


@cache
def _zones() -> dict[str, str]:
    """IANA names by what people call them: the name itself, or the city."""
    from zoneinfo import available_timezones

    zones: dict[str, str] = {}
    # Where several have a city, the plainest is meant: America/Louisville, not …/Kentucky/….
    for name in sorted(available_timezones(), key=lambda name: (name.count("/"), name)):
        zones.setdefault(name.lower(), name)
        if "/" in name and not name.startswith("Etc/"):
            zones.setdefault(name.rpartition("/")[2].replace("_", " ").lower(), name)
    return zones


def zone_of(text: str) -> str | None:
    """The IANA name of a zone or a city."""
    return _zones().get(text.lower().replace(" ", "_")) or _zones().get(text.lower())


def time_of(text: str) -> str | None:
    """A time of day as HH:MM."""
    if found := _CLOCK.fullmatch(text):
        return f"{int(found[1]):02}:{found[2]}"
    if text.lower() in {"noon", "midnight"}:
        return "12:00" if text.lower() == "noon" else "00:00"
    found = _HALF_DAY.fullmatch(text.replace(" ", ""))
    if not found:
        return None
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "pm" else 0)
    return f"{hour:02}:{found[2] or '00'}"


def date_of(text: str) -> str | None:
    """A day as ISO text; `today` is that of this machine."""
    if text.lower() in _DAYS:
        today = datetime.now().astimezone().date()
        return (today + timedelta(days=_DAYS[text.lower()])).isoformat()
    if not _DATE.fullmatch(text):
        return None
    try:
        date.fromisoformat(text[:10])
    except ValueError:
        return None
    return text
