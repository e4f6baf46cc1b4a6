"""Sources: the files that findings lead to, the most relevant first, as far as there is room.

Where a test only compares a value, no frame of the failure is in the code that is wrong: the files
that the failing test imports are followed as well.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath

from runtrue.checks import Language, language_of
from runtrue.encoding import decoded
from runtrue.fixers.edits import inside
from runtrue.fixers.ranges import relevant_ranges, words_in
from runtrue.loop import Finding, Workplace
from runtrue.models import fence
from runtrue.redaction import is_secret_file

#: Characters of all files for those who write something new, and the least room for one of them.
BUDGET = 60_000
_LEAST = 4_000
#: The findings that are followed, and how much less than the one before each of them counts.
_MOST_FINDINGS = 40
_LATER = 0.9
_LARGEST = 400_000
#: Files whose imports are followed.
_FOLLOWED = 20
_MOST_FILES = 20_000
_INSTALLED = frozenset({"node_modules", "site-packages", "vendor", "venv", "target", "__pycache__"})
#: It begins where a word does, and is bounded: a long text without a blank takes no longer.
_PLACE = re.compile(
    r"(?<![^\s:()\[\]'\"`])(?P<file>[^\s:()\[\]'\"`]{1,400}\.\w{1,20})"
    r"(?:\", line |:\[?)(?P<line>\d{1,9})"
)
_IMPORTS = re.compile(
    r"""^\s*(?:from|import|use|mod|export)\b.*|.*\b(?:require|import)\(.*|.*\bfrom\s+['"].*"""
    r"""|^\s*["'][\w./-]+["']\s*$""",
    re.MULTILINE,
)
_WORD = re.compile(r"[\w-]+")
#: Names that say nothing of what a file holds: its directory does.
_NAMELESS = frozenset({"__init__", "index", "mod"})
_TEST_AFFIX = re.compile(r"^test_|_test$|\.(test|spec)$|Tests?$|^Test")


@dataclass(frozen=True, slots=True)
class Lead:
    """A file, named from the root, that findings lead to, and the lines of it that they name.

    `names` are those of functions in it that matter.
    """

    file: str
    lines: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Trail:
    """The files found so far, with their scores and lines."""

    workplace: Workplace
    scores: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    lines: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    names: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    #: The files whose imports are among them.
    followed: set[str] = field(default_factory=set)

    def add(self, name: object, score: float, line: object = None) -> str | None:
        """Count a file, if it is one of the project's that may be shown, and return it."""
        file = own_file(str(name), self.workplace) if name else None
        if file is None:
            return None
        self.scores[file] += score
        if isinstance(line, int):
            self.lines[file].add(line)
        return file

    def include(self, other: _Trail, weight: float) -> None:
        """Add what another finding leads to. Many findings in one file are one reason to show it.

        Of files with the same score, those that were found first come first.
        """
        for file, score in other.scores.items():
            self.scores[file] = max(self.scores[file], score * weight)
            self.lines[file] |= other.lines[file]
            self.names[file] |= other.names[file]
        self.followed |= other.followed

    def best(self) -> list[str]:
        """Return the files, those with the highest scores first."""
        return sorted(self.scores, key=lambda file: -self.scores[file])


def leads_of(
    findings: Iterable[Finding], workplace: Workplace, also: Sequence[str] = ()
) -> list[Lead]:
    """Return the files that findings lead to, those named by `also` before all others.

    What the first findings lead to comes before what later ones do.
    """
    trail = _Trail(workplace)
    for file in also:
        trail.add(file, 12)
    root, listed = workplace.root, sources_below(workplace.root)

    @cache
    def imports(file: str) -> tuple[str, ...]:
        return imported_by(file, root, listed)

    weight = 1.0
    for finding in list(findings)[:_MOST_FINDINGS]:
        own = _Trail(workplace)
        _follow(finding, own)
        _follow_imports(own, imports, score=4)
        trail.include(own, weight)
        weight *= _LATER
    _follow_imports(trail, imports, score=1)
    return [
        Lead(file, frozenset(trail.lines[file]), frozenset(trail.names[file]))
        for file in trail.best()
    ]


def _follow_imports(
    trail: _Trail, imports: Callable[[str], tuple[str, ...]], *, score: float
) -> None:
    """Add the files that those found so far import."""
    root = trail.workplace.root
    for file in trail.best()[:_FOLLOWED]:
        if file in trail.followed:
            continue
        trail.followed.add(file)
        # What a test calls by name is what matters of the files that it imports.
        text = read_text(root / file) or ""
        ranges = relevant_ranges(file, text, trail.lines[file], trail.names[file])
        words = words_in(text, ranges)
        for other in imports(file):
            if trail.add(root / other, score):
                trail.names[other] |= words


def _follow(finding: Finding, trail: _Trail) -> None:
    place = finding.location
    trail.add(place.file, 8, place.line)
    if place.symbol and "::" in place.symbol:
        name, _, case = place.symbol.partition("::")
        if file := trail.add(name, 4):
            trail.names[file].add(case.rpartition("::")[2].partition("[")[0])
    missing = finding.data.get("missing")
    for file, lines in missing.items() if isinstance(missing, dict) else ():
        for line in lines:
            trail.add(file, 0, line)
        trail.add(file, 8)
    paths = finding.data.get("paths")
    for file in paths if isinstance(paths, list) else ():
        trail.add(file, 6)
    frames = finding.data.get("frames")
    for depth, frame in enumerate(reversed(frames if isinstance(frames, list) else [])):
        if isinstance(frame, dict):
            trail.add(frame.get("file"), 6 if depth == 0 else 3, frame.get("line"))
    stack = finding.data.get("stack_trace") or finding.sample or ""
    named = {(match["file"], int(match["line"])) for match in _PLACE.finditer(str(stack))}
    for file, line in sorted(named):
        trail.add(file, 3, line)


def own_file(name: str, workplace: Workplace) -> str | None:
    """Return a file of the project's that may be shown, relative to the root; None for others."""
    root = workplace.root
    # A program may have named the file through a link that leads to the root, or without it.
    for base, top in ((root, root), (workplace.directory, root), (root, root.resolve())):
        path = os.path.relpath(os.path.normpath(base / name), top)
        file = inside(root, path)
        if file is None or not file.is_file():
            continue
        parts = PurePosixPath(path).parts
        if not _INSTALLED.isdisjoint(parts) or ".venv" in parts or not may_be_shown(root, path):
            return None
        return PurePosixPath(path).as_posix()
    return None


def may_be_shown(root: Path, path: str) -> bool:
    """Return whether a file below a directory neither is a secret nor links to one or outside."""
    file = inside(root, path)
    if file is None or is_secret_file(path):
        return False
    return not is_secret_file(file.relative_to(root.resolve()).as_posix())


def sources_below(root: Path) -> tuple[str, ...]:
    """Return the files below a directory that are code of the project's own."""
    return tuple(sorted(_walk(root)))


def _walk(root: Path) -> Iterator[str]:
    seen = 0
    for place, directories, files in os.walk(root):
        directories[:] = sorted(d for d in directories if d not in _INSTALLED and d[0] != ".")
        for name in files:
            if language_of(name) is not Language.OTHER:
                path = Path(place, name)
                file = path.relative_to(root).as_posix()
                if not path.is_symlink() or may_be_shown(root, file):
                    yield file
        seen += len(files)
        if seen > _MOST_FILES:
            return


def imported_by(file: str, root: Path, listed: Sequence[str]) -> tuple[str, ...]:
    """Return those of the listed files that a file seems to import, by the names it imports."""
    text = read_text(root / file) or ""
    words = {word for line in _IMPORTS.findall(text) for word in _WORD.findall(line)}
    language, place = language_of(file), PurePosixPath(file).parent
    tested = _TEST_AFFIX.sub("", PurePosixPath(file).stem)
    return tuple(
        other
        for other in listed
        if other != file
        and _is_kin(language_of(other), language)
        and (
            module_of(other) in words
            or (tested and tested == PurePosixPath(other).stem)
            # All files of a directory are one package there, and import nothing of each other.
            or (language is Language.GO and PurePosixPath(other).parent == place)
            or (language is Language.RUST and other.endswith("src/lib.rs"))
        )
    )


def _is_kin(one: Language, other: Language) -> bool:
    scripts = (Language.JAVASCRIPT, Language.TYPESCRIPT)
    return one is other or (one in scripts and other in scripts)


def module_of(file: str) -> str:
    """Return the name by which a file is imported."""
    path = PurePosixPath(file)
    stem = path.stem
    return path.parent.name if stem in _NAMELESS and path.parent.name else stem


def read_text(path: Path) -> str | None:
    """Return the text of a file; None if it is not text, or too long to be of use."""
    try:
        if path.stat().st_size > _LARGEST:
            return None
        return decoded(path.read_bytes())
    except (OSError, UnicodeDecodeError):
        return None


def show_files(leads: Iterable[Lead], root: Path, *, budget: int = BUDGET) -> str:
    """Return the files, each in its fence, within the budget; of long ones what matters."""
    shown = []
    left, most = budget, max(budget // 3, _LEAST)
    for lead in leads:
        text = read_text(root / lead.file) if left > 0 and may_be_shown(root, lead.file) else None
        if text is None:
            continue
        room = min(left, most)
        part = _whole(lead.file, text) if len(text) <= room else _excerpts(lead, text, room)
        shown.append(part)
        left -= len(part)
    return "\n\n".join(shown)


def _whole(file: str, text: str) -> str:
    return f"### {file}\n{fence(text, limit=len(text))}"


def _excerpts(lead: Lead, text: str, room: int) -> str:
    """Return the functions and lines that matter, or else the first lines."""
    lines = text.split("\n")
    ranges = relevant_ranges(lead.file, text, lead.lines, lead.names)
    parts = []
    for first, last in ranges or [(1, text[:room].count("\n") or 1)]:
        piece = "\n".join(lines[first - 1 : last])[:room]
        room -= len(piece)
        parts.append(
            f"### {lead.file}, lines {first} to {first + piece.count(chr(10))} of {len(lines)}\n"
            f"{fence(piece, limit=max(len(piece), 1))}"
        )
        if room <= 0:
            break
    return "\n\n".join(parts)
