"""Lines for a terminal, broken between words; the rest of a line hangs below its beginning."""

from __future__ import annotations

import re
import unicodedata

#: What a person copies from the screen: it stays in one piece, wherever it ends.
_WHOLE = re.compile(r"`[^`\n]*`[.,;:)]*|(?<=: )(?:runtrue|git) .*$|\S+")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
#: What a line begins with: its colour and its indent.
_BEGINNING = re.compile(r"((?:\x1b\[[0-9;]*m)*)( *)")
#: The columns of a table's row before its last one.
_COLUMNS = re.compile(r"(?:\S+ {2,})+")
#: How much further to the right the rest of a line is.
_HANG = 2
#: Below this, a terminal is too narrow to indent.
_NARROWEST = 20
#: The first columns of a row may take one part in so many of the width.
_SHARE = 3


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
    beginning = _BEGINNING.match(line)
    colour, indent = beginning.groups() if beginning else ("", "")
    plain = line[len(colour) + len(indent) :]
    below = indent + " " * _hang(plain, width)
    rows, row = [], colour + indent
    end = 0
    for word in _WHOLE.finditer(plain):
        gap = plain[end : word.start()]
        is_first = row == colour + indent or row == below
        if not is_first and columns_of(row + gap + word[0]) > width:
            rows.append(row)
            row, gap = below, ""
        row += word[0] if is_first else gap + word[0]
        end = word.end()
    return "\n".join([*rows, row])


def _hang(plain: str, width: int) -> int:
    """Return how far the rest of a line is indented: to the last column of a table's row."""
    columns = _COLUMNS.match(plain)
    if columns is None:
        return _HANG
    starts = [columns_of(plain[: gap.end()]) for gap in re.finditer(r" {2,}", columns[0])]
    return max((start for start in starts if start <= width // _SHARE), default=_HANG)
