"""pytest: read through a plugin that reports exceptions as data while the tests run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from runtrue.checks.dependencies import is_declared
from runtrue.checks.reader import Call, Reader, Reading, output_of, place, relative, trim
from runtrue.loop import Fault, Finding, Location, Outcome, Workplace, fault_of_exception
from runtrue.process import Ended

_PLUGIN = Path(__file__).with_name("pytest_plugin")
_REPORT = "pytest.jsonl"
#: pytest's exit codes beyond passed and failed.
_INTERNAL_ERROR, _USAGE_ERROR, _NOTHING_COLLECTED = 3, 4, 5

#: Which outcome stays when a test has several: its call, its teardown, its subtests.
_WEIGHT = {Outcome.SKIPPED: 0, Outcome.PASSED: 1, Outcome.FAILED: 2, Outcome.ERROR: 3}


class PytestReader(Reader):
    """Passes only when the exit code is 0 and the report, complete, says the same."""

    def prepare(self, argv: Sequence[str], environment: Mapping[str, str], scratch: Path) -> Call:
        """Load the plugin through the environment, so that any way of calling pytest gets it."""
        report = scratch / _REPORT
        report.unlink(missing_ok=True)
        plugin_first = [str(_PLUGIN), *filter(None, [environment.get("PYTHONPATH")])]
        return Call(
            argv=tuple(argv),
            environment={
                **environment,
                "PYTHONPATH": os.pathsep.join(plugin_first),
                "PYTEST_ADDOPTS": f"{environment.get('PYTEST_ADDOPTS', '')} -p runtrue_report",
                "RUNTRUE_REPORT": str(report),
            },
        )

    def read(self, ended: Ended, workplace: Workplace) -> Reading:
        """The verdict from the report's lines and the exit code."""
        lines = _lines(workplace.scratch / _REPORT)
        if not any(line["event"] == "start" for line in lines):
            return self._never_started(ended, workplace)
        reports = [line for line in lines if line["event"] == "case"]
        cases: dict[str, Outcome] = {}
        for report in reports:
            outcome = Outcome(report["outcome"])
            if report["when"] != "collect":
                cases[report["id"]] = max(
                    outcome, cases.get(report["id"], outcome), key=_WEIGHT.__getitem__
                )
        bad = [r for r in reports if r["outcome"] in (Outcome.FAILED, Outcome.ERROR)]
        findings = [self._case(report, workplace) for report in bad]
        if lines[-1]["event"] != "end" and not _conftest_failed(reports, ended):
            findings.append(self._died(ended, lines))
        elif ended.exit_code != 0 and not findings:
            findings.append(self._without_findings(ended))
        return Reading(passed=not findings, findings=tuple(findings), cases=cases)

    def _never_started(self, ended: Ended, workplace: Workplace) -> Reading:
        if self.is_shell or ended.timed_out:
            return super().read(ended, workplace)
        finding = self.finding(
            "not_runnable", "pytest did not start", Fault.CHECK, sample=output_of(ended)
        )
        return Reading(passed=False, findings=(finding,))

    def _died(self, ended: Ended, lines: list[dict[str, Any]]) -> Finding:
        finding = self.failure(ended)
        running = lines[-1]["id"] if lines[-1]["event"] == "started" else None
        if finding.category == "exit_code":
            message = f"the process ended with code {ended.exit_code} before the tests did"
            finding = replace(finding, category="died", message=message, fingerprint="")
        location = Location(
            file=running.partition("::")[0] if running else None, symbol=running or self.check
        )
        return replace(finding, location=location, fault=Fault.CANDIDATE, fingerprint="")

    def _without_findings(self, ended: Ended) -> Finding:
        """Pytest is not content, and no test is to blame."""
        blamed = {
            _NOTHING_COLLECTED: ("nothing_collected", "pytest found no test to run"),
            _USAGE_ERROR: ("usage", "pytest does not understand its command line or configuration"),
            _INTERNAL_ERROR: ("internal_error", "pytest itself, or a plugin of it, failed"),
        }.get(ended.exit_code or 0)
        if blamed is None:
            return self.failure(ended)
        return self.finding(*blamed, Fault.CHECK, sample=output_of(ended))

    def _case(self, report: dict[str, Any], workplace: Workplace) -> Finding:
        error = report["exception"] or {}
        frames = [
            {**frame, "file": file}
            for frame in error.get("frames", [])
            if (file := relative(frame["file"], workplace))
        ]
        blamed = error.get("syntax") or (frames[-1] if frames else {})
        where = place(blamed, workplace)
        test_file = relative(report["id"].partition("::")[0], workplace)
        return Finding(
            source=self.check,
            category=error.get("type") or "failure",
            message=trim(error.get("message") or report["text"].strip() or "failed without a word"),
            fault=_fault(error, workplace.directory),
            transient=fault_of_exception(error.get("mro", ()), error_number=error.get("errno"))
            is Fault.ENVIRONMENT,
            location=replace(where, file=where.file or test_file, symbol=report["id"]),
            sample=trim(report["text"]) or None,
            data={"when": report["when"], "frames": frames[-10:]},
        )


def _fault(error: dict[str, Any], directory: Path) -> Fault:
    module = error.get("module")
    if module and is_declared(module, directory):
        # The project says that it needs it; that it is not installed is no bug in the code.
        return Fault.ENVIRONMENT
    return fault_of_exception(
        error.get("mro", ()), error_number=error.get("errno"), status=error.get("status")
    )


def _conftest_failed(reports: list[dict[str, Any]], ended: Ended) -> bool:
    """Whether pytest stopped because a conftest.py could not be imported: it sees no session."""
    return ended.exit_code == _USAGE_ERROR and any(r["when"] == "collect" for r in reports)


def _lines(path: Path) -> list[dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    lines = []
    for line in text.splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            # Cut off in the middle, by a process that died while writing.
            continue
    return [line for line in lines if isinstance(line, dict) and "event" in line]
