"""pytest: read through a plugin that reports exceptions as data while the tests run."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runtrue.checks.case import without_tests
from runtrue.checks.case_info import CaseInfo
from runtrue.checks.confined import limit_told, way_out
from runtrue.checks.coverage import Measured
from runtrue.checks.dependencies import is_declared
from runtrue.checks.places import Place, own_file, relative
from runtrue.checks.reader import Call, Manner, Reader, Reading, output_of, trim
from runtrue.checks.sealed import Seal, Sealed
from runtrue.checks.watch import JudgeWatch
from runtrue.loop import (
    RESOURCE_LIMIT,
    TIMEOUT,
    Fault,
    Finding,
    Location,
    Outcome,
    Workplace,
    fault_of_exception,
)
from runtrue.process import Ended
from runtrue.sandbox import is_judge

_PLUGIN = Path(__file__).with_name("pytest_plugin")
_REPORT = "pytest.jsonl"
_COVERAGE = "coverage"
#: pytest's exit codes beyond passed and failed.
_INTERNAL_ERROR, _USAGE_ERROR, _NOTHING_COLLECTED = 3, 4, 5
#: What they mean, as category and message, when no test is to blame.
_BLAMED = {
    _NOTHING_COLLECTED: ("nothing_collected", "pytest found no test to run"),
    _USAGE_ERROR: ("usage", "pytest does not understand its command line or configuration"),
    _INTERNAL_ERROR: ("internal_error", "pytest itself, or a plugin of it, failed"),
}
#: What the plugin raises in a test that goes on for ever.
_TOO_LONG = "TestTimeout"
_NOT_STARTED = ("not_runnable", "pytest did not start")
_NO_TESTS = ("no_report", "pytest was started, and left no report of any test")

#: Where a project's own directory holds the code of others.
_INSTALLED = frozenset({".venv", "venv", "site-packages", "node_modules"})

#: Which outcome stays when a test has several: its call, its teardown, its subtests.
_WEIGHT = {Outcome.SKIPPED: 0, Outcome.PASSED: 1, Outcome.FAILED: 2, Outcome.ERROR: 3}


class PytestReader(Reader):
    """Passes only when the exit code is 0 and the report, complete, says the same."""

    def __init__(self, check: str, *, is_shell: bool, manner: Manner, directory: Path) -> None:
        super().__init__(check, is_shell=is_shell, manner=manner)
        self.directory = directory
        self._report = _Report()
        self._seal: Seal | None = None
        self._watch: JudgeWatch | None = None

    def prepare(self, argv: Sequence[str], environment: Mapping[str, str], scratch: Path) -> Call:
        """Load the plugin through the environment, so that any way of calling pytest gets it."""
        report = scratch / _REPORT
        self._seal = Seal(report)
        self._seal.lay_out()
        self._watch = JudgeWatch(self.directory, argv)
        plugin_first = [str(_PLUGIN), *filter(None, [environment.get("PYTHONPATH")])]
        options = [environment.get("PYTEST_ADDOPTS", ""), "-p runtrue_report"]
        options += ["-x"] if self.manner.fail_fast else []
        # As often as outweighs a `-q` in the command: differences are told whole from the second.
        options += ["-vvv"] if self.manner.verbose else []
        return Call(
            argv=tuple(argv),
            environment={
                **environment,
                "PYTHONPATH": os.pathsep.join(plugin_first),
                "PYTEST_ADDOPTS": " ".join(options),
                "RUNTRUE_REPORT": str(report),
                "RUNTRUE_TEST_SECONDS": f"{self.manner.test_seconds:g}",
                **(self._covering(report, scratch / _COVERAGE) if self.manner.cover else {}),
            },
        )

    def _covering(self, report: Path, reports: Path) -> dict[str, str]:
        """What the plugin is told to measure coverage."""
        shutil.rmtree(reports, ignore_errors=True)
        reports.mkdir()
        # Found, not imported: it is lent to a project that has none.
        spec = importlib.util.find_spec("coverage")
        wanted = {
            "reports": str(reports),
            "report": str(report),
            "source": str(self.directory),
            "lent": str(Path(spec.origin).parent) if spec and spec.origin else None,
        }
        return {"RUNTRUE_COVERAGE": json.dumps(wanted)}

    def read(self, ended: Ended, workplace: Workplace) -> Reading:
        """The verdict from the report's lines and the exit code."""
        sealed = self._seal.open() if self._seal else Sealed()
        report = self._report = _Report(sealed.lines)
        tampered = self._tampered(sealed, workplace)
        if not report.count("start") and not tampered:
            return self._never_started(ended, workplace, begun=sealed.begun)
        cases: dict[str, Outcome] = {}
        for case in report.cases:
            outcome = Outcome(case["outcome"])
            if case["when"] != "collect" or outcome is Outcome.SKIPPED:
                cases[case["id"]] = max(
                    outcome, cases.get(case["id"], outcome), key=_WEIGHT.__getitem__
                )
        bad = [c for c in report.cases if c["outcome"] in (Outcome.FAILED, Outcome.ERROR)]
        findings = [self._case(case, report, workplace) for case in bad]
        if report.is_broken_off:
            findings.append(self._died(ended, report, workplace))
        elif not findings and (
            ended.exit_code != 0 or not report.count("end") or report.count("interrupted")
        ):
            if not tampered:
                findings.append(self._without_findings(ended, report, workplace))
        elif not findings and (silent := report.silent):
            findings.append(self._silent(silent, report, workplace))
        # What was tried comes first: it may be the reason for the rest.
        findings[:0] = tampered
        return Reading(passed=not findings, findings=tuple(findings), cases=cases)

    def _tampered(self, sealed: Sealed, workplace: Workplace) -> list[Finding]:
        """What the candidate has done to what judges it, where that can be known."""
        watch = self._watch
        found = [self.tampered(wrong) for wrong in sealed.wrong]
        found += self.tampering(watch, workplace)
        for event in self._report.lines:
            if event["event"] == "tampered":
                place = _blamed(event, workplace, watch.files if watch else None)
                if place is not None:
                    message = f"{event['what']} was replaced while the tests ran"
                    data = {"replaced": event["what"], "test": event["id"]}
                    found.append(self.tampered(message, place, data=data))
        return list({f.fingerprint: f for f in found}.values())

    def _silent(self, tests: list[str], report: _Report, workplace: Workplace) -> Finding:
        """Pytest is content, and has nothing to say of tests that it has collected."""
        message = f"{len(tests)} of the tests that were collected came to no end: {tests[0]}"
        location = Location(file=report.file(tests[0], workplace), symbol=tests[0])
        return replace(self.finding("not_run", message), location=location, fingerprint="")

    def measured(self, workplace: Workplace) -> Measured:
        """What the plugin, or pytest-cov at its bidding, has written."""
        from runtrue.checks.coverage.report import read_report

        told = self._report.last("coverage")
        if told is None:
            why_not = "pytest did not come to its end, and so left no coverage: see its findings"
            return Measured(why_not=why_not)
        if told["why_not"]:
            return Measured(why_not=told["why_not"])
        file = workplace.scratch / _COVERAGE / "coverage.json"
        coverage = read_report(file, workplace, Path(told["directory"]))
        if coverage is None:
            return Measured(why_not="coverage.py left no report that can be read: see its output")
        return Measured(coverage=without_tests(coverage))

    def case_infos(self, cases: Iterable[str], workplace: Workplace) -> dict[str, CaseInfo]:
        """As the plugin tells of every test that was collected."""
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

    def _never_started(self, ended: Ended, workplace: Workplace, *, begun: bool) -> Reading:
        # A line for the shell that does not come to pytest is judged by how it ends.
        if ended.timed_out or (self.is_shell and not (begun and ended.exit_code == 0)):
            return super().read(ended, workplace)
        blamed = _BLAMED[_USAGE_ERROR] if ended.exit_code == _USAGE_ERROR else _NOT_STARTED
        if begun and ended.exit_code == 0:
            blamed = _NO_TESTS
        finding = self.finding(*blamed, Fault.CHECK, sample=output_of(ended))
        return Reading(passed=False, findings=(finding,))

    def _died(self, ended: Ended, report: _Report, workplace: Workplace) -> Finding:
        finding = self.failure(ended)
        if finding.category in ("exit_code", "not_runnable"):
            message = f"the process ended with code {ended.exit_code} before the tests did"
            finding = replace(finding, category="died", message=message)
        test = report.unfinished
        location = Location(
            file=report.file(test, workplace) if test else None, symbol=test or self.check
        )
        return replace(finding, location=location, fault=Fault.CANDIDATE, fingerprint="")

    def _without_findings(self, ended: Ended, report: _Report, workplace: Workplace) -> Finding:
        """Pytest is not content, and no test is to blame."""
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
            message = "the run was stopped before all tests were done"
            return self.finding("interrupted", message, sample=output_of(ended))
        return self.failure(ended)

    def _case(self, case: dict[str, Any], report: _Report, workplace: Workplace) -> Finding:
        error = case["exception"] or {}
        fault = _fault(error, workplace.directory)
        message = error.get("message") or case["text"].strip() or "failed without a word"
        limit = limit_told(workplace.confinement, error.get("mro", ()), error.get("errno"))
        frames = _in_project(error.get("frames", []), workplace)
        blamed = (_in_project([error.get("syntax") or {}], workplace) or frames or [{}])[-1]
        category = error.get("type") or "failure"
        told: dict[str, float | str] = {}
        if limit is not None:
            # Of the candidate's own making: waiting, and trying again, would not help.
            category, fault, told = RESOURCE_LIMIT, Fault.CANDIDATE, limit[1]
            message = f"{error.get('type')}: {message}: {limit[0]}"
        elif hint := way_out(workplace, error.get("mro", ()), error.get("errno"), message):
            message = f"{message} ({hint})"
        return Finding(
            source=self.check,
            category=TIMEOUT if category == _TOO_LONG else category,
            message=trim(message),
            fault=fault,
            # A package does not install itself by waiting.
            transient=fault is Fault.ENVIRONMENT and not error.get("module"),
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
                **told,
            },
        )


