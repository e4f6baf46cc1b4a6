"""Context: the text that describes a task to a fixer that reads prose."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from string import Template

from runtrue.loop import (
    COVERAGE_UNMET,
    TESTS_MISSING,
    Analysis,
    Attempt,
    Bounds,
    Finding,
    Fix,
    FixTask,
    History,
    Reason,
)
from runtrue.models import fence

#: How much a prompt holds at most: findings, characters of each, names and so on.
_MOST_FINDINGS = 20
_SAMPLE = 1_500
_SAID = 400
_MOST_NAMES = 10
_MOST_RANGES = 40
_MOST_PATTERNS = 100
#: Data of findings that is shown in another form, or is of no use for a fix.
_NOT_SHOWN = frozenset({"missing", "stack_trace", "frames", "when", "fixable"})

_REJECTED = {
    Reason.UNCHANGED: "no file was changed by it",
    Reason.REPEATED: "it gave a candidate that had already failed, so it was not run again",
    Reason.OUT_OF_BOUNDS: "it changed what the strategy does not allow, so nothing of it was kept",
    Reason.NEEDS_APPROVAL: "it deleted files, which needs approval, so nothing of it was kept",
}

Hide = Callable[[str], str]


def wants_tests(finding: Finding) -> bool:
    """Return whether the way to fix a finding is to add tests."""
    return finding.category in (COVERAGE_UNMET, TESTS_MISSING)


def task_text(task: FixTask, hide: Hide = str) -> str:
    """Return rules, findings and history: the part of a prompt that all fixers share.

    `hide` redacts texts before they are trimmed: half of a secret is not found any more.
    """
    return fill(
        "task",
        rules=_rules(task),
        findings=findings_text(task.findings, hide),
        known=_known(task.history, hide) or "Nothing.",
        earlier=_earlier(task.history, hide) or "None yet.",
        guidance="\n".join(answer.text for answer in task.history.answers) or "None.",
    )


def findings_text(findings: Sequence[Finding], hide: Hide = str) -> str:
    """Return findings as a prompt shows them, the first of many, each in fences."""
    shown = findings[:_MOST_FINDINGS]
    more = len(findings) - len(shown)
    text = "\n\n".join(_finding(number, f, hide) for number, f in enumerate(shown, start=1))
    return text + (f"\n\nAnd {more} more of the same checks." if more else "")


def bounds_text(bounds: Bounds) -> str:
    """Return bounds as rules for anyone who edits; empty where they bound nothing."""
    rules = []
    if bounds.paths is not None:
        rules.append(fill("bounds-paths", paths=_quoted(bounds.paths) or "none at all"))
    if not bounds.deletes:
        rules.append(fill("bounds-deletes"))
    if bounds.max_files is not None:
        rules.append(fill("bounds-files", most=str(bounds.max_files)))
    if bounds.max_lines is not None:
        rules.append(fill("bounds-lines", most=str(bounds.max_lines)))
    if bounds.commands is not None:
        rules.append(fill("bounds-commands", commands=_quoted(bounds.commands) or "none at all"))
    return "\n".join(rules)


def fill(name: str, **values: str) -> str:
    """Return the prompt of that name with its blanks filled in."""
    return Template(_prompt(name)).substitute(values).rstrip()


@cache
def _prompt(name: str) -> str:
    return resources.files("runtrue.fixers").joinpath(f"prompts/{name}.md").read_text("utf-8")


def sendable(prompt: str) -> str:
    """Return the prompt without null characters and what UTF-8 cannot encode."""
    return prompt.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _rules(task: FixTask) -> str:
    parts = []
    if not all(wants_tests(finding) for finding in task.findings):
        parts.append(fill("repair"))
    if any(wants_tests(finding) for finding in task.findings):
        files = task.history.test_files() if task.history.attempts else ()
        parts.append(fill("tests", files=_few(files) or "none yet"))
    if task.bounds is not None and (rules := bounds_text(task.bounds)):
        parts.append(rules)
    return "\n".join(parts)


def _finding(number: int, finding: Finding, hide: Hide) -> str:
    where = " ".join(filter(None, [str(finding.location), finding.location.symbol]))
    at = f" at {where}" if where else ""
    lines = [f"### {number}. {finding.source}: {finding.category}{at}"]
    lines.append(fence(hide(finding.message), limit=_SAMPLE))
    if finding.category == TESTS_MISSING and finding.attempted:
        lines.append(f"Kinds of tests that are missing: {', '.join(finding.attempted)}")
    missing = finding.data.get("missing")
    if finding.category == COVERAGE_UNMET and isinstance(missing, dict):
        lines.append("Lines that no test runs:")
        lines += [f"- {file}: {_ranges(numbers)}" for file, numbers in missing.items()]
    if finding.available:
        lines.append(f"Available: {', '.join(finding.available)}")
    if finding.sample:
        lines.append(fence(hide(finding.sample), limit=_SAMPLE))
    data = {name: value for name, value in finding.data.items() if name not in _NOT_SHOWN}
    if data:
        text = json.dumps(data, ensure_ascii=False, default=str)
        lines.append(f"Data:\n{fence(hide(text), limit=_SAMPLE)}")
    return "\n".join(lines)


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers as people write them: `3-5, 9`."""
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    words = [str(first) if first == last else f"{first}-{last}" for first, last in found]
    more = f" and {len(words) - _MOST_RANGES} more" if len(words) > _MOST_RANGES else ""
    return ", ".join(words[:_MOST_RANGES]) + more


