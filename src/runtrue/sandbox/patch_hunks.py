"""Patches in pieces: the hunks of a unified diff, and the patch of some of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from runtrue.errors import UsageError

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PatchHunk:
    """A hunk of a patch. `number` counts through the whole patch, from 1."""

    number: int
    file: str
    #: Its first line before the change; 0 for a file that is changed as a whole.
    line: int
    #: Its lines, the one with @@ included; none for a file that is changed as a whole.
    lines: tuple[str, ...] = ()


@dataclass(slots=True)
class PatchFile:
    """A file of a patch: the lines before its hunks, and the hunks.

    A file without hunks, as a binary one, is changed as a whole: it has one, which is empty.
    """

    name: str
    head: tuple[str, ...]
    hunks: list[PatchHunk] = field(default_factory=list)


def split_patch(diff: str) -> list[PatchFile]:
    """Return the files of a unified diff with their hunks, numbered through."""
    files: list[PatchFile] = []
    number = 0
    for head, hunks in _parts(diff.split("\n")):
        file = PatchFile(_name(head), tuple(head))
        for lines in hunks or [[]]:
            number += 1
            found = _HUNK.match(lines[0]) if lines else None
            line = int(found[1]) if found else 0
            file.hunks.append(PatchHunk(number, file.name, line, tuple(lines)))
        files.append(file)
    return files


def patch_of(files: list[PatchFile], numbers: Collection[int]) -> str:
    """Return the patch of some hunks. Raises UsageError for a number that there is not."""
    every = {hunk.number: hunk for file in files for hunk in file.hunks}
    if unknown := sorted(set(numbers) - every.keys()):
        known = ", ".join(f"{n} ({hunk.file}:{hunk.line})" for n, hunk in every.items())
        raise UsageError(f"the diff has no change {unknown[0]}; available: {known}")
    lines: list[str] = []
    for file in files:
        chosen = [hunk for hunk in file.hunks if hunk.number in numbers]
        if chosen:
            lines += file.head
        moved = 0
        for hunk in chosen:
            if hunk.lines:
                head, moved = _moved(hunk.lines[0], moved)
                lines += [head, *hunk.lines[1:]]
    return "".join(f"{line}\n" for line in lines)


def _moved(head: str, moved: int) -> tuple[str, int]:
    """Return where a hunk begins when only some before it are applied, and what it moves."""
    found = _HUNK.match(head)
    if found is None:
        return head, moved
    old, new = (int(found[n] if found[n] is not None else 1) for n in (2, 4))
    # A side without lines is named by the line before it.
    begin = int(found[1]) + moved + (old == 0) - (new == 0)
    size = "" if found[4] is None else f",{new}"
    before = head.partition(" +")[0]
    return f"{before} +{begin}{size} @@{found[5]}", moved + new - old


def _parts(lines: list[str]) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Yield each file's head and hunks."""
    if lines and lines[-1] == "":
        lines = lines[:-1]
    head: list[str] = []
    hunks: list[list[str]] = []
    left = right = 0
    for line in lines:
        if left > 0 or right > 0:
            left -= line[:1] in (" ", "-", "")
            right -= line[:1] in (" ", "+", "")
            hunks[-1].append(line)
        elif found := _HUNK.match(line):
            left, right = (int(found[n] if found[n] is not None else 1) for n in (2, 4))
            hunks.append([line])
        elif hunks and line.startswith("\\"):
            hunks[-1].append(line)
        else:
            if head and (line.startswith("diff --git ") or (line.startswith("--- ") and hunks)):
                yield head, hunks
                head, hunks = [], []
            head.append(line)
    if head or hunks:
        yield head, hunks


def _name(head: list[str]) -> str:
    for sign in ("+++ ", "--- "):
        for line in head:
            name = line.removeprefix(sign).partition("\t")[0]
            if line.startswith(sign) and name != "/dev/null":
                return re.sub(r"^[ab]/", "", name.strip('"'))
    match = re.match(r"diff --git a/(.*) b/", head[0]) if head else None
    return match[1] if match else "(unknown file)"
