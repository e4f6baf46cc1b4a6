"""The verdict of a gate on stderr, in a form that a person or a coding agent acts on."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from runtrue.cli.console import echo
from runtrue.cli.show import ago, counted
from runtrue.code import CodeReport, cause_in_words, strategy_for
from runtrue.loop import (
    COVERAGE_UNMET,
    SECURITY_ISSUE,
    TESTS_CANNOT_FAIL,
    TESTS_MISSING,
    Fault,
    Finding,
    Mode,
    Outcome,
)

_MOST = 20
_MESSAGE_LINES = 12
#: Findings of an informational check that are shown.
_NOTES = 3
_WIDTH = 98
_NAME = "runtrue gate: "


@contextmanager
def ignoring_closed_pipes() -> Iterator[None]:
    """Print something, and go on where nobody reads it: a gate has its exit code as well."""
    with suppress(OSError):
        yield
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            # What is left to be written would fail once more when Python ends.
            with Path(os.devnull).open("wb") as nowhere:
                os.dup2(nowhere.fileno(), stream.fileno())


def print_verdict(report: CodeReport) -> None:
    """Print whether the change is ready and, where it is not, what to do."""
    echo(verdict_text(report), err=True)


def verdict_text(report: CodeReport) -> str:
    """Return whether the change is ready and, where it is not, what to do."""
    return "\n".join(_verdict(report))


def not_ready_text(report: CodeReport) -> str:
    """Return what the person is shown whose agent stops although its change is not ready."""
    count = counted(len(report.findings), "finding")
    return (
        f"runtrue gate: the change is NOT ready; the agent was shown {count} and has not fixed it "
        f"all: runtrue runs show {report.run_id}"
    )


def _verdict(report: CodeReport) -> Iterator[str]:
    if report.skipped:
        yield f"{_NAME}not checked: {report.skipped} (run {report.run_id})"
        return
    findings = report.findings
    count = counted(len(findings), "finding")
    if report.ready and not findings:
        yield f"{_NAME}ready{_since(report)}: {', '.join(_passed(report))}"
        yield from _notes(report)
    elif report.ready:
        yield f"{_NAME}ready, with {count}: the surrounding loop does not require passing tests."
        yield from _findings(findings, report)
    else:
        them = "it" if len(findings) == 1 else "them"
        yield f"{_NAME}not ready: {count}. Fix {them} and rerun `runtrue gate`."
        yield from _findings(findings, report)
    for one in report.self_running:
        yield f"  note: {one.file} runs automatically: {one.why}"
    if report.memory is not None and report.memory.trouble:
        yield f"{_NAME}could not save findings to memory: {report.memory.trouble}"


def _since(report: CodeReport) -> str:
    """Return since when it is known to be ready, where that is not from now on."""
    if not report.reused or report.receipt is None:
        return ""
    return f", as checked {ago(report.receipt.at)} (nothing has changed since)"


def _passed(report: CodeReport) -> Iterator[str]:
    for verdict in report.attempts[-1].verdicts:
        passed = verdict.cases.get(Outcome.PASSED, 0)
        facts = f"{passed} passed" if passed else verdict.output if not verdict.cases else ""
        said = textwrap.shorten(facts, _WIDTH, placeholder=" …")
        word = "passes" if verdict.passed else "fails (informational)"
        yield f"{verdict.check} {word}{f' ({said})' if said else ''}"


def _notes(report: CodeReport) -> Iterator[str]:
    """Yield what informational checks found, which holds nobody back."""
    for verdict in report.attempts[-1].verdicts:
        if verdict.passed or verdict.mode is not Mode.INFORMATIONAL:
            continue
        for finding in verdict.findings[:_NOTES]:
            message = " ".join(finding.message.split())
            yield f"  note: {finding.location.file}: {message}"
        if (more := len(verdict.findings) - _NOTES) > 0:
            yield f"  … and {more} more of {verdict.check}: runtrue runs show {report.run_id}"


def _findings(findings: Sequence[Finding], report: CodeReport) -> Iterator[str]:
    for number, finding in enumerate(findings[:_MOST], start=1):
        indent = " " * (len(str(number)) + 2)
        head, *details = _lines(finding)
        yield f"\n{number}. {head}"
        for line in details:
            yield textwrap.indent(line, indent)
    yield ""
    more = len(findings) - _MOST
    every = f"… and {more} more, all of them" if more > 0 else "what ran"
    analysis = report.attempts[-1].analysis
    if analysis is not None and analysis.confidence is not None:
        # Only a remembered fix that held says how sure it is.
        yield f"known: {analysis.fix_strategy}"
    elif analysis is not None and analysis.patterns_matched:
        yield f"seen before: {', '.join(analysis.patterns_matched)}"
    yield f"{every}: runtrue runs show {report.run_id}"


def _lines(finding: Finding) -> Iterator[str]:
    """Yield the location, the message, the cause, and what to do about it."""
    location = finding.location
    symbol = location.symbol if location.symbol not in (finding.source, None) else ""
    where = str(location) if location.file else symbol or finding.source
    named = f" [{symbol}]" if symbol and symbol != where else ""
    yield f"{where}: {finding.category} ({finding.source}){named}"
    message = finding.message.strip().splitlines()
    yield from message[:_MESSAGE_LINES]
    if len(message) > _MESSAGE_LINES:
        yield f"… {len(message) - _MESSAGE_LINES} more lines"
    if finding.fault is not Fault.CANDIDATE:
        yield from (finding.sample or "").strip().splitlines()[-3:]
        if finding.available:
            yield f"available: {', '.join(finding.available)}"
    yield f"cause: {cause_in_words(finding)}"
    yield f"to do: {_to_do(finding)}"


def _to_do(finding: Finding) -> str:
    if finding.category == "not_run":
        return (
            "make this test run again (a new name is fine), or also delete the code that it tests"
        )
    known = (COVERAGE_UNMET, TESTS_CANNOT_FAIL, TESTS_MISSING, SECURITY_ISSUE)
    if finding.fault is not Fault.CANDIDATE or finding.category in known:
        return strategy_for(finding)
    frames = [f for f in finding.data.get("frames") or () if isinstance(f, dict) and f.get("file")]
    if frames:
        last = frames[-1]
        place = f"{last['file']}:{last['line']}" if last.get("line") else str(last["file"])
        return f"fix {place}, or the test if the test is wrong"
    return strategy_for(finding)
