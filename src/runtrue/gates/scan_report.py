"""Scanner reports: bandit's own JSON, and SARIF, which scanners of any language can write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

import msgspec

from runtrue.checks import relative
from runtrue.loop import Workplace
from runtrue.typed_data import convert

#: The severities of issues, the worst last.
RANKS: dict[str, int] = {"undefined": 0, "low": 1, "medium": 2, "high": 3}
_LEVELS = {"error": "high", "warning": "medium", "note": "low"}
#: The least score, of ten, in `security-severity` for each severity.
_SCORES = ((7.0, "high"), (4.0, "medium"), (0.0, "low"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One issue of a scanner, in lines of a file relative to the workplace's root."""

    rule: str
    severity: str
    message: str
    file: str
    lines: range
    confidence: str | None = None


class _BanditResult(msgspec.Struct):
    filename: str
    issue_severity: str
    issue_confidence: str
    issue_text: str
    line_number: Annotated[int, msgspec.Meta(ge=0)]
    test_id: str
    line_range: list[int] = []


class _BanditError(msgspec.Struct):
    filename: str
    reason: str


class _Bandit(msgspec.Struct):
    results: list[_BanditResult]
    errors: list[_BanditError]


class _Text(msgspec.Struct):
    text: str = ""


class _Region(msgspec.Struct, rename="camel"):
    start_line: int | None = None
    end_line: int | None = None


class _Artifact(msgspec.Struct):
    uri: str = ""


class _Physical(msgspec.Struct, rename="camel"):
    artifact_location: _Artifact = msgspec.field(default_factory=_Artifact)
    region: _Region = msgspec.field(default_factory=_Region)


class _Place(msgspec.Struct, rename="camel"):
    physical_location: _Physical = msgspec.field(default_factory=_Physical)


class _Level(msgspec.Struct):
    level: str = "warning"


class _Rule(msgspec.Struct, rename="camel"):
    id: str
    default_configuration: _Level = msgspec.field(default_factory=_Level)
    properties: dict[str, Any] = {}


class _Rules(msgspec.Struct):
    rules: list[_Rule] = []


class _Tool(msgspec.Struct):
    driver: _Rules
    extensions: list[_Rules] = []


class _SarifResult(msgspec.Struct, rename="camel"):
    message: _Text
    rule_id: str = ""
    rule_index: int = -1
    kind: str = "fail"
    level: str | None = None
    locations: list[_Place] = []
    suppressions: list[Any] | None = None


class _Invocation(msgspec.Struct, rename="camel"):
    execution_successful: bool


class _Run(msgspec.Struct):
    tool: _Tool
    results: list[_SarifResult] | None = None
    invocations: list[_Invocation] = []


class _Sarif(msgspec.Struct):
    runs: list[_Run]


def read_report(text: str, workplace: Workplace) -> tuple[list[Issue], str | None]:
    """Return all issues of a report, and what the scanner could not look at.

    Raises msgspec.MsgspecError if it is neither bandit's JSON nor SARIF.
    """
    data = msgspec.json.decode(text)
    if isinstance(data, dict) and "runs" in data:
        sarif = convert(data, _Sarif)
        failed = any(not i.execution_successful for run in sarif.runs for i in run.invocations)
        issues = [issue for run in sarif.runs for issue in _of_sarif(run, workplace)]
        return issues, "it reports a failure" if failed else None
    bandit = convert(data, _Bandit)
    trouble = "; ".join(f"{error.filename}: {error.reason}" for error in bandit.errors)
    return [_of_bandit(result, workplace) for result in bandit.results], trouble or None


def _of_bandit(result: _BanditResult, workplace: Workplace) -> Issue:
    lines = result.line_range or [result.line_number]
    severity = result.issue_severity.lower()
    return Issue(
        rule=result.test_id,
        severity=severity if severity in RANKS else "undefined",
        message=result.issue_text,
        file=_rooted(result.filename, workplace),
        lines=range(min(lines), max(lines) + 1),
        confidence=result.issue_confidence.lower(),
    )


def _of_sarif(run: _Run, workplace: Workplace) -> Iterator[Issue]:
    own = run.tool.driver.rules
    by_id = {
        rule.id: rule for part in (*run.tool.extensions, run.tool.driver) for rule in part.rules
    }
    for result in run.results or ():
        rule = by_id.get(result.rule_id)
        if rule is None and 0 <= result.rule_index < len(own):
            rule = own[result.rule_index]
        severity = _severity(result, rule)
        if result.kind != "fail" or result.suppressions or severity is None:
            continue
        precision = rule.properties.get("precision") if rule else None
        for place in result.locations:
            physical = place.physical_location
            start = physical.region.start_line
            if start is None:
                continue
            yield Issue(
                rule=result.rule_id or (rule.id if rule else "unnamed"),
                severity=severity,
                message=result.message.text,
                file=_rooted(_path(physical.artifact_location.uri), workplace),
                lines=range(start, max(start, physical.region.end_line or start) + 1),
                confidence=precision if isinstance(precision, str) else None,
            )


def _severity(result: _SarifResult, rule: _Rule | None) -> str | None:
    """Return the severity, by the rule's score if it has one; None if it is no issue at all."""
    try:
        score = float(rule.properties["security-severity"]) if rule else None
    except (KeyError, TypeError, ValueError):
        score = None
    if score is not None:
        return next((severity for least, severity in _SCORES if score >= least), None)
    level = result.level or (rule.default_configuration.level if rule else "warning")
    return _LEVELS.get(level)


def _path(uri: str) -> str:
    try:
        return unquote(urlsplit(uri).path)
    except ValueError:
        return uri


def _rooted(file: str, workplace: Workplace) -> str:
    """Return a file relative to the root; one outside never matches a changed one."""
    return relative(file, workplace) or file