@dataclass(frozen=True, slots=True)
class _Report:
    """The lines that the plugin wrote, as far as it came."""

    lines: tuple[dict[str, Any], ...] = ()

    def count(self, event: str) -> int:
        return sum(line["event"] == event for line in self.lines)

    def last(self, event: str) -> dict[str, Any] | None:
        return next((line for line in reversed(self.lines) if line["event"] == event), None)

    @property
    def cases(self) -> list[dict[str, Any]]:
        """How tests ended, and modules that could not be collected, each of these once."""
        # Plugins have outcomes of their own, such as a test's that is run again.
        cases = [x for x in self.lines if x["event"] == "case" and x["outcome"] in set(Outcome)]
        # Under pytest-xdist every worker collects, and so reports, all of them.
        collected = {case["id"]: case for case in cases if case["when"] == "collect"}
        return [*collected.values(), *(case for case in cases if case["when"] != "collect")]

    @property
    def is_broken_off(self) -> bool:
        """Whether a session, of those that were begun, has not come to its end.

        One may be told to run no tests, but none ends before it has read its command line.
        """
        told = {(line["session"], line["event"]) for line in self.lines}
        return any(
            (event == "session" and (session, "end") not in told)
            or (event == "opened" and (session, "ready") not in told)
            for session, event in told
        )

    @property
    def silent(self) -> list[str]:
        """The tests that were collected to be run, and of which no outcome is told."""
        told = {(x["session"], x["id"]) for x in self.lines if x["event"] == "case"}
        return [
            test
            for line in self.lines
            if line["event"] == "collected"
            for test in line["ids"]
            if (line["session"], test) not in told
        ]

    @property
    def exit_code(self) -> int | None:
        codes = [line["exit_code"] for line in self.lines if line["event"] == "end"]
        return codes[-1] if codes else None

    @property
    def unfinished(self) -> str | None:
        """The test that was running last of those that never came to their end."""
        finished = {line["id"] for line in self.lines if line["event"] == "finished"}
        started = [line["id"] for line in self.lines if line["event"] == "started"]
        return next((test for test in reversed(started) if test not in finished), None)

    def file(self, test: str, workplace: Workplace) -> str | None:
        """The file of a test, whose id begins with its path from pytest's own root."""
        root = next((line["root"] for line in self.lines if line["event"] == "start"), ".")
        return relative(str(Path(root, test.partition("::")[0])), workplace)


