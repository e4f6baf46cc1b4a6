"""The reason for an escalation, in one sentence made from the history's facts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from runtrue.foreign_text import cut, visible
from runtrue.loop import (
    COVERAGE_UNMET,
    SECURITY_ISSUE,
    TESTS_MISSING,
    TIMEOUT,
    Attempt,
    Cause,
    Condition,
    Finding,
    History,
    cause_of,
)

_MOST_NAMES = 3
_NAME = 120


def sentence(condition: Condition, history: History) -> str:
    """Say what happened. All words that are not ours are in code, where they can do no harm."""
    if not history.attempts:
        return "The run escalated before the first attempt."
    blocking = history.latest.blocking
    number = history.latest.number
    match condition:
        case Condition.MAX_ATTEMPTS_REACHED:
            checks = dict.fromkeys(finding.source for finding in blocking)
            return (
                f"After {_counted(number, 'attempt')} {_counted(len(blocking), 'failure')} "
                f"{'is' if len(blocking) == 1 else 'are'} left in {few(list(checks))}."
            )
        case Condition.REGRESSION_DETECTED:
            broken = history.regressions(history.latest)
            return f"The fix that attempt {number} ran broke what worked before: {few(broken)}."
        case Condition.SECURITY_ISSUE_FOUND:
            found = [_rule(f) for f in blocking if f.category == SECURITY_ISSUE]
            return f"A scanner found unsafe code in attempt {number}: {few(found)}."
        case Condition.COVERAGE_THRESHOLD_UNMET:
            return _unmet(history)
        case Condition.TIMEOUT_EXCEEDED:
            slow = [finding.source for finding in blocking if finding.category == TIMEOUT]
            if slow:
                return f"In attempt {number} {few(slow)} did not finish within its time."
            seconds = f"{history.seconds:.0f} s"
            return f"The time limit of the run was reached after {seconds}, in attempt {number}."
        case Condition.UNKNOWN_ERROR_TYPE:
            unknown = [f.category for f in blocking if cause_of(f) is Cause.UNKNOWN]
            return f"Attempt {number} failed for an unknown reason: {few(unknown)}."


def _unmet(history: History) -> str:
    """Say what the passing tests lack; later attempts may have failed for other reasons."""
    attempt = next(filter(_lacking, (history.best, *reversed(history.attempts))), history.latest)
    lacking = _lacking(attempt)
    few_run = [finding.message for finding in lacking if not _kinds(finding)]
    # All of them, since it is these that somebody has to write.
    kinds = ", ".join(code(kind) for finding in lacking for kind in _kinds(finding))
    little = f" and cover too little: {few(few_run)}" if few_run else ""
    absent = f", and none is of these kinds: {kinds}" if kinds else ""
    return f"The tests of attempt {attempt.number} pass{little}{absent}."


def _lacking(attempt: Attempt) -> list[Finding]:
    return [f for f in attempt.blocking if f.category in (COVERAGE_UNMET, TESTS_MISSING)]


def _kinds(finding: Finding) -> tuple[str, ...]:
    """Return the kinds of tests that are missing; none if those of one file are."""
    is_of_kinds = finding.category == TESTS_MISSING and finding.location.file is None
    return finding.attempted if is_of_kinds else ()


def few(names: Sequence[str]) -> str:
    """Return some names as code, and the number of the others."""
    shown = [code(name) for name in dict.fromkeys(names)]
    more = len(shown) - _MOST_NAMES
    return ", ".join(shown[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def code(text: str) -> str:
    """Return a text as code within a line of Markdown, which nothing in it can end."""
    line = cut(visible(" ".join(text.split())), _NAME)
    ticks = "`" * (max((len(row) for row in re.findall("`+", line)), default=0) + 1)
    space = " " if len(ticks) > 1 or not line else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def _rule(finding: Finding) -> str:
    return f"{finding.data.get('rule', finding.category)} at {finding.location}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