def _known(history: History, hide: Hide) -> str:
    analysis = history.latest.analysis if history.attempts else None
    if analysis is None:
        return ""
    lines = [_analysis(analysis, hide)]
    if analysis.patterns_matched:
        lines.append(f"It is like these of the past: {_few(analysis.patterns_matched)}.")
    return "\n".join(lines)


def _analysis(analysis: Analysis, hide: Hide) -> str:
    said = [f"Cause: {analysis.root_cause}"]
    if analysis.fix_strategy:
        said.append(f"What to do: {analysis.fix_strategy}")
    if analysis.confidence is not None:
        said.append(f"Confidence: {analysis.confidence:.0%}")
    return fence(hide("\n".join(said)), limit=2 * _SAMPLE)


def _earlier(history: History, hide: Hide) -> str:
    lines = [_attempt(attempt, hide) for attempt in history.attempts if attempt.fix]
    lines += [
        f"- After attempt {rejection.after}: {_REJECTED[rejection.reason]}."
        f"{_outside(rejection.fix)}{_undone(rejection.fix)}{_said(rejection.fix, hide)}"
        for rejection in history.rejections
        if rejection.reason in _REJECTED
    ]
    return "\n".join(lines)


def _attempt(attempt: Attempt, hide: Hide) -> str:
    fix = attempt.fix
    files = _few(fix.files) if fix and fix.files else "nothing"
    left = sorted({f"{f.category} ({f.location.symbol or f.location})" for f in attempt.blocking})
    outcome = f"still failing: {_few(left)}" if left else "it passed"
    return f"- Attempt {attempt.number} changed {files}; {outcome}.{_undone(fix)}{_said(fix, hide)}"


def _outside(fix: Fix) -> str:
    files = [file for part in fix.parts for file in part.outside]
    return f" Not allowed: {_few(files)}." if files else ""


def _undone(fix: Fix | None) -> str:
    restored = [file for part in fix.parts for file in part.restored] if fix else []
    return f" Its edits to {_few(restored)} were undone." if restored else ""


def _said(fix: Fix | None, hide: Hide) -> str:
    parts = [part for part in fix.parts if part.failure is None] if fix else []
    said = "\n".join(filter(None, (part.description.strip() for part in parts)))
    return f" It was said of it:\n{fence(hide(said), limit=_SAID)}" if said else ""


def _quoted(patterns: Sequence[str]) -> str:
    more = [f"and {len(patterns) - _MOST_PATTERNS} more"] * (len(patterns) > _MOST_PATTERNS)
    return ", ".join([*(f"`{' '.join(p.split())}`" for p in patterns[:_MOST_PATTERNS]), *more])


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
