"""The security gate: what a scanner has against the lines that were changed.

Read are bandit's own JSON, and SARIF, which most scanners of any language can write.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import unquote, urlsplit

import msgspec

from runtrue import process
from runtrue.checks import Language, find_program, is_shell, language_of, output_of, trim
from runtrue.loop import SECURITY_ISSUE, Fault, Finding, Location, Mode, Trial, Verdict, Workplace

NAME = "security"
Severity = Literal["low", "medium", "high"]

_RANKS: dict[str, int] = {"undefined": 0, "low": 1, "medium": 2, "high": 3}
_LEVELS = {"error": "high", "warning": "medium", "note": "low"}
#: From which score on, of ten, `security-severity` means what.
_SCORES = ((7.0, "high"), (4.0, "medium"), (0.0, "low"))
_FILES = "{files}"
_SECONDS = 300.0
_KEEP = 16 * 1024 * 1024
#: What is generated may not excuse itself with a comment.
_BANDIT = ("-q", "-f", "json", "--ignore-nosec")


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One thing that a scanner found, in lines of a file as seen from the workplace's root."""

    rule: str
    severity: str
    message: str
    file: str
    lines: range
    confidence: str | None = None


@dataclass(frozen=True, slots=True)
class SecurityGate:
    """Runs a scanner on the files that differ from the base, and counts what is new.

    Without a command of the user's, bandit looks at Python files, where it is installed; where
    nothing can look, the verdict passes and says so. `changed` gives the changed lines of a
    candidate, by file as seen from the workplace's root.
    """

    command: str | None
    severity: Severity
    changed: Callable[[str], Mapping[str, frozenset[int]]]
    name: str = NAME
    mode: Mode = Mode.REQUIRED

    async def judge(self, workplace: Workplace, trial: Trial) -> Verdict:
        """Scan what was changed. Only the changed lines count, from `severity` on."""
        changed = {
            file: lines
            for file, lines in self.changed(trial.candidate).items()
            if lines
            and (workplace.root / file).is_file()
            and (self.command is not None or language_of(file) is Language.PYTHON)
        }
        if not changed:
            what = "file" if self.command else "Python file"
            return self._passed(f"nothing to look at: no {what} was changed")
        files = [_seen_from(workplace, file) for file in sorted(changed)]
        argv = self._argv(files, workplace)
        if argv is None:
            return self._passed(
                "no scanner: bandit is neither on PATH nor beside runtrue; install it, or name "
                "another one in [security] command"
            )
        environment = dict(workplace.environment)
        if self.command is None:
            # What the candidate has to import is not for the scanner to import.
            environment.pop("PYTHONPATH", None)
        try:
            ended = await process.run(
                argv, cwd=workplace.directory, env=environment, timeout=_SECONDS, keep=_KEEP
            )
        except OSError as error:
            return self._broken(f"the scanner {argv[0]!r} cannot be run: {error.strerror}")
        return self._read(ended, workplace, changed)

    def _argv(self, files: Sequence[str], workplace: Workplace) -> tuple[str, ...] | None:
        if self.command is None:
            if program := find_program("bandit", workplace.environment.get("PATH", "")):
                return (program, *_BANDIT, *files)
            if importlib.util.find_spec("bandit"):
                return (sys.executable, "-I", "-m", "bandit", *_BANDIT, *files)
            return None
        if is_shell(self.command.replace(_FILES, "")):
            return ("/bin/sh", "-c", self.command.replace(_FILES, shlex.join(files)))
        words = shlex.split(self.command)
        return tuple(
            filled
            for word in words
            for filled in (files if word == _FILES else (word.replace(_FILES, " ".join(files)),))
        )

    def _read(
        self, ended: process.Ended, workplace: Workplace, changed: Mapping[str, frozenset[int]]
    ) -> Verdict:
        if ended.timed_out:
            return self._broken(f"the scanner did not end within {_SECONDS:.0f} s", ended)
        try:
            issues, trouble = read_report(ended.stdout.text, workplace)
        except msgspec.MsgspecError:
            why = f"the scanner gave no report that can be read (exit code {ended.exit_code})"
            return self._broken(why, ended)
        if trouble:
            return self._broken(f"the scanner could not look at all: {trouble}", ended)
        found = tuple(
            self._finding(issue)
            for issue in issues
            if _RANKS[issue.severity] >= _RANKS[self.severity]
            and not changed.get(issue.file, frozenset()).isdisjoint(issue.lines)
        )
        return Verdict(
            check=self.name,
            mode=self.mode,
            passed=not found,
            findings=found,
            exit_code=ended.exit_code,
            seconds=ended.seconds,
            output=(
                f"changed files looked at: {len(changed)}; issues on changed lines and at least "
                f"{self.severity}: {len(found)} of {len(issues)}"
            ),
        )

    def _finding(self, issue: Issue) -> Finding:
        return Finding(
            source=self.name,
            category=SECURITY_ISSUE,
            message=f"{issue.rule}: {trim(issue.message)}",
            fault=Fault.CANDIDATE,
            location=Location(file=issue.file, line=issue.lines.start, symbol=issue.file),
            data={
                "rule": issue.rule,
                "severity": issue.severity,
                "confidence": issue.confidence,
            },
        )

    def _passed(self, why: str) -> Verdict:
        return Verdict(check=self.name, mode=self.mode, passed=True, output=why)

    def _broken(self, why: str, ended: process.Ended | None = None) -> Verdict:
        finding = Finding(
            source=self.name,
            category="scanner_broken",
            message=why,
            fault=Fault.CHECK,
            location=Location(symbol=self.name),
            sample=output_of(ended) if ended else None,
        )
        return Verdict(
            check=self.name,
            mode=self.mode,
            passed=False,
            findings=(finding,),
            exit_code=ended.exit_code if ended else None,
            seconds=ended.seconds if ended else 0.0,
        )


