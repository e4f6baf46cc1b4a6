"""Reports in the formats that other programs read: SARIF, JUnit, GitHub's annotations, Markdown.

All text in a report comes from outside. Each format escapes it in its own way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from runtrue import __version__
from runtrue.foreign_text import visible, visible_name

if TYPE_CHECKING:
    from runtrue.code import CodeReport
    from runtrue.loop import Finding

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
#: GitHub takes this many results of one run, and this long a summary.
_MOST_RESULTS, _LONGEST_DIFF = 5_000, 60_000
#: Findings that a summary lists.
_MOST_ROWS = 50
#: GitHub shows so many annotations of each kind for one step.
_MOST_ANNOTATIONS = 10


class OutputFormat(StrEnum):
    """A format of `--output`."""

    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What one check found, as far as the formats show it."""

    name: str
    passed: bool
    required: bool = True
    seconds: float = 0.0
    facts: str = ""
    findings: Sequence[Finding] = ()

    @property
    def level(self) -> str:
        """How much a finding of it matters: `error` or `warning`."""
        return "error" if self.required else "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """The checks of a run at its end, with the files seen from the top of the repository."""

    title: str
    status: str
    checks: tuple[CheckResult, ...]
    prefix: str = ""
    confidence: str = ""
    diff: str = ""

    @classmethod
    def of(cls, report: CodeReport) -> Outcomes:
        """Return what the formats show of a report."""
        from runtrue.cli.repair import confidence_line
        from runtrue.loop import Mode

        verdicts = report.attempts[-1].verdicts if report.attempts else ()
        checks = [
            CheckResult(
                name=one.check,
                passed=one.passed,
                required=one.mode is Mode.REQUIRED,
                seconds=one.seconds,
                facts=", ".join(f"{count} {outcome}" for outcome, count in one.cases.items()),
                findings=tuple(f for f in report.findings if f.source == one.check)
                if one.mode is Mode.REQUIRED
                else one.findings,
            )
            for one in verdicts
        ]
        named = {one.check for one in verdicts}
        others = tuple(f for f in report.findings if f.source not in named)
        if others:
            checks.append(CheckResult(name="runtrue", passed=False, findings=others))
        return cls(
            title=f"runtrue {report.kind}: {report.status}",
            status=report.status,
            checks=tuple(checks),
            prefix=_prefix(report.project),
            confidence="" if report.confidence is None else confidence_line(report),
            diff=report.diff,
        )

    def findings(self) -> Iterator[tuple[CheckResult, Finding]]:
        """Yield all findings, each with its check."""
        for check in self.checks:
            for finding in check.findings:
                yield check, finding

    def file(self, finding: Finding) -> str | None:
        """Return the file of a finding, as seen from the top of the repository."""
        file = finding.location.file
        if file is None or Path(file).is_absolute():
            return None
        return f"{self.prefix}{file}"


def render(outcomes: Outcomes, form: OutputFormat) -> str:
    """Return the outcomes of a run in a format other than JSON."""
    match form:
        case OutputFormat.SARIF:
            return _sarif(outcomes)
        case OutputFormat.JUNIT:
            return _junit(outcomes)
        case OutputFormat.GITHUB:
            return _github(outcomes)
        case _:
            return _markdown(outcomes)


def _prefix(project: str) -> str:
    from runtrue.sandbox import repository_of

    place = Path(project)
    top = repository_of(place) if project and place.is_dir() else None
    if top is None or not place.resolve().is_relative_to(top.resolve()):
        return ""
    inside = place.resolve().relative_to(top.resolve()).as_posix()
    return "" if inside == "." else f"{inside}/"


# -- SARIF -----------------------------------------------------------------------------------


def _sarif(outcomes: Outcomes) -> str:
    import json

    found = list(outcomes.findings())[:_MOST_RESULTS]
    rules = sorted({_rule(check, finding) for check, finding in found})
    driver = {
        "name": "runtrue",
        "version": __version__,
        "rules": [{"id": rule, "shortDescription": {"text": rule}} for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True}],
        "columnKind": "unicodeCodePoints",
        "results": [_result(outcomes, check, finding, rules) for check, finding in found],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _result(
    outcomes: Outcomes, check: CheckResult, finding: Finding, rules: list[str]
) -> dict[str, Any]:
    rule = _rule(check, finding)
    result: dict[str, Any] = {
        "ruleId": rule,
        "ruleIndex": rules.index(rule),
        "level": check.level,
        "message": {"text": visible(finding.message) or rule},
        "partialFingerprints": {"runtrue/v1": finding.fingerprint},
    }
    if (file := outcomes.file(finding)) is not None:
        place: dict[str, Any] = {"artifactLocation": {"uri": quote(file)}}
        if finding.location.line:
            place["region"] = {"startLine": finding.location.line}
            if finding.location.column:
                place["region"]["startColumn"] = finding.location.column
        result["locations"] = [{"physicalLocation": place}]
    return result


def _rule(check: CheckResult, finding: Finding) -> str:
    return visible_name(f"{check.name}/{finding.category}")


# -- JUnit -----------------------------------------------------------------------------------


def _junit(outcomes: Outcomes) -> str:
    from junitparser import Failure, JUnitXml, TestCase, TestSuite

    document = JUnitXml("runtrue")
    for check in outcomes.checks:
        suite = TestSuite(visible_name(check.name))
        for finding in check.findings:
            case = TestCase(visible_name(finding.location.symbol or finding.category), check.name)
            file = outcomes.file(finding)
            where = f"{file}:{finding.location.line or 1}\n" if file else ""
            message = visible(finding.message)
            failure = Failure(message.partition("\n")[0], visible_name(finding.category))
            failure.text = f"{where}{message}"
            case.result = [failure]
            suite.add_testcase(case)
        if not check.findings:
            case = TestCase(visible_name(check.name), check.name, check.seconds)
            if not check.passed:
                case.result = [Failure("failed")]
            suite.add_testcase(case)
        suite.time = check.seconds
        document.add_testsuite(suite)
    document.update_statistics()  # type: ignore[no-untyped-call]
    text = document.tostring()  # type: ignore[no-untyped-call]
    return text.decode() if isinstance(text, bytes) else str(text)


# -- GitHub ----------------------------------------------------------------------------------


def _github(outcomes: Outcomes) -> str:
    """Return the commands by which GitHub's runner annotates lines of a change."""
    lines: list[str] = []
    shown: dict[str, int] = {}
    for check, finding in outcomes.findings():
        shown[check.level] = shown.get(check.level, 0) + 1
        if shown[check.level] > _MOST_ANNOTATIONS:
            continue
        place = {
            "file": outcomes.file(finding),
            "line": finding.location.line,
            "col": finding.location.column,
            "title": f"{check.name}: {finding.category}",
        }
        said = ",".join(f"{key}={_property(str(v))}" for key, v in place.items() if v)
        lines.append(f"::{check.level} {said}::{_data(visible(finding.message))}")
    for level, count in shown.items():
        if count > _MOST_ANNOTATIONS:
            lines.append(f"::notice::{count - _MOST_ANNOTATIONS} more of the level {level}")
    lines.append(f"::notice title=runtrue::{_data(outcomes.title)}")
    return "\n".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(visible_name(text)).replace(":", "%3A").replace(",", "%2C")


