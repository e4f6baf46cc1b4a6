"""pytest: read through a plugin that reports exceptions as data while the tests run."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runtrue.checks.case import BAD, COVERAGE, WEIGHT, empty_directory, without_tests
from runtrue.checks.case_info import CaseInfo
from runtrue.checks.confined import explain
from runtrue.checks.coverage import Measured
from runtrue.checks.dependencies import is_declared
from runtrue.checks.locations import is_installed, own_file, python_locations, relative
from runtrue.checks.reader import PreparedCommand, Reader, Reading, RunOptions, output_of, trim
from runtrue.checks.signed_report import ReportKey, SignedReport
from runtrue.checks.watch import JudgeWatch
from runtrue.loop import (
    NOTHING_COLLECTED,
    TIMEOUT,
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

_PLUGIN = Path(__file__).with_name("pytest_plugin")
_REPORT = "pytest.jsonl"
_ONLY = "pytest-only.json"
#: pytest's exit codes beyond passed and failed.
_INTERNAL_ERROR, _USAGE_ERROR, _NONE_COLLECTED = 3, 4, 5
#: Their category and message if no test is to blame.
_BLAMED = {
    _NONE_COLLECTED: (NOTHING_COLLECTED, "pytest found no test to run"),
    _USAGE_ERROR: ("usage", "pytest does not understand its command line or configuration"),
    _INTERNAL_ERROR: ("internal_error", "pytest itself, or one of its plugins, failed"),
}
#: The exception that the plugin raises in a test that goes on forever.
_TOO_LONG = "TestTimeout"
_NOT_STARTED = ("not_runnable", "pytest did not start")
_NO_TESTS = ("no_report", "pytest started, but reported no test")


class PytestReader(Reader):
    """Passes only when the exit code is 0 and the report, complete, says the same."""

    judged_by = JudgedBy.SIGNED_REPORT

    def __init__(self, check: str, *, is_shell: bool, options: RunOptions, directory: Path) -> None:
        super().__init__(check, is_shell=is_shell, options=options)
        self.directory = directory
        self._report = _PytestReport()
        self._key: ReportKey | None = None
        self._watch: JudgeWatch | None = None

    def prepare(
        self, argv: Sequence[str], environment: Mapping[str, str], scratch: Path
    ) -> PreparedCommand:
        """Load the plugin through the environment, so that any way of calling pytest gets it."""
        report = scratch / _REPORT
        self._key = ReportKey(report)
        self._key.leave()
        self._watch = JudgeWatch(self.directory, argv)
        plugin_first = [str(_PLUGIN), *filter(None, [environment.get("PYTHONPATH")])]
        options = [environment.get("PYTEST_ADDOPTS", ""), "-p runtrue_report"]
        options += ["-x"] if self.run_options.fail_fast else []
        # Enough to outweigh a `-q` in the command: differences are shown whole from the second on.
        options += ["-vvv"] if self.run_options.verbose else []
        return PreparedCommand(
            argv=tuple(argv),
            environment={
                **environment,
                "PYTHONPATH": os.pathsep.join(plugin_first),
                "PYTEST_ADDOPTS": " ".join(options),
                "RUNTRUE_REPORT": str(report),
                "RUNTRUE_TEST_SECONDS": f"{self.run_options.test_seconds:g}",
                "RUNTRUE_ONLY": self._selection(scratch),
                **(self._coverage_settings(report, scratch) if self.run_options.cover else {}),
            },
        )

    def can_select(self) -> bool:
        """Return true: the plugin picks tests by their names."""
        return True

    def _selection(self, scratch: Path) -> str:
        """Leave the names of the tests to be run in a file; there may be many."""
        if not self.run_options.only:
            return ""
        file = scratch / _ONLY
        file.write_text(json.dumps(self.run_options.only))
        return str(file)

    def _coverage_settings(self, report: Path, scratch: Path) -> dict[str, str]:
        # Found, not imported: it is lent to a project that has none.
        spec = importlib.util.find_spec("coverage")
        wanted = {
            "reports": str(empty_directory(scratch / COVERAGE)),
            "report": str(report),
            "source": str(self.directory),
            "lent": str(Path(spec.origin).parent) if spec and spec.origin else None,
        }
        return {"RUNTRUE_COVERAGE": json.dumps(wanted)}

    def read(self, ended: Ended, workplace: Workplace) -> Reading:
        """Read the verdict from the report's lines and the exit code."""
        signed = self._key.read() if self._key else SignedReport()
        report = self._report = _PytestReport(signed.lines)
        tampered = self._tampered(signed, workplace)
        if not report.count("start") and not tampered:
            return self._never_started(ended, workplace, started=signed.started)
        cases: dict[str, Outcome] = {}
        for case in report.cases:
            outcome = Outcome(case["outcome"])
            if case["when"] != "collect" or outcome is Outcome.SKIPPED:
                cases[case["id"]] = max(
                    outcome, cases.get(case["id"], outcome), key=WEIGHT.__getitem__
                )
        bad = [case for case in report.cases if case["outcome"] in BAD]
        findings = [self._case(case, report, workplace) for case in bad]
        if report.is_broken_off:
            findings.append(self._died(ended, report, workplace))
        elif not findings and (
            ended.exit_code != 0 or not report.count("end") or report.count("interrupted")
        ):
            if not tampered:
                findings.append(self._no_test_blamed(ended, report, workplace))
        elif not findings and (tests := report.without_outcome):
            findings.append(self._not_run(tests, report, workplace))
        # What was tried comes first: it may be the reason for the rest.
        findings[:0] = tampered
        passed = [case for case in report.cases if case["outcome"] == Outcome.PASSED]
        return Reading(
            passed=not findings,
            findings=tuple(findings),
            cases=cases,
            cut_short=bool(findings) and report.is_cut_short,
            slowest=max((case.get("cpu", 0.0) for case in passed), default=0.0),
            seconds_passed=sum(case["seconds"] for case in passed),
        )

    def _tampered(self, signed: SignedReport, workplace: Workplace) -> list[Finding]:
        """Return what the candidate has done to its own judges, as far as it is noticed."""
        watch = self._watch
        found = [self.tampered(problem) for problem in signed.problems]
        found += self.written_judges(watch, workplace)
        for event in self._report.lines:
            if event["event"] == "tampered":
                location = _blamed(event, workplace, watch.files if watch else None)
                if location is not None:
                    message = f"{event['what']} was replaced while the tests ran"
                    data = {"replaced": event["what"], "test": event["id"]}
                    found.append(self.tampered(message, location, data=data))
        return list({f.fingerprint: f for f in found}.values())

    def _not_run(self, tests: list[str], report: _PytestReport, workplace: Workplace) -> Finding:
        """Return the finding for collected tests without an outcome, of which pytest is silent."""
        message = f"{len(tests)} collected tests never finished: {tests[0]}"
        location = Location(file=report.file(tests[0], workplace), symbol=tests[0])
        return self.finding("not_run", message, location=location)

    def measured(self, workplace: Workplace) -> Measured:
        """Read the report of the plugin, or of pytest-cov at its bidding."""
        from runtrue.checks.coverage.report import read_report

        event = self._report.last("coverage")
        if event is None:
            why_not = "pytest did not finish, and so left no coverage: see its findings"
            return Measured(why_not=why_not)
        if event["why_not"]:
            return Measured(why_not=event["why_not"])
        file = workplace.scratch / COVERAGE / "coverage.json"
        coverage = read_report(file, workplace, Path(event["directory"]))
        if coverage is None:
            return Measured(why_not="coverage.py left no readable report; see its output")
        return Measured(coverage=without_tests(coverage))

    def case_infos(self, cases: Iterable[str], workplace: Workplace) -> dict[str, CaseInfo]:
        """Return what the plugin reports of every test that was collected."""
        infos = {
            item["id"]: CaseInfo(
                file=relative(item["file"], workplace),
                line=item["line"],
                markers=tuple(item["markers"]),
            )
            for item in self._report.lines
            if item["event"] == "item"
        }
        return {**super().case_infos(cases, workplace), **infos}

    def _never_started(self, ended: Ended, workplace: Workplace, *, started: bool) -> Reading:
        # A line for the shell that does not come to pytest is judged by how it ends.
        if ended.timed_out or (self.is_shell and not (started and ended.exit_code == 0)):
            return super().read(ended, workplace)
        blamed = _BLAMED[_USAGE_ERROR] if ended.exit_code == _USAGE_ERROR else _NOT_STARTED
        if started and ended.exit_code == 0:
            blamed = _NO_TESTS
        finding = self.finding(*blamed, Fault.CHECK, sample=output_of(ended))
        if own := python_locations(ended.stderr.text, workplace):
            # pytest itself runs the project's code: the code of one of its parts, or of a plugin.
            where = replace(own[-1], symbol=self.check)
            finding = replace(finding, fault=Fault.CANDIDATE, location=where, fingerprint="")
        return Reading(passed=False, findings=(finding,))

    def _died(self, ended: Ended, report: _PytestReport, workplace: Workplace) -> Finding:
        finding = self.failure(ended)
        if finding.category in ("exit_code", "not_runnable"):
            message = f"the process ended with code {ended.exit_code} before the tests finished"
            finding = replace(finding, category="died", message=message)
        test = report.unfinished
        location = Location(
            file=report.file(test, workplace) if test else None, symbol=test or self.check
        )
        return replace(finding, location=location, fault=Fault.CANDIDATE, fingerprint="")

    def _no_test_blamed(self, ended: Ended, report: _PytestReport, workplace: Workplace) -> Finding:
        if not report.count("session"):
            code = ended.exit_code
            if code != _USAGE_ERROR:
                return self._died(ended, report, workplace)
        else:
            # What pytest itself said: the process may be a shell that went on after it.
            code = report.exit_code
        if code in _BLAMED:
            return self.finding(*_BLAMED[code], Fault.CHECK, sample=output_of(ended))
        if report.count("interrupted"):
            message = "the run was stopped before all tests had finished"
            return self.finding("interrupted", message, sample=output_of(ended))
        return self.failure(ended)

    def _case(self, case: dict[str, Any], report: _PytestReport, workplace: Workplace) -> Finding:
        error = case["exception"] or {}
        explained = explain(
            error.get("type") or "failure",
            error.get("message") or _without_message(case),
            _fault(error, workplace.directory),
            workplace,
            number=error.get("errno"),
            bases=error.get("mro", ()),
        )
        frames = _in_project(error.get("frames", []), workplace)
        blamed = (_in_project([error.get("syntax") or {}], workplace) or frames or [{}])[-1]
        finding = self.finding(
            TIMEOUT if explained.category == _TOO_LONG else explained.category,
            trim(explained.message),
            explained.fault,
            location=Location(
                file=blamed.get("file") or report.file(case["id"], workplace),
                line=blamed.get("line"),
                column=blamed.get("column"),
                symbol=case["id"],
            ),
            sample=trim(case["text"]) or None,
            data={
                "when": case["when"],
                "frames": frames[-10:],
                **(error.get("compared") or {}),
                **explained.data,
            },
        )
        # A package does not install itself by waiting.
        is_transient = explained.fault is Fault.ENVIRONMENT and not error.get("module")
        return replace(finding, transient=is_transient)


