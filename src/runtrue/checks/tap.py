"""TAP, the Test Anything Protocol: read it from a command's output."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field
from typing import Any

from runtrue.checks.case import CaseResult
from runtrue.checks.locations import locations_in
from runtrue.loop import Outcome, Workplace

_RESULT = re.compile(
    r"^(?P<indent> *)(?P<not>not )?ok\b(?: (?P<number>\d+))?(?: *-)?(?P<text>.*?)"
    r"(?:\s#\s*(?P<directive>skip|todo)\w*\b.*)?$",
    re.IGNORECASE,
)
_PLAN = re.compile(r"^(?P<indent> *)1\.\.(?P<count>\d+)(?:\s*#.*)?$")
_VERSION = re.compile(r"^TAP version \d+$")
_BAIL = re.compile(r"^Bail out!\s*(?P<reason>.*)$")
_INDENT = 4


@dataclass(slots=True)
class _TapLine:
    name: str
    outcome: Outcome
    details: dict[str, Any] = field(default_factory=dict)
    text: str = ""


@dataclass(slots=True)
class Tap:
    """A report: its cases, how many were planned and reported at the top, why it bailed out."""

    cases: list[CaseResult]
    planned: int | None
    reported: int
    bailed_out: str | None


def read_tap(text: str, workplace: Workplace) -> Tap | None:
    """Return the report in a text; None if it has neither a plan nor a version."""
    lines = text.splitlines()
    planned: int | None = None
    bailed_out: str | None = None
    is_tap = any(_VERSION.match(line) for line in lines)
    # The subtests of a test come before it, further to the right.
    open_levels: dict[int, list[_TapLine]] = {0: []}
    reported = 0
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        if plan := _PLAN.match(line):
            if not plan["indent"]:
                planned, is_tap = int(plan["count"]), True
        elif bail := _BAIL.match(line):
            bailed_out = bail["reason"].strip() or "no reason given"
        elif result := _RESULT.match(line):
            level = len(result["indent"]) // _INDENT
            block, index = _block(lines, index)
            found = _TapLine(_name(result), _outcome(result), _details(block), block)
            inner = open_levels.pop(level + 1, [])
            for case in inner:
                case.name = f"{found.name} {case.name}"
            bad = any(c.outcome is Outcome.FAILED for c in inner)
            # A test of which a part failed says nothing that the part does not.
            whole = [] if inner and (bad or found.outcome is not Outcome.FAILED) else [found]
            open_levels.setdefault(level, []).extend([*inner, *whole])
            reported += level == 0
    results = open_levels[0]
    if not is_tap or not (results or bailed_out is not None):
        return None
    return Tap([_case(result, workplace) for result in results], planned, reported, bailed_out)


def _name(result: re.Match[str]) -> str:
    text = result["text"].strip().replace("\\#", "#")
    return text or f"test {result['number'] or '?'}"


def _outcome(result: re.Match[str]) -> Outcome:
    if result["directive"]:
        return Outcome.SKIPPED
    return Outcome.FAILED if result["not"] else Outcome.PASSED


def _block(lines: list[str], index: int) -> tuple[str, int]:
    """Return the YAML below a result, and the line after it."""
    if index < len(lines) and lines[index].strip() == "---" and lines[index][0] == " ":
        for end in range(index + 1, len(lines)):
            if lines[end].strip() == "...":
                return textwrap.dedent("\n".join(lines[index + 1 : end])), end + 1
    return "", index


def _details(block: str) -> dict[str, Any]:
    import yaml

    try:
        value = yaml.safe_load(block)
    except yaml.YAMLError:
        return {}
    return value if isinstance(value, dict) else {}


def _case(result: _TapLine, workplace: Workplace) -> CaseResult:
    if result.outcome is not Outcome.FAILED:
        return CaseResult(name=result.name, outcome=result.outcome)
    details = result.details
    expected, actual = (
        _first(details, *names) for names in (("expected", "wanted"), ("actual", "found", "got"))
    )
    error = _first(details, "name")
    is_error = error is not None and not error.endswith("AssertionError") and expected is None
    texts = (_first(details, "stack") or "", _first(details, "location", "at") or "")
    return CaseResult(
        name=result.name,
        outcome=Outcome.ERROR if is_error else Outcome.FAILED,
        category=error or "failure",
        message=_first(details, "error", "message") or result.name,
        location=next((found for t in texts for found in locations_in(t, workplace)), None),
        stack=_first(details, "stack") or result.text,
        expected=expected,
        actual=actual,
        code=_first(details, "code"),
    )


def _first(details: dict[str, Any], *names: str) -> str | None:
    for name in names:
        if details.get(name) is not None:
            return str(details[name]).strip()
    return None
