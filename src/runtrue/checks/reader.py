"""Readers: get the verdict out of one tool, from its structured report.

A reader adds to a command what makes the tool write its report, and reads the report afterwards.
The plain reader, for any command at all, knows only the exit code.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from runtrue.checks.case_info import CaseInfo, info_of_name
from runtrue.checks.coverage import Measured
from runtrue.checks.watch import JudgeWatch
from runtrue.loop import (
    RESOURCE_LIMIT,
    TAMPERED,
    TIMEOUT,
    Fault,
    Finding,
    JudgedBy,
    Location,
    Outcome,
    Workplace,
)
from runtrue.process import Ended, signal_name

#: The characters of a tool's output that a finding or verdict keeps, at each end.
_SAMPLE = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options for a test command, beyond what it says itself.

    `cover` measures coverage, `fail_fast` stops at the first failure, `verbose` makes the
    framework's account of failures complete, `test_seconds` is the processor time of one test, and
    `only` names the tests to run, where that is not all of them.
    """

    cover: bool = False
    fail_fast: bool = False
    verbose: bool = False
    test_seconds: float = 0.0
    only: tuple[str, ...] = ()


_PLAIN = RunOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCommand:
    """A command ready to run."""

    argv: tuple[str, ...]
    environment: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The result of reading a finished command."""

    passed: bool
    findings: tuple[Finding, ...] = ()
    cases: dict[str, Outcome] = field(default_factory=dict)
    #: True if the run stopped at a failure, before all of its tests had their turn.
    cut_short: bool = False
    #: Of the tests that passed: the processor time of the slowest, and the time of all together.
    slowest: float = 0.0
    seconds_passed: float = 0.0

    def and_found(self, findings: Sequence[Finding]) -> Reading:
        """Put further findings first; with any of them nothing passes."""
        if not findings:
            return self
        return replace(self, passed=False, findings=(*findings, *self.findings))


class Reader:
    """The plain reader: the exit code decides, the output is the sample.

    `is_shell` says that the command is a line for the shell, of which the tool is only a part.
    """

    #: What the verdict rests on.
    judged_by: JudgedBy = JudgedBy.EXIT_CODE

    def __init__(self, check: str, *, is_shell: bool, options: RunOptions = _PLAIN) -> None:
        self.check = check
        self.is_shell = is_shell
        self.run_options = options

    def can_select(self) -> bool:
        """Return whether the tool can run just the tests that the options name."""
        return False

    def prepare(
        self, argv: Sequence[str], environment: Mapping[str, str], scratch: Path
    ) -> PreparedCommand:
        """Return the command to run, with `scratch` for its report."""
        return PreparedCommand(argv=tuple(argv), environment=dict(environment))

    def read(self, ended: Ended, workplace: Workplace) -> Reading:
        """Read the exit code and what the command left in the scratch directory."""
        passed = ended.exit_code == 0
        return Reading(
            passed=passed,
            findings=() if passed else (self.failure(ended),),
            cases={self.check: Outcome.PASSED if passed else Outcome.FAILED},
        )

    def measured(self, workplace: Workplace) -> Measured:
        """Return the coverage of the run that was just read, if it was asked for."""
        return Measured(
            why_not="coverage needs a test command; runtrue does not recognise this one"
        )

    def case_infos(self, cases: Iterable[str], workplace: Workplace) -> dict[str, CaseInfo]:
        """Return the files and markers of cases, as far as the report has them."""
        return {case: info_of_name(case, workplace.root) for case in cases}

    def failure(self, ended: Ended) -> Finding:
        """Return a finding about the command as a whole."""
        code = ended.exit_code
        sample = output_of(ended)
        if hit := ended.exceeded:
            return self.finding(RESOURCE_LIMIT, hit.message, sample=sample, data=hit.data)
        if code is None:
            allowed = ended.timeout or ended.seconds
            used = {"limit": "wall_time", "allowed": allowed, "used": ended.seconds}
            message = f"did not finish within {allowed:.6g} s"
            return self.finding(TIMEOUT, message, sample=sample, data=used)
        if code < 0:
            return self.finding("signal", f"was killed by {signal_name(-code)}", sample=sample)
        if self.is_shell and code in (126, 127):
            # The shell's own codes for a program that cannot be run or found.
            return self.finding(
                "not_runnable", "names a program that cannot be run", Fault.CHECK, sample=sample
            )
        return self.finding("exit_code", f"exited with code {code}", sample=sample)

    def finding(
        self,
        category: str,
        message: str,
        fault: Fault = Fault.CANDIDATE,
        *,
        sample: str | None = None,
        location: Location | None = None,
        data: dict[str, Any] | None = None,
    ) -> Finding:
        """Return a finding of this check, by default one at no location in a file."""
        return Finding(
            source=self.check,
            category=category,
            message=message,
            fault=fault,
            sample=sample,
            location=location or Location(symbol=self.check),
            data=data or {},
        )

    def tampered(
        self, message: str, location: Location | None = None, *, data: dict[str, Any] | None = None
    ) -> Finding:
        """Return a finding that the candidate changed its own judges: it never passes."""
        file, line = (location.file, location.line) if location else (None, None)
        message = f"{message}: the code must not change how it is judged; leave that alone"
        # Not the test that ran: it is no failure of that one, which might be known already.
        symbol = Location(file=file, line=line, symbol=file or self.check)
        return self.finding(TAMPERED, message, location=symbol, data=data)

    def written_judges(self, watch: JudgeWatch | None, workplace: Workplace) -> list[Finding]:
        """Return findings about the judges that were written while they judged."""
        return [self.tampered(*found) for found in (watch.written(workplace) if watch else ())]


def trim(text: str, keep: int = _SAMPLE) -> str:
    """Return the head and the tail of a text."""
    if len(text) <= 2 * keep:
        return text
    return f"{text[:keep]}\n[… {len(text) - 2 * keep} characters left out …]\n{text[-keep:]}"


def output_of(ended: Ended) -> str:
    """Return a command's output, trimmed: errors last, where people look first."""
    streams = (ended.stdout.text.strip(), ended.stderr.text.strip())
    return trim("\n".join(stream for stream in streams if stream))


def json_lines(text: str) -> list[dict[str, Any]]:
    """Return the lines of a text that are JSON objects."""
    items = []
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                items.append(json.loads(line))
            except ValueError:
                continue
    return items
