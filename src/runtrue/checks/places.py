"""Places: where in the project's own files a stack trace or a compiler's complaint points."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runtrue.loop import Workplace

#: Where a project's own directory holds the code of others, or git's.
_INSTALLED = frozenset({".venv", "venv", "site-packages", "node_modules", "vendor", ".git"})
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
#: `file:line:column`, as nearly everyone writes it, and Maven's `file:[line,column]`.
_PLACE = re.compile(
    r"(?:file://)?(?P<file>[^\s:()\[\]'\"`]+\.\w+):\[?(?P<line>\d+)(?:[:,](?P<column>\d+))?\]?"
)
#: A complaint begins its line with the place; Maven and Gradle say first how bad it is.
_COMPLAINT = re.compile(
    rf"^(?:\[ERROR\] |e: )?{_PLACE.pattern}:? (?:error: )?(?P<message>\S.*)$", re.MULTILINE
)

#: What changes of a file when it is written, if only with the same content.
State = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A line in a file of the project's, named as seen from the root of the sandbox."""

    file: str
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class Complaint:
    """What a compiler or interpreter has against a place."""

    place: Place
    message: str


def plain(text: str) -> str:
    """A text without colours."""
    return _COLOUR.sub("", text)


def places_in(text: str, workplace: Workplace) -> Iterator[Place]:
    """The places in a text that lie in the project's own files."""
    for match in _PLACE.finditer(text):
        file = own_file(match["file"], workplace)
        if file:
            yield Place(file, int(match["line"]), int(match["column"]) if match["column"] else None)


def complaints_in(text: str, workplace: Workplace) -> list[Complaint]:
    """The lines of a text that say what is wrong with a place of the project's, each once."""
    found: dict[Complaint, None] = {}
    for match in _COMPLAINT.finditer(plain(text)):
        place = next(places_in(match[0], workplace), None)
        if place:
            found[Complaint(place, match["message"].strip())] = None
    return list(found)


def relative(file: str, workplace: Workplace) -> str | None:
    """`file` as seen from the root of the sandbox, or None when it lies outside."""
    path = Path(os.path.normpath(workplace.directory / file))
    for root in (workplace.root, workplace.root.resolve()):
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return None


def own_file(name: str, workplace: Workplace) -> str | None:
    """A file of the project's, as seen from the root; None for one installed, absent, outside."""
    file = relative(name, workplace)
    if file is None or not _INSTALLED.isdisjoint(Path(file).parts[:-1]):
        return None
    return file if (workplace.root / file).is_file() else None


def files_below(directory: Path) -> Iterator[Path]:
    """The files below a directory that are not the code of others."""
    for place, directories, files in os.walk(directory):
        directories[:] = sorted(set(directories) - _INSTALLED)
        yield from (Path(place, file) for file in files)


def state_of(file: Path) -> State | None:
    """The state of a file; None when there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
