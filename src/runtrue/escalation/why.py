"""Why a loop escalated, in one sentence made from the history's facts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from runtrue.loop import (
    COVERAGE_UNMET,
    SECURITY_ISSUE,
    TIMEOUT,
    Cause,
    Condition,
    Finding,
    History,
    cause_of,
)

_MOST_NAMES = 3
_NAME = 120


def sentence(condition: Condition, history: History) -> str:
    """What happened. All words that are not ours stand in code, where they can do no harm."""
    if not history.attempts:
        return "The loop escalated before the first attempt."
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
            return f"A scanner found what is not safe in attempt {number}: {few(found)}."
        case Condition.COVERAGE_THRESHOLD_UNMET:
            unmet = [f.message for f in blocking if f.category == COVERAGE_UNMET]
            return f"The tests of attempt {number} pass and cover too little: {few(unmet)}."
        case Condition.TIMEOUT_EXCEEDED:
            slow = [finding.source for finding in blocking if finding.category == TIMEOUT]
            if slow:
                return f"In attempt {number} {few(slow)} did not end within its time."
            seconds = f"{history.seconds:.0f} s"
            return f"The time for the whole loop was up after {seconds}, in attempt {number}."
        case Condition.UNKNOWN_ERROR_TYPE:
            unknown = [f.category for f in blocking if cause_of(f) is Cause.UNKNOWN]
            return f"Attempt {number} failed in a way that nothing explains: {few(unknown)}."


def few(names: Sequence[str]) -> str:
    """Some names in code, and how many there are besides."""
    shown = [code(name) for name in dict.fromkeys(names)]
    more = len(shown) - _MOST_NAMES
    return ", ".join(shown[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def code(text: str) -> str:
    """A text as code within a line of Markdown, which nothing in it can end."""
    line = " ".join(text.split())
    line = line if len(line) <= _NAME else f"{line[: _NAME - 1]}…"
    ticks = "`" * (max((len(row) for row in re.findall("`+", line)), default=0) + 1)
    space = " " if len(ticks) > 1 or not line else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def _rule(finding: Finding) -> str:
    return f"{finding.data.get('rule', finding.category)} at {finding.location}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
