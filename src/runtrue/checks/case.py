"""Cases: the outcomes of single tests, as a runner reports them, and the verdict they make."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from runtrue.checks.confined import explain
from runtrue.checks.coverage import Coverage, Measured
from runtrue.checks.locations import NewFiles, errors_in, locations_in, plain
from runtrue.checks.reach import Reach
from runtrue.checks.reader import PreparedCommand, Reader, Reading, RunOptions, output_of, trim
from runtrue.checks.watch import JudgeWatch
from runtrue.foreign_text import one_line
from runtrue.loop import (
    NOTHING_COLLECTED,
    Fault,
    Finding,
    JudgedBy,
    Location,
    Outcome,
    Workplace,
    fault_of_exception,
)
from runtrue.process import Ended
from runtrue.sandbox import is_judge

#: The outcome with the highest weight stays if a test has several.
WEIGHT = {Outcome.SKIPPED: 0, Outcome.PASSED: 1, Outcome.FAILED: 2, Outcome.ERROR: 3}
BAD = (Outcome.FAILED, Outcome.ERROR)
#: The characters of a stack trace that are shown, at each end.
_STACK = 1_500
#: The characters of an expected or actual value in a message.
_VALUE = 60
#: More errors of a compiler than these help nobody.
_MOST_ERRORS = 20
#: Where in the scratch directory a runner writes its coverage.
COVERAGE = "coverage"
#: How interpreters begin the report of an error: its type, then its message.
_ERROR_LINE = re.compile(
    r"^([A-Za-z_][\w.$]*(?:Error|Exception))(?: \[\w+\])?: (.*)$", re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """The result of one test; `name` is `file::test`."""

    name: str
    outcome: Outcome
    #: The type of the error, or what else it was.
    category: str = "failure"
    message: str = ""
    location: Location | None = None
    stack: str = ""
    expected: str | None = None
    actual: str | None = None
    #: A system error such as `ECONNREFUSED`, where the error carried one.
    code: str | None = None
    seconds: float = 0.0


def without_tests(coverage: Coverage) -> Coverage:
    """Drop the tests from a coverage: they run as a whole, or not at all."""
    return Coverage({file: lines for file, lines in coverage.files.items() if not is_judge(file)})


def empty_directory(directory: Path) -> Path:
    """Make a directory, without anything that was in it before."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    return directory


