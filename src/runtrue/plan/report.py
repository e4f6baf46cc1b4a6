"""Reports of plans: a dataclass whose JSON is what `--json` prints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET, UnsetType

from runtrue.flow import RunRow
from runtrue.loop import AutomationProfile, Finding, Fix, JudgedBy, Mode, Reason
from runtrue.plan.amendment import Amended
from runtrue.plan.apply_target import CommitResult
from runtrue.plan.plan import Validation
from runtrue.plan.progress import StepResult, StepState, Strategizing
from runtrue.plan.states import Phase, PlanState
from runtrue.plan.strategy import Strategy
from runtrue.sandbox import IsolationRecord, SelfRunning


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """How one step of the strategy is doing."""

    id: str
    depth: int = 0
    description: str = ""
    actor: str | None = None
    command: str | None = None
    paths: tuple[str, ...] | None = None
    state: StepState = StepState.PENDING


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanVerdict:
    """What a validation said of a candidate."""

    validation: str
    mode: Mode
    passed: bool
    message: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    cases: dict[str, int] = field(default_factory=dict)
    exit_code: int | None = None
    seconds: float = 0.0
    #: What failed before the first step as well, and never blocks.
    known: tuple[Finding, ...] = ()
    #: Files of the candidate that the validation wrote, though it was only to look.
    wrote: tuple[str, ...] = ()
    #: What the verdict rests on: how far a candidate could forge it.
    judged_by: JudgedBy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAttempt:
    """One run of the validations on a step's candidate, or on the whole plan's (no step)."""

    step: str | None
    number: int
    candidate: str
    passed: bool
    findings: tuple[Finding, ...] = ()
    fix: Fix | None = None
    diagnosis: str | None = None
    verdicts: tuple[PlanVerdict, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRejection:
    """A fix that was proposed after attempt `after` and not run."""

    step: str | None
    after: int
    reason: Reason
    fix: Fix


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanBudget:
    """What was used up since a person last said something, and of how much."""

    fixes: dict[str, int] = field(default_factory=dict)
    validation_retry_limit: int = 0
    seconds: float = 0.0
    max_time: int | float = 0.0
    cost: int | float = 0.0
    max_cost: int | float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FixEntry:
    """A fix that was tried for a validation, and its result."""

    validation: str
    step: str | None = None
    message: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    diagnosis: str | None = None
    diff: str = ""
    files: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    result: str = ""
    counted: bool = False
    duration: float = 0.0
    fixer: str | None = None
    cost: int | float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanMetadata:
    """The plan's execution metadata, under the names that the seed gives them."""

    validation_attempts: dict[str, int] = field(default_factory=dict)
    validation_fix_history: tuple[FixEntry, ...] = ()
    strategy_revisions: int = 0
    usage: dict[str, int | float] = field(default_factory=dict)
    cost_is_known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDetails:
    """The plan itself: what it was asked for, its strategy, and what was done so far."""

    id: str
    instruction: str = ""
    source: str | None = None
    profile: str = ""
    sandbox: str | None = None
    automation_profile: AutomationProfile | None = None
    validation_retry_limit: int = 0
    validations: tuple[Validation, ...] = ()
    #: What the required validations said before the first step.
    baseline: tuple[PlanVerdict, ...] = ()
    strategy: Strategy | None = None
    steps: tuple[StepReport, ...] = ()
    deeds: tuple[StepResult, ...] = ()
    strategies: tuple[Strategizing, ...] = ()
    guidance: tuple[str, ...] = ()
    #: What people have changed about the plan, and the reasons of validations that they waived.
    amendments: tuple[Amended, ...] = ()
    waived: dict[str, str] = field(default_factory=dict)
    budget: PlanBudget = PlanBudget()
    metadata: PlanMetadata = PlanMetadata()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionReport:
    """A question that was put to a person, and the answer."""

    wanted: str | None
    asked_at: float
    answered: bool
    answer: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport:
    """The report of a plan."""

    status: str
    run_id: str
    kind: str = "plan"
    project: str = ""
    state: PlanState = PlanState.QUEUED
    phase: Phase = Phase.STRATEGIZE
    why: str | None = None
    plan: PlanDetails
    attempts: tuple[PlanAttempt, ...] = ()
    rejected: tuple[PlanRejection, ...] = ()
    findings: tuple[Finding, ...] = ()
    #: Files that had to be changed and may not be, as seen from the project.
    needed: tuple[str, ...] = ()
    question: dict[str, Any] | None = None
    #: How sure the least sure of its fixes is to be right, and why; none where nothing was fixed.
    confidence: float | None = None
    confidence_reason: str | None = None
    diff: str = ""
    patch: str | None = None
    patch_root: str | None = None
    #: Changed files that run by themselves once they are applied, and what runs them.
    self_running: tuple[SelfRunning, ...] = ()
    applied: bool = False
    #: The branch and the commit that it became, where that was wanted.
    committed: CommitResult | None = None
    refused: str | None = None
    #: The branch that it was not committed to, where that was refused.
    refused_branch: str | None = None
    sandbox: str | None = None
    isolation: IsolationRecord | None = None
    candidate: str | None = None
    error: str | None = None
    seconds: float = 0.0
    interrupted: bool | UnsetType = UNSET
    driven: bool | UnsetType = UNSET
    #: Commands that a person can go on with.
    next: tuple[str, ...] | UnsetType = UNSET
    questions: tuple[QuestionReport, ...] | UnsetType = UNSET
    #: What each validation said of the candidate, by its name.
    last_verdicts: dict[str, PlanVerdict] | UnsetType = UNSET


def recorded_report(run: RunRow) -> PlanReport | None:
    """Return the report that was recorded at a plan's end, if it has ended."""
    return None if run.result is None else run.result_as(PlanReport)
