"""Readers: how the verdict of one kind of tool is got out of it, from its structured report.

A reader adds to a command what makes the tool write its report, and reads the report afterwards.
The plain reader, for any command at all, knows only the exit code.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from runtrue.checks.case_info import CaseInfo, info_of_name
from runtrue.checks.coverage import Measured
from runtrue.checks.places import Place, relative
from runtrue.checks.watch import JudgeWatch
from runtrue.loop import (
    RESOURCE_LIMIT,
    TAMPERED,
    TIMEOUT,
    Fault,
    Finding,
    Location,
    Outcome,
    Workplace,
)
from runtrue.process import Ended

#: What is kept of a tool's output in a finding or verdict, at each end.
_SAMPLE = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a test command is to be run, beyond what it says itself.

    `cover` measures coverage, `fail_fast` stops at the first failure, `verbose` makes what the
    framework says of failures complete, `test_seconds` is the processor time of one test.
    """

    cover: bool = False
    fail_fast: bool = False
    verbose: bool = False
    test_seconds: float = 0.0


_PLAIN = Manner()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A command made ready to be run."""

    argv: tuple[str, ...]
    environment: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a reader made of a finished command."""

    passed: bool
    findings: tuple[Finding, ...] = ()
    cases: dict[str, Outcome] = field(default_factory=dict)

    def and_found(self, findings: Sequence[Finding]) -> Reading:
        """The same with further findings, which come first, and with which nothing passes."""
        if not findings:
            return self
        return replace(self, passed=False, findings=(*findings, *self.findings))


class Reader:
    """The plain reader: the exit code decides, the output is the sample.

    `is_shell` says that the command is a line for the shell, of which the tool is only a part.
    """

    def __init__(self, check: str, *, is_shell: bool, manner: Manner = _PLAIN) -> None:
        self.check = check
        self.is_shell = is_shell
        self.manner = manner

    def prepare(self, argv: Sequence[str], environment: Mapping[str, str], scratch: Path) -> Call:
        """The command as it is to be run, with `scratch` for its report."""
        return Call(argv=tuple(argv), environment=dict(environment))

    def read(self, ended: Ended, workplace: Workplace) -> Reading:
        """The verdict from how the command ended and what it left in the scratch directory."""
        outcome = Outcome.PASSED if ended.exit_code == 0 else Outcome.FAILED
        return Reading(
            passed=ended.exit_code == 0,
            findings=() if ended.exit_code == 0 else (self.failure(ended),),
            cases={self.check: outcome},
        )

    def measured(self, workplace: Workplace) -> Measured:
        """The coverage of the run that has just been read, where it was asked for."""
        return Measured(
            why_not="coverage needs a test command: this one runs none that runtrue knows"
        )

    def case_infos(self, cases: Iterable[str], workplace: Workplace) -> dict[str, CaseInfo]:
        """Where cases are written and what they are marked with, as far as the report says so."""
        return {case: info_of_name(case, workplace.root) for case in cases}

    def failure(self, ended: Ended) -> Finding:
        """A finding about the command as a whole."""
        code = ended.exit_code
        sample = output_of(ended)
        if ended.exceeded is not None:
            finding = self.finding(RESOURCE_LIMIT, ended.exceeded.message, sample=sample)
            return replace(finding, data=ended.exceeded.data)
        if code is None:
            allowed = ended.timeout or ended.seconds
            finding = self.finding(TIMEOUT, f"did not end within {allowed:.6g} s", sample=sample)
            used = {"limit": "wall_time", "allowed": allowed, "used": ended.seconds}
            return replace(finding, data=used)
        if code < 0:
            return self.finding("signal", f"was killed by {_signal_name(-code)}", sample=sample)
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
        symbol: str | None = None,
    ) -> Finding:
        """A finding of this check that belongs to no single place in a file."""
        return Finding(
            source=self.check,
            category=category,
            message=message,
            fault=fault,
            sample=sample,
            location=Location(symbol=symbol or self.check),
        )

    def tampering(self, watch: JudgeWatch | None, workplace: Workplace) -> list[Finding]:
        """Findings about the judges that were written while they judged."""
        return [self.tampered(*found) for found in (watch.written(workplace) if watch else ())]

    def tampered(
        self, message: str, place: Place | None = None, *, data: dict[str, Any] | None = None
    ) -> Finding:
        """A finding that the candidate has laid hands on what judges it: it never passes."""
        file, line = (place.file or None, place.line) if place else (None, None)
        return Finding(
            source=self.check,
            category=TAMPERED,
            message=f"{message}: the verdict must not depend on what it judges; leave that alone",
            fault=Fault.CANDIDATE,
            # Not the test that ran: it is no failure of that one, which might be known already.
            location=Location(file=file, line=line, symbol=file or self.check),
            data=data or {},
        )


def trim(text: str, keep: int = _SAMPLE) -> str:
    """The head and the tail of a text."""
    if len(text) <= 2 * keep:
        return text
    return f"{text[:keep]}\n[… {len(text) - 2 * keep} characters left out …]\n{text[-keep:]}"


def output_of(ended: Ended) -> str:
    """What a command printed, trimmed: errors last, where people look first."""
    streams = (ended.stdout.text.strip(), ended.stderr.text.strip())
    return trim("\n".join(stream for stream in streams if stream))


def place(item: Mapping[str, Any], workplace: Workplace) -> Location:
    """The location in a report's item with `file`, `line` and `column`."""
    file = item.get("file")
    return Location(
        file=(relative(file, workplace) or file) if file else None,
        line=item.get("line"),
        column=item.get("column"),
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