# -- reports --------------------------------------------------------------------------------------


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


class _Result(msgspec.Struct, rename="camel"):
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
    results: list[_Result] | None = None
    invocations: list[_Invocation] = []


class _Sarif(msgspec.Struct):
    runs: list[_Run]


def read_report(text: str, workplace: Workplace) -> tuple[list[Issue], str | None]:
    """All issues of a report, and what the scanner says that it could not look at.

    Raises msgspec.MsgspecError for what is neither bandit's JSON nor SARIF.
    """
    data = msgspec.json.decode(text)
    if isinstance(data, dict) and "runs" in data:
        sarif = msgspec.convert(data, _Sarif)
        failed = any(not i.execution_successful for run in sarif.runs for i in run.invocations)
        issues = [issue for run in sarif.runs for issue in _of_sarif(run, workplace)]
        return issues, "it says itself that it failed" if failed else None
    bandit = msgspec.convert(data, _Bandit)
    trouble = "; ".join(f"{error.filename}: {error.reason}" for error in bandit.errors)
    return [_of_bandit(result, workplace) for result in bandit.results], trouble or None


def _of_bandit(result: _BanditResult, workplace: Workplace) -> Issue:
    lines = result.line_range or [result.line_number]
    severity = result.issue_severity.lower()
    return Issue(
        rule=result.test_id,
        severity=severity if severity in _RANKS else "undefined",
        message=result.issue_text,
        file=_rooted(workplace, result.filename),
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
                file=_rooted(workplace, _path(physical.artifact_location.uri)),
                lines=range(start, max(start, physical.region.end_line or start) + 1),
                confidence=precision if isinstance(precision, str) else None,
            )


def _severity(result: _Result, rule: _Rule | None) -> str | None:
    """How bad it is, by the rule's score if it has one; None for what is no issue at all."""
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


def _rooted(workplace: Workplace, file: str) -> str:
    """A file that the scanner named, as seen from the root; others never match a changed one."""
    path = Path(os.path.normpath(workplace.directory / file))
    for root in (workplace.root, workplace.root.resolve()):
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return str(path)


def _seen_from(workplace: Workplace, file: str) -> str:
    """A changed file as the scanner is to be told it: it must not look like an option."""
    seen = os.path.relpath(workplace.root / file, workplace.directory)
    return f"./{seen}" if seen.startswith("-") else seen