def _in_project(places: list[dict[str, Any]], workplace: Workplace) -> list[dict[str, Any]]:
    """Those of some places in code that are the project's: they have a file, not installed."""
    named = [(place, place.get("file") or "<none>") for place in places]
    inside = [
        {**place, "file": file}
        for place, name in named
        if not name.startswith("<") and (file := relative(name, workplace))
    ]
    return [place for place in inside if _INSTALLED.isdisjoint(Path(place["file"]).parts)]


def _blamed(
    event: dict[str, Any], workplace: Workplace, known: frozenset[str] | None
) -> Place | None:
    """Where in the candidate what replaced a part of the judge comes from; None for all others.

    Installed plugins may change pytest as they like, and so may tests and what prepares them, if
    they were there before the tests ran. What comes from nowhere was made to look so.
    """
    files = event["files"]
    if not files:
        return Place("")
    for name in files:
        file = own_file(name, workplace)
        if file is None:
            continue
        if not is_judge(file) or (known is not None and file not in known):
            return Place(file, event["line"] if name == files[0] else None)
    return None


def _fault(error: dict[str, Any], directory: Path) -> Fault:
    module = error.get("module")
    if module and is_declared(module, directory):
        # The project says that it needs it; that it is not installed is no bug in the code.
        return Fault.ENVIRONMENT
    return fault_of_exception(
        error.get("mro", ()), error_number=error.get("errno"), status=error.get("status")
    )
