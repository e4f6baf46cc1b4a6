"""Diffs side by side, with who made each change and how sure that is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import zip_longest

from runtrue.loop import Hunk
from runtrue.sandbox import PatchFile, split_patch

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)")
_TOKEN = re.compile(r"\w+|\s+|.")
#: More lines than these are not drawn: the patch is there to download.
_MOST_LINES = 3_000
#: Longer lines are compared as a whole.
_LONGEST_COMPARED = 400
#: Lines less alike than this are other lines, not changed ones.
_ALIKE = 0.5


@dataclass(frozen=True, slots=True)
class DiffPiece:
    """A piece of a line, and whether it differs from the other side."""

    text: str
    changed: bool = False


@dataclass(frozen=True, slots=True)
class DiffSide:
    """One side of a row: a line with its number, or nothing."""

    number: int | None = None
    pieces: tuple[DiffPiece, ...] = ()


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A row: the same line twice, or what it was and what it is."""

    kind: str
    old: DiffSide = DiffSide()
    new: DiffSide = DiffSide()


@dataclass(frozen=True, slots=True)
class Origin:
    """Who made a change, how sure it is to be right, and the tests that it turned green."""

    fixer: str
    confidence: float | None = None
    reason: str = ""
    tests: tuple[str, ...] = ()
    needed: bool = True


@dataclass(frozen=True, slots=True)
class DiffHunk:
    """A place that was changed."""

    anchor: str
    #: Its number in the whole diff, from 1.
    number: int
    heading: str
    rows: tuple[DiffRow, ...]
    origins: tuple[Origin, ...] = ()


@dataclass(slots=True)
class DiffFile:
    """A file that was changed."""

    name: str
    note: str = ""
    added: int = 0
    removed: int = 0
    hunks: list[DiffHunk] = field(default_factory=list)
    #: Of a file that is changed as a whole: its number among the hunks of the diff.
    number: int | None = None


@dataclass(frozen=True, slots=True)
class DiffView:
    """A whole diff, as far as it is drawn."""

    files: tuple[DiffFile, ...]
    left_out: int = 0

    @property
    def changes(self) -> int:
        """The number of changes that can be chosen from."""
        return sum(len(file.hunks) + (file.number is not None) for file in self.files)

    @property
    def added(self) -> int:
        """The number of lines that were added."""
        return sum(file.added for file in self.files)

    @property
    def removed(self) -> int:
        """The number of lines that were removed."""
        return sum(file.removed for file in self.files)


#: The places of a file, with their origins, and the origins of the whole file.
FileOrigins = tuple[Sequence[Hunk], Sequence[Origin]]


def view_diff(diff: str, origins: Mapping[str, FileOrigins] | None = None) -> DiffView:
    """Return a unified diff side by side."""
    lines = diff.removesuffix("\n").split("\n")
    parts = split_patch("\n".join(lines[:_MOST_LINES]))
    files = [_file(part, origins or {}, n) for n, part in enumerate(parts, 1)]
    return DiffView(tuple(files), max(0, len(lines) - _MOST_LINES))


def _file(part: PatchFile, origins: Mapping[str, FileOrigins], number: int) -> DiffFile:
    file = DiffFile(part.name, _note(part.head))
    hunks, of_file = origins.get(file.name, ((), ()))
    for index, hunk in enumerate(part.hunks, 1):
        if not hunk.lines:
            file.number = hunk.number
            continue
        body = [line.removesuffix("\r") for line in hunk.lines]
        file.hunks.append(_hunk(body, f"hunk-{number}-{index}", hunk.number, hunks, of_file))
    changed = [line for hunk in part.hunks for line in hunk.lines[1:]]
    file.added = sum(line.startswith("+") for line in changed)
    file.removed = sum(line.startswith("-") for line in changed)
    return file


def _note(head: Sequence[str]) -> str:
    for line in head:
        for sign, note in (
            ("new file", "new file"),
            ("deleted file", "deleted"),
            ("rename to", "renamed"),
            ("Binary files", "binary"),
            ("GIT binary patch", "binary"),
            ("new mode", "mode changed"),
        ):
            if line.startswith(sign):
                return note
    return ""


def _hunk(
    body: list[str], anchor: str, number: int, hunks: Sequence[Hunk], of_file: Sequence[Origin]
) -> DiffHunk:
    found = _HUNK.match(body[0])
    old, new = (int(found[1]), int(found[2])) if found else (0, 0)
    first, rows = new, []
    removed: list[str] = []
    added: list[str] = []

    def flush() -> None:
        nonlocal old, new
        for before, after in zip_longest(removed, added):
            rows.append(_changed(before, after, old, new))
            old += before is not None
            new += after is not None
        removed.clear()
        added.clear()

    for line in body[1:]:
        sign, text = line[:1], line[1:]
        if sign == "-":
            if added:
                flush()
            removed.append(text)
        elif sign == "+":
            added.append(text)
        elif sign == "\\":
            continue
        else:
            flush()
            same = (DiffPiece(text),)
            rows.append(DiffRow("same", DiffSide(old, same), DiffSide(new, same)))
            old, new = old + 1, new + 1
    flush()
    made = [
        Origin(h.fixer, *_sureness(h.fixer, of_file), tuple(h.tests), h.needed)
        for h in hunks
        if first <= h.line <= max(new, first)
    ]
    return DiffHunk(anchor, number, found[3] if found else "", tuple(rows), tuple(made or of_file))


def _sureness(fixer: str, of_file: Iterable[Origin]) -> tuple[float | None, str]:
    return next(((o.confidence, o.reason) for o in of_file if o.fixer == fixer), (None, ""))


def _changed(before: str | None, after: str | None, old: int, new: int) -> DiffRow:
    if before is None:
        return DiffRow("added", new=DiffSide(new, (DiffPiece(after or ""),)))
    if after is None:
        return DiffRow("removed", old=DiffSide(old, (DiffPiece(before),)))
    left, right = _compared(before, after)
    return DiffRow("changed", DiffSide(old, left), DiffSide(new, right))


def _compared(before: str, after: str) -> tuple[tuple[DiffPiece, ...], tuple[DiffPiece, ...]]:
    """Return both lines in pieces, with those marked that differ."""
    whole = (DiffPiece(before),), (DiffPiece(after),)
    if max(len(before), len(after)) > _LONGEST_COMPARED:
        return whole
    left, right = _TOKEN.findall(before), _TOKEN.findall(after)
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return whole
    pieces: tuple[list[DiffPiece], list[DiffPiece]] = ([], [])
    for tag, a, b, c, d in matcher.get_opcodes():
        for side, words in ((0, left[a:b]), (1, right[c:d])):
            if words:
                pieces[side].append(DiffPiece("".join(words), tag != "equal"))
    return tuple(pieces[0]), tuple(pieces[1])
