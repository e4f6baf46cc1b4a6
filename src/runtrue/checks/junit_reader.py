"""JUnit XML: the reports of Maven Surefire, Gradle, JUnit's console launcher, and many others."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from runtrue.checks.case import Case, CaseReader
from runtrue.checks.places import Place, files_below
from runtrue.checks.reach import Reach
from runtrue.checks.reader import Call, relative
from runtrue.loop import Outcome, Workplace
from runtrue.process import Ended

_REPORTS = "junit"
#: Where the builders leave their reports, whichever module of the project it is.
_LEFT = frozenset({"surefire-reports", "failsafe-reports", "test-results"})
_FRAME = re.compile(
    r"^\s*at (?:[\w.-]+/)*(?P<method>[\w.$<>]+)\((?P<file>[\w$-]+\.\w+):(?P<line>\d+)\)"
)
#: JUnit 5 and JUnit 4, each with its own spaces.
_COMPARED = re.compile(r"expected: ?<(?P<expected>.*)> but was: ?<(?P<actual>.*)>$", re.DOTALL)
_SOURCES = frozenset({".java", ".kt", ".groovy", ".scala"})


class JunitReader(CaseReader):
    """Maven, Gradle and the console launcher."""

    title = "JUnit"

    def __init__(self, check: str, *, is_shell: bool, reach: Reach, directory: Path) -> None:
        super().__init__(check, is_shell=is_shell, reach=reach)
        self.directory = directory

    @property
    def _is_console(self) -> bool:
        return any(
            "junit-platform-console" in w or "ConsoleLauncher" in w for w in self.reach.words
        )

    def options(self, scratch: Path) -> tuple[str, ...]:
        """The builders write reports unasked, the console launcher must be told where."""
        if not self._is_console or self._own_directory:
            return ()
        return (f"--reports-dir={scratch / _REPORTS}",)

    @property
    def _own_directory(self) -> str | None:
        """Where the command itself has the reports written."""
        words = iter(self.reach.words)
        for word in words:
            name, _, value = word.partition("=")
            if name == "--reports-dir":
                return value or next(words, None)
        return None

    def prepare(self, argv: Sequence[str], environment: Mapping[str, str], scratch: Path) -> Call:
        """Remove old reports: they are of other candidates, and Gradle would not write new ones."""
        shutil.rmtree(scratch / _REPORTS, ignore_errors=True)
        for file in self._files(scratch):
            file.unlink(missing_ok=True)
        return super().prepare(argv, environment, scratch)

    def _files(self, scratch: Path) -> list[Path]:
        places = [scratch / _REPORTS]
        if self._own_directory:
            places.append(self.directory / self._own_directory)
        left = (
            file
            for file in files_below(self.directory)
            if file.match("TEST-*.xml") and not _LEFT.isdisjoint(file.parts)
        )
        return sorted({*left, *(file for place in places for file in place.glob("TEST-*.xml"))})

    def cases(self, ended: Ended, workplace: Workplace) -> list[Case] | None:
        """The tests of all reports."""
        files = self._files(workplace.scratch)
        return list(chain.from_iterable(read_junit(f, workplace) for f in files)) if files else None


def read_junit(file: Path, workplace: Workplace) -> Iterator[Case]:
    """The cases in a JUnit XML file. Raises ValueError when it is none."""
    import junitparser

    try:
        report: Any = junitparser.JUnitXml.fromfile(str(file))
    except (ParseError, SyntaxError, junitparser.JUnitXmlError) as error:
        raise ValueError(f"{file} is not JUnit XML: {error}") from error
    sources = Sources(workplace)
    is_suite = isinstance(report, junitparser.TestSuite)
    for suite in [report] if is_suite else list(report):
        # Those of the suites inside of it come with its own.
        for case in suite:
            yield _case(case, sources)


def _case(case: Any, sources: Sources) -> Case:
    import junitparser

    attributes: Mapping[str, str] = case._elem.attrib
    # Gradle and the console launcher show the method as it is declared.
    test = (case.name or "").removesuffix("()")
    owner = case.classname or ""
    file = attributes.get("file")
    where = (relative(file, sources.workplace) or file) if file else sources.of_class(owner)
    name = f"{where}::{_shortened(owner, where)}{test}" if where else f"{owner}::{test}"
    result = next(iter(case.result), None)
    if result is None:
        return Case(name=name, outcome=Outcome.PASSED)
    if isinstance(result, junitparser.Skipped):
        return Case(name=name, outcome=Outcome.SKIPPED)
    text = (result.text or "").strip()
    own = list(sources.frames(text))
    kind = (result.type or "").rpartition(".")[2]
    message = result.message or text.partition("\n")[0]
    compared = _COMPARED.search(message)
    line = attributes.get("line")
    default = Place(where, int(line) if line and line.isdigit() else None) if where else None
    is_failure = isinstance(result, junitparser.Failure)
    return Case(
        name=name,
        outcome=Outcome.FAILED if is_failure else Outcome.ERROR,
        category=kind or ("failure" if is_failure else "error"),
        message=message,
        place=own[0][1] if own else default,
        stack="\n".join([_head(text), *(frame for frame, _ in own)]) if own else text,
        expected=compared["expected"] if compared else None,
        actual=compared["actual"] if compared else None,
    )


def _shortened(owner: str, file: str) -> str:
    """The class of a test as far as its file does not say it: `$Inner` of `TotalTest$Inner`."""
    short = owner.rpartition(".")[2]
    return "" if not short or short == Path(file).stem else f"{short}."


def _head(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("at "))


class Sources:
    """The project's source files, which Java's reports name by class or by bare name."""

    def __init__(self, workplace: Workplace) -> None:
        self.workplace = workplace

    @cached_property
    def _files(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for file in files_below(self.workplace.directory):
            if file.suffix in _SOURCES:
                name = relative(str(file), self.workplace)
                if name:
                    found.setdefault(file.name, []).append(name)
        return found

    def of_class(self, name: str) -> str | None:
        """The file that a class is written in, by the custom that they have one name."""
        top = name.partition("$")[0].replace(".", "/")
        base = top.rpartition("/")[2]
        named = (f"{base}{suffix}" for suffix in _SOURCES)
        return self._best(top, chain.from_iterable(self._files.get(n, ()) for n in named))

    def frames(self, stack: str) -> Iterator[tuple[str, Place]]:
        """The frames of a stack that are in the project's own files, and where."""
        for line in stack.splitlines():
            frame = _FRAME.match(line)
            if frame:
                package = frame["method"].rpartition(".")[0].rpartition(".")[0].replace(".", "/")
                found = self._best(
                    f"{package}/{Path(frame['file']).stem}", self._files.get(frame["file"], ())
                )
                if found:
                    yield line, Place(found, int(frame["line"]))

    @staticmethod
    def _best(path: str, files: Iterable[str]) -> str | None:
        """The file that agrees with a path from its end for longest."""

        def agreement(file: str) -> int:
            theirs, ours = (reversed(Path(p).with_suffix("").parts) for p in (file, path))
            same = [a == b for a, b in zip(theirs, ours, strict=False)]
            return same.index(False) if False in same else len(same)

        return max(files, key=agreement, default=None)
