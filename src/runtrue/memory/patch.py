"""Patches: the changed places of a unified diff, each with the lines around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_NO_FILE = "/dev/null"
_NO_NEWLINE = "\\"


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Lines that were replaced by others, with those above and below that stayed."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """What a patch does to one file. `segments` is None where it is more than changing lines."""

    file: str
    segments: tuple[Segment, ...] | None


def read_patch(diff: str) -> tuple[FileChange, ...]:
    """What a diff, as git or difflib write it, does to each file."""
    return tuple(_change(part) for part in _parts(diff.split("\n")))


def _parts(lines: list[str]) -> Iterator[list[str]]:
    """The lines about each file. What is inside of a hunk is never taken for a heading."""
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


def _segments(lines: list[str]) -> Iterator[Segment]:
    hunks: list[list[str]] = []
    for line in lines:
        if _HUNK.match(line):
            hunks.append([])
        elif line[:1] in (" ", "-", "+", _NO_NEWLINE):
            hunks[-1].append(line)
    for hunk in hunks:
        yield from _of_hunk(_with_ends(hunk))


def _with_ends(hunk: list[str]) -> list[str]:
    """A newline that one side has at its end and the other has not, as an empty line of the one.

    A text is then its lines, joined by newlines, whatever it ends with.
    """
    ended = [hunk[n - 1][:1] for n, line in enumerate(hunk) if line[:1] == _NO_NEWLINE and n]
    kept = [line.rstrip("\r") for line in hunk if line[:1] != _NO_NEWLINE]
    if ended == ["-"]:
        kept.append("+")
    elif ended == ["+"]:
        kept.append("-")
    return kept


def _of_hunk(hunk: list[str]) -> Iterator[Segment]:
    runs: list[tuple[bool, list[str]]] = []
    for line in hunk:
        is_context = line[0] == " "
        if not runs or runs[-1][0] != is_context:
            runs.append((is_context, []))
        runs[-1][1].append(line)
    for n, (is_context, lines) in enumerate(runs):
        if is_context:
            continue
        segment = Segment(
            before=tuple(line[1:] for line in lines if line[0] == "-"),
            after=tuple(line[1:] for line in lines if line[0] == "+"),
        )
        above = runs[n - 1][1] if n else []
        below = runs[n + 1][1] if n + 1 < len(runs) else []
        segment = replace(
            segment,
            above=tuple(line[1:] for line in above[-3:]),
            below=tuple(line[1:] for line in below[:3]),
        )
        if segment.before != segment.after:
            yield segment