def _without_message(case: dict[str, Any]) -> str:
    """Return what to say of a failure whose exception says nothing itself."""
    if case["exception"]:
        return "raised without a message"
    return case["text"].strip() or "failed without a message"


@dataclass(frozen=True, slots=True)
class _PytestReport:
    """The lines that the plugin wrote, as far as it came."""

    lines: tuple[dict[str, Any], ...] = ()

    def count(self, event: str) -> int:
        return sum(line["event"] == event for line in self.lines)

    def last(self, event: str) -> dict[str, Any] | None:
        return next((line for line in reversed(self.lines) if line["event"] == event), None)

    @property
    def cases(self) -> list[dict[str, Any]]:
        """The outcomes of tests, and modules that could not be collected, each of these once."""
        # Plugins have outcomes of their own, such as a test's that is run again.
        cases = [x for x in self.lines if x["event"] == "case" and x["outcome"] in set(Outcome)]
        # Under pytest-xdist every worker collects, and so reports, all of them.
        collected = {case["id"]: case for case in cases if case["when"] == "collect"}
        return [*collected.values(), *(case for case in cases if case["when"] != "collect")]

    @property
    def is_broken_off(self) -> bool:
        """True if a session that was started has not come to its end.

        It may run no tests on purpose, but none ends before it has read its command line.
        """
        events = {(line["session"], line["event"]) for line in self.lines}
        return any(
            (event == "session" and (session, "end") not in events)
            or (event == "opened" and (session, "ready") not in events)
            for session, event in events
        )

    @property
    def without_outcome(self) -> list[str]:
        """The tests that were collected to be run and have no outcome."""
        known = {(x["session"], x["id"]) for x in self.lines if x["event"] == "case"}
        return [
            test
            for line in self.lines
            if line["event"] == "collected"
            for test in line["ids"]
            if (line["session"], test) not in known
        ]

    @property
    def is_cut_short(self) -> bool:
        """True if pytest stopped at a test that failed, not at a module that cannot be read."""
        unread = any(x["when"] == "collect" and x["outcome"] in BAD for x in self.cases)
        return bool(self.without_outcome) and not unread and not self.is_broken_off

    @property
    def exit_code(self) -> int | None:
        end = self.last("end")
        return end["exit_code"] if end else None

    @property
    def unfinished(self) -> str | None:
        """The last started of the tests that never finished."""
        finished = {line["id"] for line in self.lines if line["event"] == "finished"}
        started = [line["id"] for line in self.lines if line["event"] == "started"]
        return next((test for test in reversed(started) if test not in finished), None)

    def file(self, test: str, workplace: Workplace) -> str | None:
        """Return the file of a test, whose id begins with its path from pytest's own root."""
        root = next((line["root"] for line in self.lines if line["event"] == "start"), ".")
        return relative(str(Path(root, test.partition("::")[0])), workplace)


