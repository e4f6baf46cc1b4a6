"""The gate `security`: require that a scanner finds no issue on changed lines."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from runtrue import process
from runtrue.checks import Language, find_program, is_shell, language_of, output_of, trim
from runtrue.gates.scan_report import RANKS, Issue, read_report
from runtrue.loop import SECURITY_ISSUE, Fault, Finding, Location, Mode, Trial, Verdict, Workplace

NAME = "security"
Severity = Literal["low", "medium", "high"]

_FILES = "{files}"
_KEEP = 16 * 1024 * 1024
#: Generated code may not excuse itself with a comment.
_BANDIT = ("-q", "-f", "json", "--ignore-nosec")


@dataclass(frozen=True, slots=True)
class SecurityGate:
    """Runs a scanner on the files that differ from the base, and counts what is new.

    Without a command of the user's, bandit scans Python files, if it is installed; if nothing can
    scan, the verdict says so, and passes unless it is `strict`. `changed` returns the changed
    lines of a candidate, by file relative to the workplace's root.
    """

    command: str | None
    severity: Severity
    changed: Callable[[str], Mapping[str, frozenset[int]]]
    name: str = NAME
    mode: Mode = Mode.REQUIRED
    #: Seconds for the scanner.
    timeout: float = 300.0
    strict: bool = False

    async def judge(self, workplace: Workplace, trial: Trial) -> Verdict:
        """Scan the changed files. Only changed lines count, from `severity` on."""
        changed = {
            file: lines
            for file, lines in self.changed(trial.candidate).items()
            if lines
            and (workplace.root / file).is_file()
            and (self.command is not None or language_of(file) is Language.PYTHON)
        }
        if not changed:
            what = "file" if self.command else "Python file"
            return self._verdict(f"nothing to scan: no {what} was changed")
        files = [_seen_from(workplace, file) for file in sorted(changed)]
        argv = self._argv(files, workplace)
        if argv is None:
            why = (
                "no scanner: bandit is neither on PATH nor installed beside runtrue; install "
                "it, or name "
                "another one as the command of `security`"
            )
            return self._broken(why) if self.strict else self._verdict(why)
        environment = dict(workplace.environment)
        if self.command is None:
            # The scanner must not import what the candidate has to import.
            environment.pop("PYTHONPATH", None)
        try:
            ended = await process.run(
                argv,
                cwd=workplace.directory,
                env=environment,
                timeout=self.timeout,
                keep=_KEEP,
                confinement=workplace.confinement,
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
            return self._broken(f"the scanner did not finish within {self.timeout:g} s", ended)
        try:
            issues, trouble = read_report(ended.stdout.text, workplace)
        except msgspec.MsgspecError:
            why = f"the scanner gave no readable report (exit code {ended.exit_code})"
            return self._broken(why, ended)
        if trouble:
            return self._broken(f"the scanner could not scan everything: {trouble}", ended)
        found = tuple(
            self._finding(issue)
            for issue in issues
            if RANKS[issue.severity] >= RANKS[self.severity]
            and not changed.get(issue.file, frozenset()).isdisjoint(issue.lines)
        )
        output = (
            f"changed files looked at: {len(changed)}; issues on changed lines and at least "
            f"{self.severity}: {len(found)} of {len(issues)}"
        )
        return self._verdict(output, found, ended)

    def _finding(self, issue: Issue) -> Finding:
        return Finding(
            source=self.name,
            category=SECURITY_ISSUE,
            message=f"{issue.rule}: {trim(issue.message)}",
            fault=Fault.CANDIDATE,
            location=Location(file=issue.file, line=issue.lines.start, symbol=issue.file),
            data={k: getattr(issue, k) for k in ("rule", "severity", "confidence")},
        )

    def _broken(self, why: str, ended: process.Ended | None = None) -> Verdict:
        finding = Finding(
            source=self.name,
            category="scanner_broken",
            message=why,
            fault=Fault.CHECK,
            location=Location(symbol=self.name),
            sample=output_of(ended) if ended else None,
        )
        return self._verdict("", (finding,), ended)

    def _verdict(
        self, output: str, findings: tuple[Finding, ...] = (), ended: process.Ended | None = None
    ) -> Verdict:
        return Verdict(
            check=self.name,
            mode=self.mode,
            passed=not findings,
            findings=findings,
            output=output,
            exit_code=ended.exit_code if ended else None,
            seconds=ended.seconds if ended else 0.0,
        )


def _seen_from(workplace: Workplace, file: str) -> str:
    """Return a changed file as an argument: it must not look like an option."""
    seen = os.path.relpath(workplace.root / file, workplace.directory)
    return f"./{seen}" if seen.startswith("-") else seen
