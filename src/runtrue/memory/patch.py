"""Patches: the changed lines of a unified diff, with the lines around them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_NO_FILE = "/dev/null"
_NO_NEWLINE = "\\"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedLines:
    """Lines that were replaced by others, with those above and below that stayed."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A patch of one file. `segments` is None if it does more than change lines."""

    file: str
    segments: tuple[ChangedLines, ...] | None


def read_patch(diff: str) -> tuple[FileChange, ...]:
    """Read a diff, as git or difflib write it, file by file."""
    return tuple(_change(part) for part in _parts(diff.split("\n")))


def _parts(lines: list[str]) -> Iterator[list[str]]:
    """Yield the lines about each file; no line inside of a hunk is taken for a heading."""
    part: list[str] = []
    left = (0, 0)
    for line in lines:
        if left != (0, 0):
            left = (left[0] - (line[:1] != "+"), left[1] - (line[:1] != "-"))
        elif hunk := _HUNK.match(line):
            left = (int(hunk[1] or 1), int(hunk[2] or 1))
        elif line.startswith("diff --git ") or (line.startswith("--- ") and _has_hunk(part)):
            if part:
                yield part
            part = []
        part.append(line)
    if any(line.strip() for line in part):
        yield part


def _has_hunk(part: list[str]) -> bool:
    return any(line.startswith("@@ ") for line in part)


def _change(part: list[str]) -> FileChange:
    begin = next((n for n, line in enumerate(part) if line.startswith("@@ ")), len(part))
    names = {line[:3]: _name(line[4:]) for line in part[:begin] if line[:4] in ("--- ", "+++ ")}
    old, new = names.get("---", _NO_FILE), names.get("+++", _NO_FILE)
    if _NO_FILE in (old, new) or old != new:
        heading = part[0].partition(" b/")[2]
        file = next((name for name in (new, old) if name != _NO_FILE), heading)
        return FileChange(file=file, segments=None)
    return FileChange(file=new, segments=tuple(_segments(part[begin:])))


def _name(text: str) -> str:
    text = text.partition("\t")[0].rstrip("\r")
    if text.startswith('"'):
        # git writes the bytes of such names as octal escapes.
        raw = text.strip('"').encode("latin-1", "replace").decode("unicode_escape")
        text = raw.encode("latin-1", "replace").decode("utf-8", "replace")
    return text if text == _NO_FILE else text.removeprefix("a/").removeprefix("b/")


def _segments(lines: list[str]) -> Iterator[ChangedLines]:
    hunks: list[list[str]] = []
    for line in lines:
        if _HUNK.match(line):
            hunks.append([])
        elif line[:1] in (" ", "-", "+", _NO_NEWLINE):
            hunks[-1].append(line)
    for hunk in hunks:
        yield from _of_hunk(_with_ends(hunk))


def _with_ends(hunk: list[str]) -> list[str]:
    """Turn a newline that only one side has at its end into an empty line of that side.

    A text is then its lines, joined by newlines, whatever it ends with.
    """
    ended = [hunk[n - 1][:1] for n, line in enumerate(hunk) if line[:1] == _NO_NEWLINE and n]
    lines = [line.rstrip("\r") for line in hunk if line[:1] != _NO_NEWLINE]
    if ended == ["-"]:
        lines.append("+")
    elif ended == ["+"]:
        lines.append("-")
    return lines


def _of_hunk(hunk: list[str]) -> Iterator[ChangedLines]:
    runs = [list(lines) for _, lines in groupby(hunk, key=lambda line: line[0] == " ")]
    for n, lines in enumerate(runs):
        if lines[0][0] == " ":
            continue
        above = runs[n - 1] if n else []
        below = runs[n + 1] if n + 1 < len(runs) else []
        segment = ChangedLines(
            before=tuple(line[1:] for line in lines if line[0] == "-"),
            after=tuple(line[1:] for line in lines if line[0] == "+"),
            above=tuple(line[1:] for line in above[-3:]),
            below=tuple(line[1:] for line in below[:3]),
        )
        if segment.before != segment.after:
            yield segment