class CaseReader(Reader):
    """A test runner: passes only when its report, complete, and its exit code both say so."""

    judged_by = JudgedBy.OUTPUT

    #: The runner's name in messages.
    title = "the test runner"
    #: Its options for stopping at the first failure, and for a full account of each.
    fail_fast: tuple[str, ...] = ()
    #: Its options, in a command, for leaving out tests after a failure.
    stopping: frozenset[str] = frozenset({"--bail", "-b", "-failfast", "--failfast", "--fail-fast"})
    verbose: tuple[str, ...] = ()
    #: The file name of its coverage report.
    coverage_report = ""

    def __init__(
        self, check: str, *, is_shell: bool, reach: Reach, directory: Path, options: RunOptions
    ) -> None:
        super().__init__(check, is_shell=is_shell, options=options)
        self.reach = reach
        self.directory = directory
        self._left: NewFiles | None = None
        self._watch: JudgeWatch | None = None

    def options(self, scratch: Path) -> tuple[str, ...]:
        """Return the options that make the runner write its report into `scratch`, or print it."""
        return ()

    def coverage_options(self, reports: Path) -> tuple[str, ...]:
        """Return the options that make the runner write its coverage into `reports`."""
        return ()

    def cannot_cover(self) -> str | None:
        """Say why the runner cannot measure coverage, and what would help; None if it can."""
        return None

    def prepare(
        self, argv: Sequence[str], environment: Mapping[str, str], scratch: Path
    ) -> PreparedCommand:
        """Have the reports written, and nothing coloured."""
        self._watch = JudgeWatch(self.directory, argv)
        wanted = self.run_options
        options = [*self.options(scratch)]
        options += self.fail_fast if wanted.fail_fast else ()
        options += self.verbose if wanted.verbose else ()
        options += self.selecting() if wanted.only else ()
        if wanted.cover:
            from runtrue.checks.coverage.report import is_report

            reports = empty_directory(scratch / COVERAGE)
            self._left = NewFiles(self.directory, is_report)
            if not self.cannot_cover():
                options += self.coverage_options(reports)
        call = PreparedCommand(
            argv=self.reach.argv(*options), environment={**environment, "NO_COLOR": "1"}
        )
        return self.covered_call(call, scratch / COVERAGE) if wanted.cover else call

    def selecting(self) -> tuple[str, ...]:
        """Return the options that make the runner run only the tests that are named."""
        return ()

    def covered_call(self, call: PreparedCommand, reports: Path) -> PreparedCommand:
        """Return the command that measures coverage, where options do not suffice."""
        return call

    def measured(self, workplace: Workplace) -> Measured:
        """Read the coverage that the runner was made to write, or else wrote anyway."""
        from runtrue.checks.coverage.report import left_coverage, read_report

        coverage: Coverage | None = None
        if self.coverage_report:
            file = workplace.scratch / COVERAGE / self.coverage_report
            coverage = read_report(file, workplace)
        if coverage is None and self._left:
            coverage = left_coverage(self._left, workplace)
        if coverage is not None:
            return Measured(coverage=without_tests(coverage))
        why_not = f"{self.title} left no readable coverage report; see its output"
        return Measured(why_not=self.cannot_cover() or why_not)

    def read(self, ended: Ended, workplace: Workplace) -> Reading:
        """Read the verdict from the report's cases and the exit code."""
        reading = self.read_report(ended, workplace)
        return reading.and_found(self.written_judges(self._watch, workplace))

    def read_report(self, ended: Ended, workplace: Workplace) -> Reading:
        """Read the verdict, without regard to what was done to the tests while they ran."""
        try:
            found = self.cases(ended, workplace)
            outside = self.outside(ended, workplace) if found is not None else []
        except (KeyError, TypeError, ValueError, AttributeError, OSError):
            # A report that is absent, cut off, or not of the form that it should have.
            found = None
        if found is None:
            return self._without_report(ended, workplace)
        return self.reading_of(ended, workplace, found, outside)

    def cases(self, ended: Ended, workplace: Workplace) -> list[CaseResult] | None:
        """Return all cases of the report; None, or any error of reading, if there is no report."""
        return None

    def outside(self, ended: Ended, workplace: Workplace) -> list[Finding]:
        """Return the failures outside of any test: files that could not be loaded or compiled."""
        return []

    def reading_of(
        self,
        ended: Ended,
        workplace: Workplace,
        cases: Iterable[CaseResult],
        outside: Sequence[Finding],
    ) -> Reading:
        """Combine the cases, the failures outside of them, and the exit code."""
        outcomes: dict[str, Outcome] = {}
        findings: list[Finding] = []
        only = self.run_options.only
        seconds = 0.0
        for case in _numbered(cases):
            if only and case.name not in only:
                continue  # it could not be left out, or counts as skipped now
            seconds += case.seconds if case.outcome is Outcome.PASSED else 0.0
            outcomes[case.name] = case.outcome
            if case.outcome in BAD:
                findings.append(self._of_case(case, workplace))
        findings += outside
        code = ended.exit_code
        if code is None or code < 0:
            findings.append(self.failure(ended))
        elif not outcomes and not findings:
            findings.append(self.nothing_collected(ended))
        elif code == 0 and findings:
            message = f"exited with code 0, although {self.title} reports failures"
            findings.append(self.finding("contradiction", message, Fault.CHECK))
        elif code != 0 and not findings:
            message = f"exited with code {code} although {self.title} reports no failure"
            findings.append(self.finding("exit_code", message, sample=output_of(ended)))
        return Reading(
            passed=not findings,
            findings=tuple(findings),
            cases=outcomes,
            cut_short=bool(findings) and self.stops_at_a_failure,
            seconds_passed=seconds,
        )

    @property
    def stops_at_a_failure(self) -> bool:
        """True if the runner leaves out tests once one has failed."""
        given = {word.partition("=")[0] for word in self.reach.words}
        return self.run_options.fail_fast or not given.isdisjoint(self.stopping)

    def nothing_collected(self, ended: Ended) -> Finding:
        """Return the finding for a run without a single test, which proves nothing."""
        message = f"{self.title} found no test to run"
        return self.finding(NOTHING_COLLECTED, message, Fault.CHECK, sample=output_of(ended))

    def _of_case(self, case: CaseResult, workplace: Workplace) -> Finding:
        number = getattr(errno, case.code or "", None)
        explained = explain(
            case.category,
            _with_values(case) or "failed without a message",
            fault_of_exception((), error_number=number),
            workplace,
            number=number,
        )
        # The sandbox's path says nothing.
        stack = plain(case.stack).replace(f"{workplace.root}{os.sep}", "")
        data = {"stack_trace": stack, "expected": case.expected, "actual": case.actual}
        finding = self.finding(
            explained.category,
            trim(explained.message),
            explained.fault,
            location=replace(case.location or Location(), symbol=case.name),
            sample=trim(stack, _STACK) or None,
            data={k: trim(plain(v), _STACK) for k, v in data.items() if v} | explained.data,
        )
        return replace(finding, transient=explained.fault is Fault.ENVIRONMENT)

    def _without_report(self, ended: Ended, workplace: Workplace) -> Reading:
        code = ended.exit_code
        if code is None or code < 0:
            return Reading(passed=False, findings=(self.failure(ended),))
        if code != 0:
            findings = self.crash(ended, workplace)
            if findings:
                return Reading(passed=False, findings=tuple(findings))
            if self.is_shell:
                # Something else in the line may have failed before the runner's turn.
                return Reading(passed=False, findings=(self.failure(ended),))
        message = f"{self.title} left no readable report (exit code {code})"
        finding = self.finding("no_report", message, Fault.CHECK, sample=output_of(ended))
        return Reading(passed=False, findings=(finding,))

    def crash(self, ended: Ended, workplace: Workplace) -> list[Finding]:
        """Return the errors in the project's files that a run reported before it broke off."""
        texts = (ended.stderr.text, ended.stdout.text)
        found = [error for text in texts for error in errors_in(text, workplace)]
        if found:
            sample = output_of(ended)
            return [self.at(where, "build", what, sample) for where, what in found[:_MOST_ERRORS]]
        text = plain(ended.stderr.text)
        location, error = next(locations_in(text, workplace), None), _ERROR_LINE.search(text)
        if location is None:
            return []
        category, message = error.groups() if error else ("crash", f"{self.title} stopped here")
        return [self.at(location, category, message, output_of(ended))]

    def at(
        self,
        location: Location,
        category: str,
        message: str,
        sample: str,
        symbol: str | None = None,
    ) -> Finding:
        """Return a finding at a location, outside of any test."""
        return self.finding(
            category,
            trim(plain(message)),
            location=replace(location, symbol=symbol or location.file),
            sample=trim(plain(sample)) or None,
        )


def _with_values(case: CaseResult) -> str:
    """Return a case's message whose first line says what was expected and what came instead."""
    message = plain(case.message).strip()
    first, line_end, rest = message.partition("\n")
    if case.expected is None or case.actual is None:
        return message
    wanted, got = (one_line(plain(value), _VALUE + 1) for value in (case.expected, case.actual))
    if wanted in first and got in first:
        return message
    return f"{first.rstrip(' :')}: expected {wanted}, got {got}{line_end}{rest}"


def _numbered(cases: Iterable[CaseResult]) -> Iterator[CaseResult]:
    """Yield the cases, those with the name of an earlier one numbered: none may hide another."""
    seen: Counter[str] = Counter()
    for case in cases:
        seen[case.name] += 1
        number = seen[case.name]
        yield case if number == 1 else replace(case, name=f"{case.name} #{number}")
