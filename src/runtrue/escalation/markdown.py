"""Markdown: a report for people, in which nothing that was reported can be markup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from runtrue.escalation.report import (
    EscalationDetails,
    Explanation,
    FixAttempt,
    ReportedResult,
    Trace,
)
from runtrue.escalation.why import code
from runtrue.loop import Item
from runtrue.models import fence

#: The characters of one text to show, and the number of traces.
_TEXT = 8_000
_CODE = 40_000
_MOST_TRACES = 20

_TITLES = {
    Item.ORIGINAL_CODE: "Original code",
    Item.ALL_TEST_RESULTS: "All test results",
    Item.FAILURE_ANALYSES: "Failure analyses",
    Item.FIX_ATTEMPTS: "Fix attempts",
    Item.DEBUG_MEMORY_SUMMARY: "Debug memory",
    Item.STACK_TRACES: "Stack traces",
}


def render(report: EscalationDetails, *, limit: int | None) -> str:
    """Return the report; the longest sections are left out if it would exceed `limit`."""
    head = _head(report)
    sections = {item: _section(report, item) for item in report.sections}
    left_out: list[Item] = []
    while True:
        text = "\n\n".join([*head, *sections.values(), *_note(left_out)]) + "\n"
        if limit is None or len(text) <= limit or not sections:
            return text
        longest = max(sections, key=lambda item: len(sections[item]))
        del sections[longest]
        left_out.append(longest)


def _head(report: EscalationDetails) -> list[str]:
    facts = [
        f"- Condition: {code(report.condition)}",
        f"- Action: {code(report.action)}",
        f"- Run: {code(report.run_id)}",
        *([f"- Workflow: {code(report.workflow_id)}"] if report.workflow_id else []),
        f"- Project: {code(report.project)}",
        *([f"- Candidate: {code(report.sandbox)}"] if report.sandbox else []),
    ]
    return [
        f"# Escalation: {report.condition.replace('_', ' ')}",
        report.why,
        f"{report.answer}.",
        "\n".join(facts),
        "## What was asked for",
        fence(report.title, limit=_TEXT),
    ]


def _note(left_out: list[Item]) -> list[str]:
    if not left_out:
        return []
    names = ", ".join(_TITLES[item].lower() for item in left_out)
    return [f"*Too long to show here; see the report file for: {names}.*"]


def _section(report: EscalationDetails, item: Item) -> str:
    parts: Iterable[str]
    match item:
        case Item.ORIGINAL_CODE:
            parts = _original_code(report)
        case Item.ALL_TEST_RESULTS:
            parts = _test_results(report)
        case Item.FAILURE_ANALYSES:
            parts = map(_analysis, report.failure_analyses or ())
        case Item.FIX_ATTEMPTS:
            parts = map(_fix_attempt, report.fix_attempts or ())
        case Item.DEBUG_MEMORY_SUMMARY:
            memory = report.debug_memory_summary
            parts = [fence(memory, limit=_TEXT)] if memory else []
        case Item.STACK_TRACES:
            parts = _traces(report)
    body = "\n\n".join(parts) or "None."
    return f"## {_TITLES[item]}\n\n{body}"


def _original_code(report: EscalationDetails) -> Iterator[str]:
    for path, text in (report.original_code or {}).items():
        yield f"### {code(path)}\n\n{fence(text, limit=_CODE)}"


def _test_results(report: EscalationDetails) -> Iterator[str]:
    if rows := [_result(result) for result in report.all_test_results or ()]:
        head = "| attempt | check | verdict | total | passed | failed | errors | skipped | ms |"
        yield "\n".join([head, "|" + " --- |" * 9, *rows])


def _result(result: ReportedResult) -> str:
    again = " (again)" if result.recheck else ""
    verdict = "passed" if result.passed else "failed"
    numbers = result.totals
    # In a table even code must not contain `|`.
    check = code(result.check.replace("|", "/"))
    counts = (numbers.total, numbers.passed, numbers.failed, numbers.errors, numbers.skipped)
    cells = [f"{result.attempt}{again}", check, f"{verdict} ({result.mode})", *map(str, counts)]
    return f"| {' | '.join(cells)} | {numbers.duration_ms:.0f} |"


def _analysis(entry: Explanation) -> str:
    sure = f", {entry.confidence:.0%} sure" if entry.confidence is not None else ""
    parts = [f"### Attempt {entry.attempt}, according to {code(entry.by)}{sure}"]
    parts.append(fence(entry.root_cause, limit=_TEXT))
    if entry.fix_strategy:
        parts.append(f"What to do about it:\n\n{fence(entry.fix_strategy, limit=_TEXT)}")
    if entry.patterns_matched:
        parts.append(f"Known from memory: {', '.join(map(code, entry.patterns_matched))}")
    return "\n\n".join(parts)


def _fix_attempt(fix: FixAttempt) -> str:
    ran = f"run as attempt {fix.ran_as}, {fix.outcome}" if fix.ran_as else fix.outcome
    outcome = ran.replace("_", " ")
    parts = [f"### After attempt {fix.after}: {outcome} (+{fix.added}/-{fix.removed} lines)"]
    for part in fix.parts:
        files = ", ".join(map(code, part.files)) or "nothing"
        parts.append(f"{code(part.fixer)} changed {files}.")
        if part.restored:
            undone = ", ".join(map(code, part.restored))
            parts.append(f"Its edits to {undone} were undone: they judge the candidate.")
        if part.failure:
            parts.append(f"It failed itself:\n\n{fence(part.failure, limit=_TEXT)}")
        if part.description:
            parts.append(fence(part.description, limit=_TEXT))
    if fix.diff:
        parts.append(f"What it changed:\n\n{fence(fix.diff, limit=_CODE)}")
    return "\n\n".join(parts)


def _traces(report: EscalationDetails) -> Iterator[str]:
    traces = report.stack_traces or ()
    yield from map(_trace, traces[:_MOST_TRACES])
    if len(traces) > _MOST_TRACES:
        yield f"And {len(traces) - _MOST_TRACES} more in the report's JSON."


def _trace(trace: Trace) -> str:
    where = f" at {code(trace.place)}" if trace.place else ""
    case = code(trace.case or trace.check)
    return (
        f"### Attempt {trace.attempt}: {case}\n\n{code(trace.category)}{where}\n\n"
        f"{fence(trace.message, limit=_TEXT)}\n\n{fence(trace.text, limit=_TEXT)}"
    )
