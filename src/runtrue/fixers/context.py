"""Context: the text that describes a task to a fixer that reads prose."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from string import Template

from runtrue.fixers.sources import leads_of, own_file, read_text, show_files
from runtrue.loop import (
    COVERAGE_UNMET,
    TESTS_MISSING,
    Analysis,
    Attempt,
    Bounds,
    Cause,
    Finding,
    Fix,
    FixTask,
    History,
    Reason,
    Workplace,
    cause_of,
)
from runtrue.models import fence
from runtrue.sandbox import is_judge

#: The characters of a whole prompt, as far as people have not said more, and the least of them
#: that are left for files.
_PROMPT = 24_000
_LEAST_FILES = 8_000
#: How much it holds at most: findings, characters of all and of each, names and so on.
_MOST_FINDINGS = 20
_FINDINGS = 8_000
_DOCUMENT = 6_000
_DIFF = 1_500
_SAMPLE = 1_500
_SAID = 400
_MOST_NAMES = 10
_MOST_RANGES = 40
_MOST_PATTERNS = 100
#: Data of findings that is shown in another form, or is of no use for a fix.
_NOT_SHOWN = frozenset({"missing", "stack_trace", "frames", "when", "fixable"})

_REJECTED = {
    Reason.UNCHANGED: "it changed no file",
    Reason.REPEATED: "it proposed a candidate that had already failed, so it was not run again",
    Reason.OUT_OF_BOUNDS: (
        "it changed files that the strategy does not allow, so all its edits were dropped"
    ),
    Reason.NEEDS_APPROVAL: "it deleted files, which needs approval, so all its edits were dropped",
}

Redact = Callable[[str], str]


def wants_tests(finding: Finding) -> bool:
    """Return whether the way to fix a finding is to add tests."""
    return finding.category in (COVERAGE_UNMET, TESTS_MISSING)


def task_text(
    task: FixTask, workplace: Workplace, redact: Redact = str, *, files: Sequence[str] = ()
) -> str:
    """Return the part of a prompt that all fixers share: what is wanted, wrong, known and tried.

    The files that it all leads to, `files` before all others, get the room that is left. `redact`
    redacts texts before they are trimmed: half of a secret is not found any more.
    """
    text = fill(
        "task",
        rules=_rules(task),
        required=_required(task, workplace, redact),
        findings=findings_text(task.findings, redact),
        known=_known(task.history, redact) or "Nothing.",
        earlier=_earlier(task, redact) or "None yet.",
        guidance="\n".join(answer.text for answer in task.history.answers) or "None.",
    )
    room = max(_PROMPT - len(text), _LEAST_FILES)
    own, judges = _files(task, workplace, files, room)
    return fill("files", task=text, files=own or "None are known.", judges=judges or "None.")


def findings_text(findings: Sequence[Finding], redact: Redact = str) -> str:
    """Return findings as a prompt shows them, each in fences: what tests say before the rest."""
    shown: list[str] = []
    room = _FINDINGS
    for finding in tests_first(findings)[:_MOST_FINDINGS]:
        text = _finding(len(shown) + 1, finding, redact)
        if shown and len(text) > room:
            break
        room -= len(text)
        shown.append(text)
    if more := len(findings) - len(shown):
        shown.append(f"And {more} more of the same checks.")
    return "\n\n".join(shown)


def tests_first(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings in the order in which they matter: static checks say least."""
    return sorted(findings, key=lambda finding: cause_of(finding) is Cause.STATIC_CHECK)


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


def _required(task: FixTask, workplace: Workplace, redact: Redact) -> str:
    """Return what was asked for, with the documents that it names; empty if nothing was."""
    if not task.requirement:
        return ""
    quoted = "\n".join(f"> {line}" for line in redact(task.requirement).splitlines())
    here = replace(workplace, root=workplace.directory)
    documents = [
        f"### {name}\n{fence(redact(text), limit=_DOCUMENT)}"
        for name in task.documents
        if (file := own_file(name, here)) and (text := read_text(here.directory / file))
    ]
    return fill("required", requirement="\n\n".join([quoted, *documents])) + "\n\n"


