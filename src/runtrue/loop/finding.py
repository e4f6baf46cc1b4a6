"""Verdicts and findings: what a check said of a candidate, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from runtrue.loop.fault import Fault
from runtrue.loop.fingerprint import fingerprint


class Mode(StrEnum):
    """Whether a check blocks (`required`) or is only recorded (`informational`)."""

    REQUIRED = "required"
    INFORMATIONAL = "informational"


class Outcome(StrEnum):
    """How one named case of a check, a test as a rule, ended."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"


class JudgedBy(StrEnum):
    """What a verdict rests on, from what a candidate can forge least to what it can most."""

    #: Written and sealed before the candidate could run, in a session that is watched.
    SIGNED_REPORT = "signed report"
    #: A reporter of runtrue in the runner: sealed, in a process that may run the candidate.
    OWN_REPORTER = "own reporter"
    #: What the runner prints or leaves, which a candidate can print or write as well.
    OUTPUT = "output"
    #: A candidate that ends the process with 0 passes.
    EXIT_CODE = "exit code"


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Where a finding is. `symbol` is the test, function or node it belongs to."""

    file: str | None = None
    line: int | None = None
    column: int | None = None
    symbol: str | None = None

    def __str__(self) -> str:
        places = [str(p) for p in (self.file, self.line, self.column) if p is not None]
        return ":".join(places) or self.symbol or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One structured failure out of a verdict.

    `source` names the check, `category` the rule or exception type. `attempted` and `available`
    say what was looked for and what there was instead, `sample` shows a piece of it.
    """

    source: str
    category: str
    message: str
    fault: Fault
    location: Location = Location()
    attempted: tuple[str, ...] = ()
    available: tuple[str, ...] = ()
    sample: str | None = None
    data: dict[str, Any] = field(default_factory=dict)
    #: An environment fault that may be gone in a moment, so that trying again makes sense.
    transient: bool = False
    fingerprint: str = ""

    def __post_init__(self) -> None:
        if not self.fingerprint:
            value = fingerprint(self.category, self.message, self.location.symbol)
            object.__setattr__(self, "fingerprint", value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one check said of one candidate.

    `passed` comes from the exit code and the structured report together. `cases` holds the named
    cases of the check, where it has any, and how each ended. `output` is trimmed head and tail.
    `flaky` are failures that were gone, or came, when the same candidate was checked again.
    `known` are failures of tests outside of the task that were there before.
    `coverage` is, where it was measured, how many lines of each file ran, and of how many.
    """

    check: str
    mode: Mode
    passed: bool
    findings: tuple[Finding, ...] = ()
    cases: dict[str, Outcome] = field(default_factory=dict)
    exit_code: int | None = None
    seconds: float = 0.0
    output: str = ""
    flaky: tuple[Finding, ...] = ()
    known: tuple[Finding, ...] = ()
    coverage: dict[str, tuple[int, int]] | None = None
    #: It ran some of its cases alone: it may refuse a candidate, and accepts none.
    partial: bool = False
    #: Of the tests that passed: the processor time of the slowest, and the time of all together.
    slowest: float = 0.0
    seconds_passed: float = 0.0
    #: Files of the candidate that the check wrote, though it was only to look; they were put back.
    wrote: tuple[str, ...] = ()
    #: Cases that the baseline ran and this run did not: skipped, deselected or gone.
    vanished: tuple[str, ...] = ()
    #: True if the run stopped at a failure, so that cases are missing which it never came to.
    cut_short: bool = False
    judged_by: JudgedBy | None = None

    @property
    def blocks(self) -> bool:
        """True if the candidate cannot be accepted because of it."""
        return self.mode is Mode.REQUIRED and not self.passed
