"""TAP, the Test Anything Protocol: read it from a command's output."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field, replace
from typing import Any

from runtrue.checks.case import CaseResult
from runtrue.checks.locations import locations_in
from runtrue.loop import Outcome, Workplace

_RESULT = re.compile(
    r"^(?P<indent> *)(?P<not>not )?ok\b(?: (?P<number>\d+))?(?P<dash> *-)?(?P<text>.*?)"
    r"(?:\s#\s*(?P<directive>skip|todo)\w*\b.*)?(?P<opens>\s\{)?$",
    re.IGNORECASE,
)
#: What says how long a test took, in whatever runner's words.
_TIME = re.compile(r"\s#\s*(?:time|duration_ms)[=:]?\s*[\d.]+\s*\w*(?=\s|$)", re.IGNORECASE)
_PLAN = re.compile(r"^(?P<indent> *)1\.\.(?P<count>\d+)(?:\s*#.*)?$")
#: How tape begins a test, whose results are assertions: `# adds`, then `ok 1 should be equal`.
_TITLE = re.compile(
    r"^# (?!Subtest:|tests |pass |fail |skip |todo |ok$|SKIP\b|TODO\b)(?P<name>\S.*)$"
)
_VERSION = re.compile(r"^TAP version \d+$")
_BAIL = re.compile(r"^ *Bail out!\s*(?P<reason>.*)$")
_INDENT = 4
_WORSE = {Outcome.SKIPPED: 0, Outcome.PASSED: 1, Outcome.FAILED: 2}


@dataclass(slots=True)
class _TapLine:
    name: str
    outcome: Outcome
    details: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    #: The test that it is an assertion of.
    test: str | None = None


@dataclass(slots=True)
class Tap:
    """A report: its cases, how many were planned and reported at the top, why it bailed out.

    An output may hold several reports, one after another: the counts are those of the first whose
    plan does not hold, else of all that have one.

    `unfinished` is the test that had begun where a report ends without its plan.
    """

    cases: list[CaseResult]
    planned: int | None
    reported: int
    bailed_out: str | None
    unfinished: str | None = None


@dataclass(slots=True)
class _Plans:
    """The plans of the reports in one output, each with how many results it has."""

    planned: int | None = None
    reported: int = 0
    #: True if the plan came after its results, so that whatever follows is another report.
    is_closed: bool = False
    _former: list[tuple[int, int]] = field(default_factory=list)

    def begin(self) -> None:
        if self.planned is not None:
            self._former.append((self.planned, self.reported))
            self.planned, self.reported, self.is_closed = None, 0, False

    def plan(self, count: int) -> None:
        self.begin()
        self.planned, self.is_closed = count, self.reported > 0

    def counts(self) -> tuple[int | None, int]:
        """Return what was planned, if anything was, and reported."""
        mine = [(self.planned, self.reported)] if self.planned is not None else []
        every = [*self._former, *mine]
        if not every:
            return None, self.reported
        wrong = [(planned, reported) for planned, reported in every if planned != reported]
        whole = (sum(planned for planned, _ in every), sum(reported for _, reported in every))
        return wrong[0] if wrong else whole


def read_tap(text: str, workplace: Workplace, *, has_assertions: bool = False) -> Tap | None:
    """Return the report in a text; None if it has neither a plan nor a version.

    `has_assertions` says that the innermost results are assertions, of which the program that is
    tested may make more or fewer: the case is the test around them.
    """
    lines = text.splitlines()
    plans = _Plans()
    bailed_out: str | None = None
    is_tap = any(_VERSION.match(line) for line in lines)
    # The subtests of a test come before it, further to the right.
    open_levels: dict[int, list[_TapLine]] = {0: []}
    index = 0
    is_titled = _is_titled(lines)
    title: str | None = None
    titles: list[str] = []
    while index < len(lines):
        line = _TIME.sub("", lines[index])
        index += 1
        if _VERSION.match(line):
            plans.begin()
        elif is_titled and (header := _TITLE.match(line)):
            title = header["name"].strip()
            # What follows the plan at the end is about the whole report.
            titles += [title] if plans.planned is None else []
        elif plan := _PLAN.match(line):
            if not plan["indent"]:
                plans.plan(int(plan["count"]))
                is_tap = True
        elif bail := _BAIL.match(line):
            bailed_out = bail["reason"].strip() or "no reason given"
        elif result := _RESULT.match(line):
            level = len(result["indent"]) // _INDENT
            if result["opens"] and (end := _closing(lines, index, result["indent"])):
                # Its subtests come after it: read them first, as everywhere else.
                after = line[: -len(result["opens"])]
                lines[index - 1 : end + 1] = [*lines[index:end], after]
                index -= 1
                continue
            if level == 0 and plans.is_closed:
                plans.begin()
            block, index = _block(lines, index)
            found = _TapLine(_name(result), _outcome(result), _details(block), block)
            if title and level == 0 and result["number"] and not result["dash"]:
                found.test, has_assertions = title, True
            inner = open_levels.pop(level + 1, [])
            for case in inner:
                case.test = f"{found.name} {case.test}" if case.test else found.name
                case.name = f"{found.name} {case.name}"
            bad = any(c.outcome is Outcome.FAILED for c in inner)
            # A test of which a part failed says nothing that the part does not.
            whole = [] if inner and (bad or found.outcome is not Outcome.FAILED) else [found]
            open_levels.setdefault(level, []).extend([*inner, *whole])
            plans.reported += level == 0
    results = open_levels[0]
    if not is_tap or not (results or title or bailed_out is not None):
        return None
    if plans.planned is not None and any(result.test in titles for result in results):
        results += [_TapLine(one, Outcome.PASSED, test=one) for one in _silent(titles, results)]
    if has_assertions:
        results = _tests(results)
    cases = [_case(result, workplace) for result in results]
    unfinished = title if plans.planned is None else None
    return Tap(cases, *plans.counts(), bailed_out, unfinished)


def _is_titled(lines: list[str]) -> bool:
    """True if tests begin with a comment, as tape writes them: with the plan at the end."""
    first = next((at for at, line in enumerate(lines) if _RESULT.match(line)), len(lines))
    before = lines[:first]
    return any(map(_TITLE.match, before)) and not any(map(_PLAN.match, before))


def _silent(titles: list[str], results: list[_TapLine]) -> list[str]:
    """Return the tests of a whole report that ran without an assertion: such a test passes."""
    known = {result.test for result in results}
    return [title for title in titles if title not in known]


def _tests(assertions: list[_TapLine]) -> list[_TapLine]:
    """Return the tests that assertions belong to, each failed like the first that failed."""
    found: dict[str, _TapLine] = {}
    for line in assertions:
        name = line.test or line.name
        known = found.get(name)
        if known is None or _WORSE[line.outcome] > _WORSE[known.outcome]:
            message = line.name.removeprefix(f"{name} ")
            found[name] = replace(line, name=name, details={"message": message, **line.details})
    return list(found.values())


def _closing(lines: list[str], index: int, indent: str) -> int | None:
    """Return the line that ends the subtests which begin here."""
    ends = (at for at in range(index, len(lines)) if lines[at].rstrip() == f"{indent}}}")
    return next(ends, None)


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
    values = details.get("details") or details.get("values")
    said = _said(values) if isinstance(values, dict) else ""
    if expected is None and isinstance(values, dict):
        expected, actual = _difference(values)
    elif expected is None and (diff := _first(details, "diff")):
        expected, actual = _sides(diff, "-", "+")
    error = _first(details, "name")
    texts = (_first(details, "stack") or "", _first(details, "location", "at") or "")
    return CaseResult(
        name=result.name,
        outcome=Outcome.FAILED,
        category=error or "failure",
        message=said or _first(details, "error", "message") or result.name,
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


def _said(values: dict[str, Any]) -> str:
    """Return what ava shows of a failed assertion as one line."""
    return "; ".join(" ".join(f"{name} {value}".split()) for name, value in values.items())


def _difference(values: dict[str, Any]) -> tuple[str | None, str | None]:
    """Return both sides of a difference: `- 4`, `+ 3`."""
    text = next((str(v) for name, v in values.items() if str(name).startswith("Difference")), "")
    return _sides(text, "+", "-")


def _sides(difference: str, expected: str, actual: str) -> tuple[str | None, str | None]:
    """Return the lines of a difference that are marked as expected, and as actual."""
    lines = [line for line in difference.splitlines() if not line.startswith(("---", "+++", "@@"))]
    sides = (
        "\n".join(x[1:].strip() for x in lines if x[:1] == sign) for sign in (expected, actual)
    )
    wanted, got = sides
    return wanted or None, got or None
