"""Lines for a terminal, broken between words; the rest of a line hangs below its beginning."""

from __future__ import annotations

import re
import unicodedata

#: What a person copies from the screen: it stays in one piece, wherever it ends.
_WHOLE = re.compile(r"`[^`\n]*`[.,;:)]*|(?<=: )(?:runtrue|git) .*$|\S+")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
#: How much further to the right the rest of a line is.
_HANG = 2
#: Below this, a terminal is too narrow to indent.
_NARROWEST = 20


def wrap(text: str, width: int) -> str:
    """Return a text with no line wider than a terminal, where its words allow that."""
    if width < _NARROWEST:
        return text
    return "\n".join(_wrapped(line, width) for line in text.split("\n"))


def columns_of(text: str) -> int:
    """Return how many columns a text takes on a terminal; colours take none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in _COLOUR.sub("", text)
    )


def _wrapped(line: str, width: int) -> str:
    if columns_of(line) <= width:
        return line
    plain = line.lstrip(" ")
    indent = " " * (len(line) - len(plain))
    rows, row = [], indent
    end = 0
    for word in _WHOLE.finditer(plain):
        gap = plain[end : word.start()]
        is_first = row.strip() == ""
        if not is_first and columns_of(row + gap + word[0]) > width:
            rows.append(row)
            row, gap = indent + " " * _HANG, ""
        row += word[0] if is_first else gap + word[0]
        end = word.end()
    return "\n".join([*rows, row])
