"""Locations: where in the project's own files a stack trace or a compiler's error points."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from runtrue.loop import Location, Workplace

#: Directories of a project that hold the code of others, or git's.
INSTALLED = frozenset({".venv", "venv", "site-packages", "node_modules", ".git", ".tox", ".nox"})
#: Holds the code of others, too, but in Python, where it is a name like any other.
_VENDORED = "vendor"
#: Colours, movements of the cursor, titles and links of a terminal.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
#: `file:line:column`, as nearly everyone writes it, and Maven's `file:[line,column]`.
_LOCATION = re.compile(
    r"(?:file://)?(?P<file>[^\s:()\[\]'\"`]+\.\w+):\[?(?P<line>\d+)(?:[:,](?P<column>\d+))?\]?"
)
_PYTHON_FRAME = re.compile(r'^\s*File "(.+)", line (\d+)', re.MULTILINE)
#: An error begins its line with the location; Maven and Gradle say first how bad it is.
_ERROR = re.compile(
    rf"^(?:\[ERROR\] |e: )?{_LOCATION.pattern}:? (?:error: )?(?P<message>\S.*)$", re.MULTILINE
)

#: What changes about a file when it is written, even with the same content.
State = tuple[int, ...]


def plain(text: str) -> str:
    """Return a text without a terminal's escape sequences."""
    return _ESCAPE.sub("", text) if "\x1b" in text else text


def locations_in(text: str, workplace: Workplace) -> Iterator[Location]:
    """Yield the locations in a text that are in the project's own files."""
    for match in _LOCATION.finditer(text):
        if file := own_file(match["file"], workplace):
            column = int(match["column"]) if match["column"] else None
            yield Location(file=file, line=int(match["line"]), column=column)


def python_locations(text: str, workplace: Workplace) -> list[Location]:
    """Return the locations in Python's tracebacks that are in the project's own files, in order."""
    frames = (f"{frame[1]}:{frame[2]}" for frame in _PYTHON_FRAME.finditer(text))
    return [place for frame in frames for place in locations_in(frame, workplace)]


def errors_in(text: str, workplace: Workplace) -> list[tuple[Location, str]]:
    """Return the errors that a compiler or interpreter reports in the project's files."""
    found: dict[tuple[Location, str], None] = {}
    for match in _ERROR.finditer(plain(text)):
        if location := next(locations_in(match[0], workplace), None):
            found[location, match["message"].strip()] = None
    return list(found)


def relative(file: str, workplace: Workplace) -> str | None:
    """Return `file` relative to the sandbox's root; None if it is outside."""
    path = Path(os.path.normpath(workplace.directory / file))
    for root in (workplace.root, workplace.root.resolve()):
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return None


def own_file(name: str, workplace: Workplace) -> str | None:
    """Return a file of the project relative to the root; None if installed, absent or outside."""
    file = relative(name, workplace)
    if file is None or is_installed(file):
        return None
    return file if (workplace.root / file).is_file() else None


def is_installed(file: str) -> bool:
    """True if a file of a project is the code of others, by the directories that it is in."""
    *directories, name = Path(file).parts
    is_vendored = _VENDORED in directories and not name.endswith(".py")
    return is_vendored or not INSTALLED.isdisjoint(directories)


def files_below(directory: Path) -> Iterator[Path]:
    """Yield the files below a directory that are not the code of others."""
    for parent, directories, files in os.walk(directory):
        directories[:] = sorted(set(directories) - INSTALLED)
        inside = os.path.relpath(parent, directory)
        yield from (Path(parent, f) for f in files if not is_installed(f"{inside}/{f}"))


class NewFiles:
    """The files below a directory that are new or changed since this object was made."""

    def __init__(self, directory: Path, is_wanted: Callable[[Path], bool]) -> None:
        self._directory = directory
        self._is_wanted = is_wanted
        self._before = self._states()

    def found(self) -> list[Path]:
        """Return the files by now."""
        return [file for file, state in self._states().items() if self._before.get(file) != state]

    def _states(self) -> dict[Path, State]:
        files = filter(self._is_wanted, files_below(self._directory))
        return {file: state for file in files if (state := state_of(file))}


def state_of(file: Path) -> State | None:
    """Return the state of a file; None if it does not exist."""
    try:
        found = file.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