# -- Markdown --------------------------------------------------------------------------------


def _markdown(outcomes: Outcomes) -> str:
    """Return a summary for a pull request or the page of a CI job."""
    mark = "✅" if outcomes.status == "passed" else "❌"
    lines = [f"## {mark} {outcomes.title}", "", "| check | result | |", "|---|---|---|"]
    for check in outcomes.checks:
        word = "passed" if check.passed else "failed" if check.required else "failed (information)"
        lines.append(f"| {_code(check.name)} | {word} | {_plain(check.facts)} |")
    found = list(outcomes.findings())
    if found:
        lines += ["", f"### {len(found)} to fix", ""]
    for _, finding in found[:_MOST_ROWS]:
        line = f":{finding.location.line}" if finding.location.line else ""
        file = outcomes.file(finding)
        where = f"{_code(f'{file}{line}')} " if file else ""
        message = visible(finding.message).strip().partition("\n")[0][:300]
        lines.append(f"- {where}{_code(finding.category)} {_code(message)}")
    if len(found) > _MOST_ROWS:
        lines.append(f"- … and {len(found) - _MOST_ROWS} more")
    if outcomes.confidence:
        lines += ["", _plain(outcomes.confidence)]
    if outcomes.diff:
        diff = visible(outcomes.diff, keep="\n\t")[:_LONGEST_DIFF]
        fence = _fence(diff)
        lines += ["", "<details><summary>the change</summary>", ""]
        lines += [f"{fence}diff", diff.rstrip("\n"), fence, "", "</details>"]
    return "\n".join(lines)


def _code(text: str) -> str:
    """Return a text as code, in which nothing has a meaning, also in a table."""
    text = visible_name(text).replace("|", "¦") or " "
    fence = "`" * (_longest_run(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _plain(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~&@])", r"\\\1", visible_name(text))


def _fence(text: str) -> str:
    return "`" * max(3, _longest_run(text) + 1)


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