def _files(task: FixTask, workplace: Workplace, named: Sequence[str], room: int) -> tuple[str, str]:
    """Return the files of the program that findings lead to, and those that judge it."""
    ran = task.history.test_files() if task.history.attempts else ()
    wanted = all(wants_tests(finding) for finding in task.findings)
    bounded = (task.bounds.paths or ()) if task.bounds else ()
    also = (*named, *bounded, *(ran if wanted else ()))
    leads = leads_of(tests_first(task.findings), workplace, also)
    judging = [lead for lead in leads if is_judge(lead.file) or lead.file in ran]
    judges = show_files(judging, workplace.root, budget=room // 3)
    own = [lead for lead in leads if lead not in judging]
    return show_files(own, workplace.root, budget=room - len(judges)), judges


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


def _finding(number: int, finding: Finding, redact: Redact) -> str:
    where = " ".join(filter(None, [str(finding.location), finding.location.symbol]))
    at = f" at {where}" if where else ""
    lines = [f"### {number}. {finding.source}: {finding.category}{at}"]
    lines.append(fence(redact(finding.message), limit=_SAMPLE))
    if finding.category == TESTS_MISSING and finding.attempted:
        lines.append(f"Kinds of tests that are missing: {', '.join(finding.attempted)}")
    missing = finding.data.get("missing")
    if finding.category == COVERAGE_UNMET and isinstance(missing, dict):
        lines.append("Lines that no test runs:")
        lines += [f"- {file}: {_ranges(numbers)}" for file, numbers in missing.items()]
    if finding.available:
        lines.append(f"Available: {', '.join(finding.available)}")
    if finding.sample:
        lines.append(fence(redact(finding.sample), limit=_SAMPLE))
    data = {name: value for name, value in finding.data.items() if name not in _NOT_SHOWN}
    if data:
        text = json.dumps(data, ensure_ascii=False, default=str)
        lines.append(f"Data:\n{fence(redact(text), limit=_SAMPLE)}")
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


def _known(history: History, redact: Redact) -> str:
    analysis = history.latest.analysis if history.attempts else None
    if analysis is None:
        return ""
    lines = [_analysis(analysis, redact)]
    if analysis.recalled:
        lines.append("What memory knows about failures like these:")
        lines += [fence(redact(text), limit=_SAMPLE) for text in analysis.recalled]
    return "\n".join(lines)


def _analysis(analysis: Analysis, redact: Redact) -> str:
    said = [f"Cause: {analysis.root_cause}"]
    if analysis.fix_strategy:
        said.append(f"What to do: {analysis.fix_strategy}")
    if analysis.confidence is not None:
        said.append(f"Confidence: {analysis.confidence:.0%}")
    return fence(redact("\n".join(said)), limit=2 * _SAMPLE)


def _earlier(task: FixTask, redact: Redact) -> str:
    history = task.history
    lines = [_attempt(attempt, task, redact) for attempt in history.attempts if attempt.fix]
    lines += [
        f"- After attempt {rejection.after}: {_REJECTED[rejection.reason]}."
        f"{_outside(rejection.fix)}{_undone(rejection.fix)}{_said(rejection.fix, redact)}"
        f"{_diff(rejection.fix, task, redact)}"
        for rejection in history.rejections
        if rejection.reason in _REJECTED
    ]
    return "\n".join(lines)


def _attempt(attempt: Attempt, task: FixTask, redact: Redact) -> str:
    fix = attempt.fix
    files = _few(fix.files) if fix and fix.files else "nothing"
    broken = task.history.regressions(attempt)
    broke = f"it broke what passed before: {_few(broken)}; " if broken else ""
    left = sorted({f"{f.category} ({f.location.symbol or f.location})" for f in attempt.blocking})
    outcome = f"still failing: {_few(left)}" if left else "it passed"
    undone = " None of it is in the files now." if broken else ""
    return (
        f"- Attempt {attempt.number} changed {files}; {broke}{outcome}.{undone}{_undone(fix)}"
        f"{_said(fix, redact)}{_diff(fix, task, redact)}"
    )


def _diff(fix: Fix | None, task: FixTask, redact: Redact) -> str:
    """Return the change that a fix made, if it made one."""
    if fix is None or fix.base == fix.candidate:
        return ""
    diff = task.difference(fix.base, fix.candidate)
    return f"\n{fence(redact(diff), limit=_DIFF)}" if diff else ""


def _outside(fix: Fix) -> str:
    files = [file for part in fix.parts for file in part.outside]
    return f" Not allowed: {_few(files)}." if files else ""


def _undone(fix: Fix | None) -> str:
    restored = [file for part in fix.parts for file in part.restored] if fix else []
    return f" Its edits to {_few(restored)} were undone." if restored else ""


def _said(fix: Fix | None, redact: Redact) -> str:
    parts = [part for part in fix.parts if part.failure is None] if fix else []
    said = "\n".join(filter(None, (part.description.strip() for part in parts)))
    refused = "".join(f" Why: {part.refused}." for part in parts if part.refused)
    return refused + (f" It was said of it:\n{fence(redact(said), limit=_SAID)}" if said else "")


def _quoted(patterns: Sequence[str]) -> str:
    more = [f"and {len(patterns) - _MOST_PATTERNS} more"] * (len(patterns) > _MOST_PATTERNS)
    return ", ".join([*(f"`{' '.join(p.split())}`" for p in patterns[:_MOST_PATTERNS]), *more])


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
