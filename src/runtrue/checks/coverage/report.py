"""Coverage reports: recognise the format of a report and read the lines that ran.

| format | what it counts |
|---|---|
| coverage.py, JSON | lines |
| Istanbul, JSON of jest, vitest, nyc and c8 | statements |
| lcov tracefile | lines |
| Go, profile of `go test -coverprofile` | blocks from one position to another |
| Cobertura, XML of tools for many languages | lines |
| JaCoCo, XML | the instructions of each line |
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from pathlib import Path

import msgspec

from runtrue.checks.coverage.comments import lines_without_code
from runtrue.checks.coverage.facts import Coverage, FileCoverage
from runtrue.checks.coverage.xml import Element, elements
from runtrue.checks.framework import Language, language_of
from runtrue.checks.go_modules import Modules
from runtrue.checks.java_sources import Sources
from runtrue.checks.locations import NewFiles, own_file
from runtrue.loop import Workplace
from runtrue.typed_data import decode_json

#: Usual names of reports, in any directory of the project; of several formats the first counts.
NAMES = (
    *("coverage-final.json", "lcov.info"),
    *("coverage.json", "coverage.xml", "cobertura.xml", "cobertura-coverage.xml"),
    *("cover.out", "coverage.out"),
    *("jacoco.xml", "jacocoTestReport.xml"),
)
#: Nobody wants a report larger than this.
_LARGEST = 512 * 1024 * 1024
_JAVASCRIPT = (Language.JAVASCRIPT, Language.TYPESCRIPT)
_GO_BLOCK = re.compile(
    r"^(?P<package>.+)/(?P<file>[^/]+\.go):(?P<first>\d+)\.(?P<from>\d+),(?P<last>\d+)\.(?P<to>\d+)"
    r" (?P<statements>\d+) (?P<count>\d+)$"
)
_GO_COMMENT = re.compile(rb"//.*")


def read_report(file: Path, workplace: Workplace, base: Path | None = None) -> Coverage | None:
    """Return what a report covers, whatever its name; None if it cannot be read.

    Relative paths in it start at `base`, by default where the command ran.
    """
    counts = _LineCounts(workplace, base or workplace.directory)
    try:
        if file.stat().st_size > _LARGEST:
            return None
        _read(file.read_bytes(), counts)
    except (OSError, ValueError, LookupError, RecursionError, msgspec.MsgspecError):
        return None
    return counts.coverage


def is_report(file: Path) -> bool:
    """Return whether a file is a report by its name."""
    return file.name in NAMES


def left_coverage(reports: NewFiles, workplace: Workplace) -> Coverage | None:
    """Return the coverage that a command wrote by itself, of the first format found."""
    new = sorted(reports.found())
    for name in NAMES:
        read = [read_report(file, workplace) for file in new if file.name == name]
        if found := [report for report in read if report is not None]:
            return reduce(or_, found)
    return None


@dataclass(slots=True)
class _LineCounts:
    """The counts of lines of each file; the report's paths are relative to `base`.

    Files outside of the project, installed ones, and those that are gone are left out.
    """

    workplace: Workplace
    base: Path
    _counts: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def own(self, *names: str) -> str | None:
        """Return the file of the project that one of some names means."""
        for name in filter(None, names):
            # There may be a link on the way, as temporary directories are on some systems.
            for path in (self.base / name, Path(os.path.realpath(self.base / name))):
                if file := own_file(str(path), self.workplace):
                    return file
        return None

    def add(self, file: str | None, counts: Iterable[tuple[int, int]]) -> None:
        """Count how often lines of a file ran; None is a file that is not the project's."""
        if file is not None:
            self._counts.setdefault(file, []).extend(counts)

    @property
    def coverage(self) -> Coverage:
        files = {file: FileCoverage.of_counts(counts) for file, counts in self._counts.items()}
        return Coverage(files)


def _read(data: bytes, counts: _LineCounts) -> None:
    data = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if data.startswith(b"{"):
        # Besides files by their paths, Istanbul has nothing at the top.
        is_coveragepy = "meta" in decode_json(data, dict[str, msgspec.Raw])
        (_read_coveragepy if is_coveragepy else _read_istanbul)(data, counts)
    elif data.startswith(b"<"):
        found = elements(data)
        {"coverage": _read_cobertura, "report": _read_jacoco}[found[0].name](found, counts)
    elif data.startswith(b"mode: "):
        _read_go_profile(data, counts)
    elif b"SF:" in data:
        _read_lcov(data, counts)
    else:
        raise ValueError("its format is unknown")


