"""Any other test command: its exit code, and whatever JUnit XML or TAP it left or printed.

Where it runs Python, an exit code of 0 counts only when the tests came to their end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runtrue.checks.case import WEIGHT, CaseReader, CaseResult
from runtrue.checks.junit_reader import read_junit
from runtrue.checks.locations import NewFiles, python_locations
from runtrue.checks.python_exit import PythonEnd, PythonExit
from runtrue.checks.reach import Reach
from runtrue.checks.reader import PreparedCommand, Reader, Reading, RunOptions, output_of
from runtrue.checks.tap import Tap, read_tap
from runtrue.loop import NOTHING_COLLECTED, Fault, Finding, JudgedBy, Outcome, Workplace
from runtrue.process import Ended
from runtrue.settings_file import lenient_text

_SUFFIXES = frozenset({".xml", ".tap"})
#: Options that make a runner print TAP; another reporter that was given before is overridden.
_TAP = {"ava": ("--tap",), "tap": ("--reporter=tap",)}
#: How far into an XML file the first test suite may begin.
_HEAD = 4_096


class OtherReader(CaseReader):
    """Looks for new reports of the command; without any, the exit code decides."""

    title = "its report"
    judged_by = JudgedBy.EXIT_CODE

    def __init__(
        self, check: str, *, is_shell: bool, reach: Reach, directory: Path, options: RunOptions
    ) -> None:
        super().__init__(
            check, is_shell=is_shell, reach=reach, directory=directory, options=options
        )
        self._new_files: NewFiles | None = None
        self._command = reach.line
        self._exit: PythonExit | None = None
        self._end: PythonEnd | None = None

    def prepare(
        self, argv: Sequence[str], environment: Mapping[str, str], scratch: Path
    ) -> PreparedCommand:
        """Have TAP printed, if the runner can; reports that exist already are not its own."""
        self._new_files = NewFiles(self.directory, lambda file: file.suffix in _SUFFIXES)
        super().prepare(argv, environment, scratch)
        if PythonExit.is_recorded(self._command):
            self._exit = PythonExit(self._command, scratch)
            environment = self._exit.prepare(environment)
        options = [o for o in _TAP.get(self.reach.tool, ()) if o not in self.reach.words]
        call = self.reach.argv(*options) if options else tuple(argv)
        return PreparedCommand(argv=call, environment=dict(environment))

    def read(self, ended: Ended, workplace: Workplace) -> Reading:
        """Read the verdict from all reports and the exit code, if the tests came to their end."""
        end = self._end = self._exit.read() if self._exit else None
        reading = super().read(ended, workplace)
        if end is None:
            return reading
        found = [self.tampered(problem) for problem in end.problems]
        if end.broken_off and ended.exit_code == 0:
            message = "the process exited with code 0 before the tests finished"
            found.append(self.finding("died", message, sample=output_of(ended)))
        return reading.and_found(found)

    def cannot_cover(self) -> str | None:
        """Ask for a report: how an unknown tool is made to measure, its users know."""
        from runtrue.checks.coverage.report import NAMES

        names = ", ".join(NAMES)
        return f"the command left no coverage report; have it write one of {names}"

    def read_report(self, ended: Ended, workplace: Workplace) -> Reading:
        """Read the verdict from all reports together, or from the exit code alone."""
        left = self._new_files.found() if self._new_files else []
        cases = _unittest_cases(self._end.tests, workplace) if self._end else []
        outside: list[Finding] = []
        texts = [ended.stdout.text, *(lenient_text(file) for file in left if file.suffix == ".tap")]
        has_assertions = self.reach.tool in ("tap", "tape")
        for text in texts:
            if tap := read_tap(text, workplace, has_assertions=has_assertions):
                cases += self._with_unfinished(tap, ended, workplace)
                outside += self._broken_off(tap)
        for file in left:
            if file.suffix == ".xml" and "<testsuite" in lenient_text(file)[:_HEAD]:
                try:
                    cases += read_junit(file, workplace)
                except ValueError as error:
                    outside.append(self.finding("no_report", str(error), Fault.CHECK))
        if not cases and not outside and self._end and self._end.ran_nothing:
            message, sample = "unittest found no test to run", output_of(ended)
            found = self.finding(NOTHING_COLLECTED, message, Fault.CHECK, sample=sample)
            return Reading(passed=False, findings=(found,))
        if not cases and not outside:
            return Reader.read(self, ended, workplace)
        return self.reading_of(ended, workplace, cases, outside)

    def _with_unfinished(self, tap: Tap, ended: Ended, workplace: Workplace) -> list[CaseResult]:
        """Return the cases; the test in which the process died has failed by what it died of."""
        if tap.unfinished is None or ended.exit_code == 0:
            return tap.cases
        crash = next(iter(self.crash(ended, workplace)), None)
        message = "the process exited before this test finished"
        died = CaseResult(
            name=tap.unfinished,
            outcome=Outcome.FAILED,
            category=crash.category if crash else "died",
            message=crash.message if crash else message,
            location=crash.location if crash else None,
            stack=ended.stderr.text,
        )
        return [*(case for case in tap.cases if case.name != died.name), died]

    def _broken_off(self, tap: Tap) -> list[Finding]:
        if tap.bailed_out is not None:
            return [self.finding("bail_out", f"bailed out: {tap.bailed_out}")]
        if tap.planned is not None and tap.planned != tap.reported:
            message = f"planned {tap.planned} tests and reported {tap.reported}"
            return [self.finding("plan", message)]
        return []


def _unittest_cases(tests: Sequence[dict[str, Any]], workplace: Workplace) -> list[CaseResult]:
    """Return the tests that unittest ran, each with the worst that was recorded of it."""
    found: dict[str, CaseResult] = {}
    for test in tests:
        outcome = Outcome(test["outcome"])
        if outcome is Outcome.ERROR and test.get("in_body"):
            outcome = Outcome.FAILED
        known = found.get(test["id"])
        if known is not None and WEIGHT[known.outcome] >= WEIGHT[outcome]:
            continue
        text = test.get("text") or ""
        own = python_locations(text, workplace)
        found[test["id"]] = CaseResult(
            name=test["id"],
            outcome=outcome,
            category=test.get("type") or "failure",
            message=test.get("message") or "",
            location=own[-1] if own else None,
            stack=text,
        )
    return list(found.values())
