"""Cases: how single tests ended, as a runner reports them, and the verdict they make together."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runtrue.checks.confined import limit_told, way_out
from runtrue.checks.coverage import Coverage, Measured
from runtrue.checks.places import Place, complaints_in, places_in, plain
from runtrue.checks.reach import Reach
from runtrue.checks.reader import Call, Manner, Reader, Reading, output_of, trim
from runtrue.checks.watch import JudgeWatch
from runtrue.loop import (
    RESOURCE_LIMIT,
    Fault,
    Finding,
    Location,
    Outcome,
    Workplace,
    fault_of_exception,
)
from runtrue.process import Ended
from runtrue.sandbox import is_judge

if TYPE_CHECKING:
    from runtrue.checks.coverage.left import LeftReports

#: Which outcome stays when several tests have one name.
WEIGHT = {Outcome.SKIPPED: 0, Outcome.PASSED: 1, Outcome.FAILED: 2, Outcome.ERROR: 3}
BAD = (Outcome.FAILED, Outcome.ERROR)
#: What is kept of a stack trace, at each end.
_STACK = 1_500
#: More complaints than these help nobody.
_COMPLAINTS = 20
#: Where in the scratch directory a runner writes its coverage.
_COVERAGE = "coverage"
#: How interpreters begin to tell of an error: its type, then what it says.
_ERROR_LINE = re.compile(
    r"^([A-Za-z_][\w.$]*(?:Error|Exception))(?: \[\w+\])?: (.*)$", re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """How one test ended; `name` is `file::test`."""

    name: str
    outcome: Outcome
    #: The type of the error, or what else it was.
    category: str = "failure"
    message: str = ""
    place: Place | None = None
    stack: str = ""
    expected: str | None = None
    actual: str | None = None
    #: A system error such as `ECONNREFUSED`, where the error carried one.
    code: str | None = None


def without_tests(coverage: Coverage) -> Coverage:
    """The coverage of what is tested: tests run as a whole, or not at all."""
    return Coverage({file: lines for file, lines in coverage.files.items() if not is_judge(file)})


class CaseReader(Reader):
    """A test runner: passes only when its report, complete, and its exit code both say so."""

    #: What the runner is called in messages.
    title = "the test runner"
    #: Its options for stopping at the first failure, and for saying all there is about one.
    fail_fast: tuple[str, ...] = ()
    verbose: tuple[str, ...] = ()
    #: What it calls the report of its coverage.
    coverage_report = ""

    def __init__(
        self, check: str, *, is_shell: bool, reach: Reach, directory: Path, manner: Manner
    ) -> None:
        super().__init__(check, is_shell=is_shell, manner=manner)
        self.reach = reach
        self.directory = directory
        self._left: LeftReports | None = None
        self._watch: JudgeWatch | None = None

    def options(self, scratch: Path) -> tuple[str, ...]:
        """What makes the runner write its report into `scratch`, or print it."""
        return ()

    def covering(self, reports: Path) -> tuple[str, ...]:
        """What makes the runner write its coverage into `reports`."""
        return ()

    def cannot_cover(self) -> str | None:
        """Why the runner cannot be made to, and what would help."""
        return None

    def prepare(self, argv: Sequence[str], environment: Mapping[str, str], scratch: Path) -> Call:
        """Have the reports written, and nothing coloured."""
        self._watch = JudgeWatch(self.directory, argv)
        options = [*self.options(scratch)]
        if self.manner.fail_fast:
            options += self.fail_fast
        if self.manner.verbose:
            options += self.verbose
        if self.manner.cover:
            from runtrue.checks.coverage.left import LeftReports

            shutil.rmtree(scratch / _COVERAGE, ignore_errors=True)
            (scratch / _COVERAGE).mkdir()
            self._left = LeftReports(self.directory)
            if not self.cannot_cover():
                options += self.covering(scratch / _COVERAGE)
        call = Call(
            argv=self.reach.argv(*options),
            environment={**environment, "NO_COLOR": "1"},
        )
        return self.under_cover(call, scratch / _COVERAGE) if self.manner.cover else call

    def under_cover(self, call: Call, reports: Path) -> Call:
        """The command as it is to be run for its coverage, where options do not suffice."""
        return call

    def measured(self, workplace: Workplace) -> Measured:
        """From what the runner was told to write, or else from what it was going to anyway."""
        coverage = self.own_coverage(workplace)
        if coverage is None and self._left:
            coverage = self._left.coverage(workplace)
        if coverage is not None:
            return Measured(coverage=without_tests(coverage))
        why_not = f"{self.title} left no coverage report that can be read: see what it printed"
        return Measured(why_not=self.cannot_cover() or why_not)

    def own_coverage(self, workplace: Workplace) -> Coverage | None:
        """What the report says that the runner was told to write."""
        from runtrue.checks.coverage.report import read_report

        if not self.coverage_report:
            return None
        return read_report(workplace.scratch / _COVERAGE / self.coverage_report, workplace)

    def read(self, ended: Ended, workplace: Workplace) -> Reading:
        """The verdict from the report's cases and the exit code."""
        reading = self.read_report(ended, workplace)
        return reading.and_found(self.tampering(self._watch, workplace))

    def read_report(self, ended: Ended, workplace: Workplace) -> Reading:
        """The same, whatever was done to the tests while they ran."""
        try:
            found = self.cases(ended, workplace)
            outside = self.outside(ended, workplace) if found is not None else []
        except (KeyError, TypeError, ValueError, AttributeError, OSError):
            # A report that is absent, cut off, or not of the form that it should have.
            found = None
        if found is None:
            return self._without_report(ended, workplace)
        return self.judge(ended, workplace, found, outside)

    def cases(self, ended: Ended, workplace: Workplace) -> list[Case] | None:
        """All cases of the report; None, or any error of reading, when there is no report."""
        raise NotImplementedError

    def outside(self, ended: Ended, workplace: Workplace) -> list[Finding]:
        """What went wrong outside of any test: files that could not be loaded or compiled."""
        return []

    def judge(
        self,
        ended: Ended,
        workplace: Workplace,
        cases: Iterable[Case],
        outside: Sequence[Finding],
    ) -> Reading:
        """The verdict from cases, from what went wrong outside of them, and from the exit code."""
        outcomes: dict[str, Outcome] = {}
        findings: list[Finding] = []
        for case in cases:
            known = outcomes.get(case.name, case.outcome)
            outcomes[case.name] = max(case.outcome, known, key=WEIGHT.__getitem__)
            if case.outcome in BAD:
                findings.append(self._of_case(case, workplace))
        findings += outside
        code = ended.exit_code
        if code is None or code < 0:
            findings.append(self.failure(ended))
        elif not outcomes and not findings:
            findings.append(self.nothing_collected(ended))
        elif code == 0 and findings:
            message = f"exited with code 0 although {self.title} reports failures"
            findings.append(self.finding("contradiction", message, Fault.CHECK))
        elif code != 0 and not findings:
            message = f"exited with code {code} although {self.title} reports no failure"
            findings.append(self.finding("exit_code", message, sample=output_of(ended)))
        return Reading(passed=not findings, findings=tuple(findings), cases=outcomes)

    def nothing_collected(self, ended: Ended) -> Finding:
        """A run without a single test proves nothing."""
        message = f"{self.title} found no test to run"
        return self.finding("nothing_collected", message, Fault.CHECK, sample=output_of(ended))

    def _of_case(self, case: Case, workplace: Workplace) -> Finding:
        number = getattr(errno, case.code or "", None)
        fault = fault_of_exception((), error_number=number)
        place = case.place or Place("")
        limit = limit_told(workplace.confinement, (), number)
        category, message = case.category, plain(case.message).strip() or "failed without a word"
        told: dict[str, float | str] = {}
        if limit is not None:
            category, fault, told = RESOURCE_LIMIT, Fault.CANDIDATE, limit[1]
            message = f"{message}: {limit[0]}"
        elif hint := way_out(workplace, (), number, message):
            message = f"{message} ({hint})"
        # Where the sandbox lies says nothing.
        stack = plain(case.stack).replace(f"{workplace.root}{os.sep}", "")
        data = {"stack_trace": stack, "expected": case.expected, "actual": case.actual}
        return Finding(
            source=self.check,
            category=category,
            message=trim(message),
            fault=fault,
            transient=fault is Fault.ENVIRONMENT,
            location=Location(
                file=place.file or None, line=place.line, column=place.column, symbol=case.name
            ),
            sample=trim(stack, _STACK) or None,
            data={k: trim(plain(v), _STACK) for k, v in data.items() if v} | told,
        )

    def _without_report(self, ended: Ended, workplace: Workplace) -> Reading:
        """The runner did not get as far as its report."""
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
        message = f"{self.title} left no report that can be read (exit code {code})"
        finding = self.finding("no_report", message, Fault.CHECK, sample=output_of(ended))
        return Reading(passed=False, findings=(finding,))

    def crash(self, ended: Ended, workplace: Workplace) -> list[Finding]:
        """What a run that broke off says against files of the project's."""
        texts = (ended.stderr.text, ended.stdout.text)
        found = [c for text in texts for c in complaints_in(text, workplace)]
        if found:
            return [
                self.at(complaint.place, "build", complaint.message, output_of(ended))
                for complaint in found[:_COMPLAINTS]
            ]
        text = plain(ended.stderr.text)
        place, error = next(places_in(text, workplace), None), _ERROR_LINE.search(text)
        if place is None:
            return []
        category, message = error.groups() if error else ("crash", f"{self.title} broke off here")
        return [self.at(place, category, message, output_of(ended))]

    def at(
        self, place: Place, category: str, message: str, sample: str, symbol: str | None = None
    ) -> Finding:
        """A finding against a place, outside of any test."""
        return Finding(
            source=self.check,
            category=category,
            message=trim(plain(message)),
            fault=Fault.CANDIDATE,
            location=Location(
                file=place.file, line=place.line, column=place.column, symbol=symbol or place.file
            ),
            sample=trim(plain(sample)) or None,
        )