def _in_project(frames: list[dict[str, Any]], workplace: Workplace) -> list[dict[str, Any]]:
    """Return those frames that are in files of the project, not in installed ones."""
    return [
        {**frame, "file": file}
        for frame in frames
        if not (name := frame.get("file") or "<none>").startswith("<")
        and (file := relative(name, workplace))
        and not is_installed(file)
    ]


def _blamed(
    event: dict[str, Any], workplace: Workplace, known: frozenset[str] | None
) -> Location | None:
    """Return where the candidate replaced a part of the judge; None if it was not the candidate.

    Installed plugins may change pytest as they like, and so may tests and what prepares them, if
    they existed before the tests ran. What comes from nowhere was made to look so.
    """
    files = event["files"]
    if not files:
        return Location()
    for name in files:
        file = own_file(name, workplace)
        if file is None:
            continue
        if not is_judge(file) or (known is not None and file not in known):
            return Location(file=file, line=event["line"] if name == files[0] else None)
    return None


def _fault(error: dict[str, Any], directory: Path) -> Fault:
    module = error.get("module")
    if module and is_declared(module, directory):
        # The project says that it needs it; that it is not installed is no bug in the code.
        return Fault.ENVIRONMENT
    return fault_of_exception(
        error.get("mro", ()), error_number=error.get("errno"), status=error.get("status")
    )
