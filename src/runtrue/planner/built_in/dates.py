"""Dates: what people write for them, and periods of text that dates can be compared with."""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Sequence

from runtrue.planner.task import TaskToken, TokenType

FIRST_YEAR, LAST_YEAR = 1000, 2199
#: An ISO date, of a month, a day or a time.
DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?.*")
_DECADE = re.compile(r"(\d{3}0)'?s")
_MONTHS = {
    name.lower(): number
    for names in (calendar.month_name, calendar.month_abbr)
    for number, name in enumerate(names)
    if name
} | {"sept": 9}


def read_dates(tokens: Sequence[TaskToken]) -> list[TaskToken]:
    """Return tokens with "11 May 2025", "May 11, 2025" and "July 2025" as ISO dates."""
    made: list[TaskToken] = []
    at = 0
    while at < len(tokens):
        date, length = _date_at(tokens, at)
        made.append(TaskToken(TokenType.WORD, date, date) if date else tokens[at])
        at += length
    return made


def _date_at(tokens: Sequence[TaskToken], at: int) -> tuple[str, int]:
    """Return the date that begins at a place, and how many tokens it has; no date and 1."""
    near = [t for t in tokens[at : at + 5] if t.word not in {",", "of"}][:3]
    for order in ("dmy", "mdy", "my"):
        parts = dict(zip(order, near, strict=False))
        month = _MONTHS.get(parts["m"].word.rstrip(".")) if "m" in parts else None
        year = parts["y"].value if "y" in parts else None
        day = _day(parts["d"]) if "d" in parts else None
        if month is None or not is_year(year) or ("d" in order and day is None):
            continue
        length = next(n for n, t in enumerate(tokens[at:]) if t is parts["y"]) + 1
        return f"{year}-{month:02}" + (f"-{day:02}" if day else ""), length
    return "", 1


def _day(token: TaskToken) -> int | None:
    found = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)?", token.text)
    return int(found[1]) if found and 1 <= int(found[1]) <= 31 else None


def is_year(value: object) -> bool:
    """True for a number that can be a year."""
    return type(value) is int and FIRST_YEAR <= value <= LAST_YEAR


def decade(word: str) -> int | None:
    """Return the first year of "1960s"."""
    found = _DECADE.fullmatch(word)
    return int(found[1]) if found else None


def next_period(text: str) -> str:
    """Return the year, month or day after one; a text of another form as it is."""
    if re.fullmatch(r"\d{4}", text):
        return str(int(text) + 1)
    if found := re.fullmatch(r"(\d{4})-(\d{2})", text):
        year, month = int(found[1]), int(found[2])
        return f"{year + month // 12}-{month % 12 + 1:02}"
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        return text
    return (day + datetime.timedelta(days=1)).isoformat()