class _CoveragepyFile(msgspec.Struct):
    executed_lines: list[int]
    missing_lines: list[int]


class _CoveragepyReport(msgspec.Struct):
    files: dict[str, _CoveragepyFile]


def _read_coveragepy(data: bytes, counts: _LineCounts) -> None:
    for name, file in decode_json(data, _CoveragepyReport).files.items():
        ran = [(line, 1) for line in file.executed_lines]
        counts.add(counts.own(name), [*ran, *((line, 0) for line in file.missing_lines)])


class _Position(msgspec.Struct):
    line: int


class _Range(msgspec.Struct):
    start: _Position


class _IstanbulFile(msgspec.Struct):
    path: str
    ranges: dict[str, _Range] = msgspec.field(name="statementMap")
    counts: dict[str, int] = msgspec.field(name="s")


def _read_istanbul(data: bytes, counts: _LineCounts) -> None:
    """Count a line by the statements that begin in it."""
    for file in decode_json(data, dict[str, _IstanbulFile]).values():
        name = counts.own(file.path)
        if name is None:
            continue
        # No statement begins in a comment, but c8 knows none: it makes one of every line.
        idle = lines_without_code(counts.workplace.root / name)
        lines = ((found.start.line, file.counts[key]) for key, found in file.ranges.items())
        counts.add(name, (one for one in lines if one[0] not in idle))


def _read_lcov(data: bytes, counts: _LineCounts) -> None:
    """Read the lines `SF` (a file) and `DA` (a line of it, and how often it ran)."""
    name: str | None = None
    is_open = False
    lines: list[tuple[int, int]] = []
    for row in data.decode(errors="replace").splitlines():
        key, _, value = row.strip().partition(":")
        if key == "SF":
            name, lines, is_open = counts.own(value), [], True
        elif key == "DA" and is_open:
            number, count = value.split(",")[:2]
            lines.append((int(number), int(count)))
        elif key == "end_of_record" and is_open:
            idle: set[int] = set()
            if name and language_of(name) in _JAVASCRIPT:
                idle = lines_without_code(counts.workplace.root / name)
            counts.add(name, (one for one in lines if one[0] not in idle))
            is_open = False
    if is_open:
        raise ValueError("it ends in the middle of a record")


def _read_go_profile(data: bytes, counts: _LineCounts) -> None:
    modules = Modules(counts.workplace)
    texts: dict[str, list[bytes]] = {}
    for line in data.decode(errors="replace").splitlines():
        if not line or line.startswith("mode: "):
            continue
        block = _GO_BLOCK.match(line)
        if block is None:
            raise ValueError(f"{line!r} is not a line of a profile")
        file = modules.path(block["package"], block["file"])
        name = file and counts.own(str(counts.workplace.root / file))
        if name and int(block["statements"]):
            if name not in texts:
                texts[name] = (counts.workplace.root / name).read_bytes().splitlines()
            count = int(block["count"])
            counts.add(name, ((number, count) for number in _go_code(block, texts[name])))


def _go_code(block: re.Match[str], text: list[bytes]) -> Iterator[int]:
    """Yield the lines of a block that hold some of its code: not the brace before it, say."""
    first, last = int(block["first"]), int(block["last"])
    for number in range(first, min(last, len(text)) + 1):
        # Columns count bytes, and the block ends before the last.
        end = int(block["to"]) - 1 if number == last else None
        start = int(block["from"]) - 1 if number == first else 0
        if _GO_COMMENT.sub(b"", text[number - 1][start:end]).strip(b"{}() \t"):
            yield number


def _read_cobertura(found: list[Element], counts: _LineCounts) -> None:
    """Read classes, which name their files relative to one of the sources."""
    sources = [element.text.strip() for element in found if element.name == "source"]
    name: str | None = None
    for element in found:
        if element.name == "class":
            file = element.attributes["filename"]
            name = counts.own(*(f"{source}/{file}" for source in sources if source), file)
            counts.add(name, ())
        elif element.name == "line":
            number, hits = (int(element.attributes[key]) for key in ("number", "hits"))
            counts.add(name, [(number, hits)])


def _read_jacoco(found: list[Element], counts: _LineCounts) -> None:
    """Read source files, which are named by their package and bare name."""
    sources = Sources(counts.workplace)
    package = ""
    name: str | None = None
    for element in found:
        if element.name == "package":
            package = element.attributes["name"]
        elif element.name == "sourcefile":
            name = sources.of_file(package, element.attributes["name"])
            counts.add(name, ())
        elif element.name == "line":
            number, ran = (int(element.attributes[key]) for key in ("nr", "ci"))
            counts.add(name, [(number, ran)])
