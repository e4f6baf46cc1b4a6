"""Reports of the code loop: a dataclass whose JSON is what `--json` prints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET, UnsetType

from runtrue.code.context import Learned, Written
from runtrue.code.metrics import Facts
from runtrue.code.task import CodeTask
from runtrue.loop import (
    Analysis,
    Budget,
    Condition,
    Example,
    Finding,
    FixPart,
    Hunk,
    JudgedBy,
    Mode,
    Notice,
    Reason,
    Response,
    Skip,
)
from runtrue.receipt import Receipt
from runtrue.sandbox import IsolationRecord, SelfRunning


@dataclass(frozen=True, slots=True, kw_only=True)
class FixReport:
    """A fix: what it changed, and who did it."""

    files: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0
    hunks: tuple[Hunk, ...] = ()
    parts: tuple[FixPart, ...] = ()
    skipped: tuple[Skip, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictReport:
    """What a check said of a candidate."""

    check: str
    mode: Mode
    passed: bool
    exit_code: int | None = None
    seconds: float = 0.0
    #: How many of the check's own cases ended how.
    cases: dict[str, int] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    flaky: tuple[Finding, ...] = ()
    known: tuple[Finding, ...] = ()
    #: Tests that ran in the baseline, and were skipped or gone here.
    vanished: tuple[str, ...] = ()
    #: Only the tests that are to be fixed were run, and failed.
    partial: bool = False
    #: What the verdict rests on: how far a candidate could forge it.
    judged_by: JudgedBy | None = None
    output: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptReport:
    """One run of the checks, and the fix that led to it."""

    number: int
    limit: int
    candidate: str
    passed: bool
    recheck: bool = False
    fix: FixReport | None = None
    verdicts: tuple[VerdictReport, ...] = ()
    findings: tuple[Finding, ...] = ()
    analysis: Analysis | None = None
    regressions: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedFix:
    """A fix that was proposed after attempt `after` and not run."""

    after: int
    reason: Reason
    fix: FixReport


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationReport:
    """A trigger of the policy that fired after so many attempts."""

    condition: Condition
    action: Response
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternativeReport:
    """Another fix that passes: what it changes, and an input on which it behaves otherwise.

    `number` is what a person answers to choose it; 1 is the fix that the report is about.
    """

    number: int
    says: str
    confidence: float
    diff: str
    example: Example


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeReport:
    """The report of `runtrue fix`, `code` and `gate`. What a kind of run lacks is left out."""

    status: str
    run_id: str
    workflow_id: str = ""
    kind: str = ""
    project: str = ""
    why: str | None = None
    attempts: tuple[AttemptReport, ...] = ()
    rejected: tuple[RejectedFix, ...] = ()
    answers: tuple[str, ...] = ()
    escalations: tuple[EscalationReport, ...] = ()
    notices: tuple[Notice, ...] = ()
    flags: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    regressions: tuple[str, ...] = ()
    #: The tests that the last fix made vanish, and the judges that fixers edited in vain.
    vanished: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    budget: Budget | None = None
    max_attempts: int = 0
    #: How sure the fix is to be right and why, and what is suspicious about it; none without one.
    confidence: float | None = None
    confidence_reason: str | None = None
    suspicious: tuple[str, ...] = ()
    #: Other fixes that pass and behave otherwise, and the test that a person's choice amounts to.
    alternatives: tuple[AlternativeReport, ...] = ()
    proposed_test: str | None = None
    #: The tests that a fix turned green which did not fix all of them; its patch is offered.
    gained: tuple[str, ...] = ()
    #: The diff without the places that no failing test needs, and its file, where that is offered.
    reduced: str | None = None
    reduced_patch: str | None = None
    diff: str = ""
    patch: str | None = None
    patch_root: str | None = None
    applied: bool = False
    #: The changes of the diff that were applied, counted from 1, where that was not all of it.
    applied_hunks: tuple[int, ...] = ()
    #: The evidence, of a run that passed.
    receipt: Receipt | None = None
    #: Changed files that run by themselves once they are applied, and what runs them.
    self_running: tuple[SelfRunning, ...] = ()
    sandbox: str | None = None
    isolation: IsolationRecord | None = None
    seconds: float = 0.0
    metrics: Facts | None = None
    memory: Learned | None = None
    #: The history in the form of the seed's JSON Schema.
    record: dict[str, Any] = field(default_factory=dict)
    # Of `code` and `gate`.
    task: CodeTask | UnsetType | None = UNSET
    written: tuple[Written, ...] | UnsetType = UNSET
    lessons: tuple[str, ...] | UnsetType = UNSET
    progress: float | UnsetType | None = UNSET
    # Of `gate`.
    ready: bool | UnsetType = UNSET
    skipped: str | UnsetType | None = UNSET
    changed: tuple[str, ...] | UnsetType = UNSET
    against: str | UnsetType | None = UNSET
    #: It was judged before, and nothing has changed since.
    reused: bool | UnsetType = UNSET
    # Of a run that is not over, or of a command that looks at it.
    error: str | UnsetType | None = UNSET
    interrupted: bool | UnsetType = UNSET
    driven: bool | UnsetType = UNSET
