"""JUnit XML: the reports of Maven Surefire, Gradle, JUnit's console launcher, and many others."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from runtrue.checks.case import Case, CaseReader
from runtrue.checks.java_sources import Sources
from runtrue.checks.places import Place, files_below, relative
from runtrue.checks.reader import Call
from runtrue.loop import Outcome, Workplace
from runtrue.process import Ended

_REPORTS = "junit"
_MAVEN = frozenset({"mvn", "mvnw", "mvnd"})
#: Where the builders leave their reports, whichever module of the project it is.
_LEFT = frozenset({"surefire-reports", "failsafe-reports", "test-results"})
#: JUnit 5 and JUnit 4, each with its own spaces.
_COMPARED = re.compile(r"expected: ?<(?P<expected>.*)> but was: ?<(?P<actual>.*)>$", re.DOTALL)


class JunitReader(CaseReader):
    """Maven, Gradle and the console launcher."""

    title = "JUnit"

    @property
    def _is_console(self) -> bool:
        return any(
            "junit-platform-console" in w or "ConsoleLauncher" in w for w in self.reach.words
        )

    def options(self, scratch: Path) -> tuple[str, ...]:
        """The builders write reports unasked, the console launcher must be told where."""
        if Path(self.reach.program).name in _MAVEN:
            wished = (
                ("-Dsurefire.skipAfterFailureCount=1", self.manner.fail_fast),
                ("-DtrimStackTrace=false", self.manner.verbose),
            )
            return tuple(option for option, is_wished in wished if is_wished)
        if not self._is_console or self._own_directory:
            return ()
        return (f"--reports-dir={scratch / _REPORTS}",)

    def cannot_cover(self) -> str | None:
        """What runs inside of the builders is theirs to say; JaCoCo is what they have for it."""
        return (
            "the build left no JaCoCo report: have it write target/site/jacoco/jacoco.xml"
            " (Maven: jacoco:report) or build/reports/jacoco/test/jacocoTestReport.xml"
            " (Gradle: jacocoTestReport)"
        )

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
