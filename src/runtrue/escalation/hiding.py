"""Hiding: what must not be in a report, taken out of every text that goes into one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

#: Shorter values are words that every report is full of: `1`, `true`, `8080`.
_SHORTEST = 6
#: Of a value with several lines, each that is as long as this is hidden by itself, too.
_LONG_LINE = 20
#: What a terminal takes as commands, and signs that make a text look like another one.
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)


class Hiding:
    """Makes texts fit to be shown: plain, and without the values of some variables."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        spelled = {
            spelling: name
            for name, value in environment.items()
            if len(plain := _plain(value).strip()) >= _SHORTEST
            for spelling in _spellings(plain)
        }
        self._names = spelled
        # A value that holds another one goes first.
        longest_first = sorted(spelled, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if spelled else None

    def __call__(self, text: str) -> str:
        """The text as it may be shown."""
        text = _plain(text)
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: f"[value of {self._names[match[0]]}]", text)


def _plain(text: str) -> str:
    """A text of nothing but what can be read."""
    return _CONTROL.sub("", text).encode("utf-8", "replace").decode()


def _spellings(value: str) -> Iterator[str]:
    """A value as it is, and as it stands in JSON and in what Python prints of a text."""
    yield value
    yield from (line for line in value.split("\n") if len(line) >= _LONG_LINE)
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield repr(value)[1:-1]
