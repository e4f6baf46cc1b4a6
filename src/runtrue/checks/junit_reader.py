"""JUnit XML: read the reports of Maven Surefire, Gradle, JUnit's console launcher and others."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from runtrue.checks.case import CaseReader, CaseResult
from runtrue.checks.java_sources import Sources
from runtrue.checks.locations import files_below, relative
from runtrue.checks.reader import PreparedCommand
from runtrue.loop import Location, Outcome, Workplace
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
        """Name the reports' directory to the console launcher; the builders need no such option."""
        if Path(self.reach.program).name in _MAVEN:
            wished = (
                ("-Dsurefire.skipAfterFailureCount=1", self.run_options.fail_fast),
                ("-DtrimStackTrace=false", self.run_options.verbose),
            )
            return tuple(option for option, is_wished in wished if is_wished)
        if not self._is_console or self._own_directory:
            return ()
        return (f"--reports-dir={scratch / _REPORTS}",)

    def cannot_cover(self) -> str | None:
        """Ask for JaCoCo, which the builders run themselves."""
        return (
            "the build left no JaCoCo report: have it write target/site/jacoco/jacoco.xml"
            " (Maven: jacoco:report) or build/reports/jacoco/test/jacocoTestReport.xml"
            " (Gradle: jacocoTestReport)"
        )

    @property
    def _own_directory(self) -> str | None:
        words = iter(self.reach.words)
        for word in words:
            name, _, value = word.partition("=")
            if name == "--reports-dir":
                return value or next(words, None)
        return None

    def prepare(
        self, argv: Sequence[str], environment: Mapping[str, str], scratch: Path
    ) -> PreparedCommand:
        """Remove old reports: those of other candidates keep Gradle from writing new ones."""
        shutil.rmtree(scratch / _REPORTS, ignore_errors=True)
        for file in self._files(scratch):
            file.unlink(missing_ok=True)
        return super().prepare(argv, environment, scratch)

    def _files(self, scratch: Path) -> list[Path]:
        directories = [scratch / _REPORTS]
        if self._own_directory:
            directories.append(self.directory / self._own_directory)
        left = (
            file
            for file in files_below(self.directory)
            if file.match("TEST-*.xml") and not _LEFT.isdisjoint(file.parts)
        )
        return sorted({*left, *(f for parent in directories for f in parent.glob("TEST-*.xml"))})

    def cases(self, ended: Ended, workplace: Workplace) -> list[CaseResult] | None:
        """Return the tests of all reports."""
        files = self._files(workplace.scratch)
        return list(chain.from_iterable(read_junit(f, workplace) for f in files)) if files else None


def read_junit(file: Path, workplace: Workplace) -> Iterator[CaseResult]:
    """Yield the cases in a JUnit XML file. Raises ValueError if it is none."""
    import junitparser

    try:
        report: Any = junitparser.JUnitXml.fromfile(str(file))
    except (ParseError, SyntaxError, junitparser.JUnitXmlError) as error:
        raise ValueError(f"{file} is not valid JUnit XML: {error}") from error
    sources = Sources(workplace)
    is_suite = isinstance(report, junitparser.TestSuite)
    for suite in [report] if is_suite else list(report):
        # A suite yields the cases of the suites inside of it, too.
        for case in suite:
            yield _case(case, sources)


def _case(case: Any, sources: Sources) -> CaseResult:
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
        return CaseResult(name=name, outcome=Outcome.PASSED)
    if isinstance(result, junitparser.Skipped):
        return CaseResult(name=name, outcome=Outcome.SKIPPED)
    text = (result.text or "").strip()
    own = list(sources.frames(text))
    error_type = (result.type or "").rpartition(".")[2]
    message = result.message or text.partition("\n")[0]
    compared = _COMPARED.search(message)
    line = attributes.get("line")
    number = int(line) if line and line.isdigit() else None
    default = Location(file=where, line=number) if where else None
    is_failure = isinstance(result, junitparser.Failure)
    return CaseResult(
        name=name,
        outcome=Outcome.FAILED if is_failure or _is_thrown_in(test, text) else Outcome.ERROR,
        category=error_type or ("failure" if is_failure else "error"),
        message=message,
        location=own[0][1] if own else default,
        stack="\n".join([_head(text), *(frame for frame, _ in own)]) if own else text,
        expected=compared["expected"] if compared else None,
        actual=compared["actual"] if compared else None,
    )


def _is_thrown_in(test: str, stack: str) -> bool:
    """True if an exception came out of a test's own method, not of what prepares or loads it."""
    method = re.match(r"[\w$]+", test)
    return method is not None and re.search(rf"\.{re.escape(method[0])}\(", stack) is not None


def _shortened(owner: str, file: str) -> str:
    """Return the class of a test, unless its file says it: `$Inner` of `TotalTest$Inner`."""
    short = owner.rpartition(".")[2]
    return "" if not short or short == Path(file).stem else f"{short}."


def _head(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("at "))
