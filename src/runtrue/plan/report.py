"""Reports of plans: a dataclass whose JSON is what `--json` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
from msgspec import UNSET, UnsetType

from runtrue.fixers import Redact
from runtrue.flow import Question, RunRow, RunState
from runtrue.loop import (
    COUNTED,
    Attempt,
    AutomationProfile,
    Decision,
    Finding,
    Fix,
    History,
    Mode,
    Reason,
    Verdict,
    Why,
    confidence_in,
)
from runtrue.plan.context import FixDiffs, PlanRun
from runtrue.plan.plan import Validation
from runtrue.plan.progress import Chapter, Progress, StepResult, StepState, Strategizing, seen_from
from runtrue.plan.states import Phase, PlanState, Position
from runtrue.plan.strategy import Step, Strategy
from runtrue.sandbox import Isolation, IsolationRecord, SelfRunning

#: What one fix changed is shown up to this many characters.
_DIFF = 20_000


class Differs(Protocol):
    """What can tell two candidates apart."""

    def difference(self, old: str, new: str) -> str:
        """The patch from one candidate to another."""
        ...


def fix_diffs(sandbox: Differs, fixes: tuple[tuple[str, str], ...], redact: Redact) -> FixDiffs:
    """The patches of some fixes, as texts that may be shown."""
    return {f"{old}..{new}": _readable(redact(sandbox.difference(old, new))) for old, new in fixes}


def tried_fixes(plan: PlanRun) -> tuple[tuple[str, str], ...]:
    """Every fix that was run, by the candidates that it lies between."""
    attempts = (a for chapter in all_chapters(plan) for a in chapter.history.attempts)
    return tuple(sorted({(a.fix.base, a.fix.candidate) for a in attempts if a.fix}))


def _readable(diff: str) -> str:
    text = diff.encode("utf-8", "replace").decode()
    more = len(text) - _DIFF
    return text if more <= 0 else f"{text[:_DIFF]}\n… and {more} characters more\n"


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
    #: Files of the candidate that the validation wrote, though it was only to look.
    wrote: tuple[str, ...] = ()


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
    strategy: Strategy | None = None
    steps: tuple[StepReport, ...] = ()
    deeds: tuple[StepResult, ...] = ()
    strategies: tuple[Strategizing, ...] = ()
    guidance: tuple[str, ...] = ()
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
    refused: str | None = None
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


def report_of(
    plan: PlanRun,
    status: RunState,
    *,
    question: Question | None = None,
    error: str | None = None,
) -> PlanReport:
    """Return the report of a plan from its plan store, finished or not."""
    progress, request = plan.progress, plan.request
    chapters = all_chapters(plan)
    position = position_of(progress, status, question)
    decision: Decision | None = plan.decision
    ended = position.state.is_terminal
    why: str | None = plan.why or (decision.why if decision else None)
    if question is not None and question.question.get("approve") == "edits":
        why = "edited"
    histories = [chapter.history for chapter in chapters]
    passed = [one for one in histories if one.attempts and one.latest.passed]
    sure = filter(None, (confidence_in(one, one.latest) for one in passed))
    least = min(sure, key=lambda one: one.value, default=None)
    return PlanReport(
        status=_status(position.state),
        run_id=plan.run_id,
        project=request.project,
        state=position.state,
        phase=position.phase,
        why=_why(why, position.state),
        plan=PlanDetails(
            id=plan.run_id,
            instruction=request.instruction,
            source=request.source,
            profile=request.profile_name,
            sandbox=request.sandbox,
            automation_profile=request.profile,
            validation_retry_limit=request.retry_limit,
            validations=tuple(request.validations),
            strategy=progress.strategy,
            steps=tuple(_step(progress, depth, step) for depth, step in _steps(progress)),
            deeds=progress.results,
            strategies=progress.strategies,
            guidance=tuple(progress.guidance(plan.open_history)),
            budget=_budget(plan),
            metadata=metadata(plan),
        ),
        attempts=tuple(_attempt(c, attempt) for c in chapters for attempt in c.history.attempts),
        rejected=tuple(
            PlanRejection(step=c.step, after=r.after, reason=r.reason, fix=r.fix)
            for c in chapters
            for r in c.history.rejections
        ),
        findings=_left(histories, decision) if _matters(position.state) else (),
        needed=_needed(plan, histories),
        confidence=round(least.value, 2) if least else None,
        confidence_reason=least.reason if least else None,
        question=msgspec.to_builtins(question.question) if question and not ended else None,
        diff=plan.diff,
        patch=plan.patch,
        patch_root=plan.patch_root,
        self_running=plan.self_running,
        applied=position.state is PlanState.APPLIED,
        refused=progress.refused,
        sandbox=plan.sandbox,
        isolation=Isolation(request.isolation).record,
        candidate=plan.candidate or None,
        error=error,
        seconds=round(sum(h.seconds for h in histories) + _acted(progress), 3),
    )


def recorded_report(run: RunRow) -> PlanReport | None:
    """Return the report that was recorded at a plan's end, if it has ended."""
    return None if run.result is None else run.result_as(PlanReport)


def position_of(progress: Progress, status: RunState, question: Question | None) -> Position:
    """Return where a plan stands, with what the journal knows of it."""
    position = progress.position
    if status is RunState.CANCELLED:
        return Position(position.phase, PlanState.CANCELLED)
    asked = question.question if question is not None and not question.answered else None
    inside = position == Position(Phase.EXECUTE, PlanState.PROCESSING)
    if status is RunState.WAITING and asked is not None and inside:
        # Asked by the repair cycle, or by a revision, which know nothing of positions.
        return Position(Phase.EXECUTE, PlanState.WAITING)
    if position.state is PlanState.COMPLETE and status is not RunState.WAITING:
        # The user said `apply`, and that has not ended.
        return Position(Phase.APPLY, PlanState.PROCESSING)
    return position


def metadata(plan: PlanRun) -> PlanMetadata:
    """Return the plan's execution metadata."""
    history = fix_history(plan)
    tries = Counter(entry.validation for entry in history if entry.counted)
    usage = list(_usage(plan))
    known = all("cost" in used for used in usage if used.get("requests"))
    return PlanMetadata(
        validation_attempts=dict(tries),
        validation_fix_history=history,
        strategy_revisions=sum(
            1 for one in plan.progress.strategies if one.step and not one.failure
        ),
        usage={
            name: round(sum(used.get(name, 0) for used in usage), 6)
            for name in ("requests", "input_tokens", "output_tokens", "cost")
        },
        cost_is_known=known,
    )


def fix_history(plan: PlanRun) -> tuple[FixEntry, ...]:
    """Return every fix that was tried, for each validation that it was for, oldest first."""
    diffs: FixDiffs = plan.fix_diffs or {}
    return tuple(
        entry
        for chapter in all_chapters(plan)
        for fix, result, counted, failing in _fixes(chapter.history)
        for entry in _entries(chapter, fix, result, counted, failing, diffs)
    )


def _fixes(history: History) -> Iterator[tuple[Fix, str, bool, Attempt]]:
    """The fixes in the order in which they were tried, and what came of each."""
    by_number = {attempt.number: attempt for attempt in history.attempts}
    tried = [(a.number, 1, a.fix, "", a) for a in history.attempts if a.fix]
    tried += [(r.after, 2, r.fix, r.reason, by_number[r.after]) for r in history.rejections]
    for number, _, fix, reason, attempt in sorted(tried, key=lambda one: one[:2]):
        if reason:
            yield fix, str(reason), reason in COUNTED, attempt
            continue
        base = next(a for a in history.attempts if a.candidate == fix.base)
        is_human = bool(fix.parts) and all(part.fixer == "human" for part in fix.parts)
        failing = {verdict.check for verdict in attempt.verdicts if verdict.blocks}
        is_fixed = not failing & set(fix.checks)
        result = "passed" if not failing else "broke_another" if is_fixed else "failed"
        yield fix, result, not is_human and number > 0, base


def _entries(
    chapter: Chapter, fix: Fix, result: str, counted: bool, base: Attempt, diffs: FixDiffs
) -> Iterator[FixEntry]:
    by_check = {verdict.check: verdict for verdict in base.verdicts}
    names = fix.checks or tuple(v.check for v in base.verdicts if v.blocks)
    used = [part.usage for part in fix.parts if part.usage]
    outside = tuple(sorted({file for part in fix.parts for file in part.outside}))
    analyses = [part.analysis.root_cause for part in fix.parts if part.analysis]
    own = base.analysis.root_cause if base.analysis else None
    # Those who had nothing to do with it are named only where nobody had.
    busy = [p for p in fix.parts if p.files or p.outside or p.failure] or fix.parts
    for name in names:
        found = by_check[name].findings if name in by_check else ()
        yield FixEntry(
            validation=name,
            step=chapter.step,
            message=found[0].message if found else "",
            data=_data(found),
            diagnosis=analyses[-1] if analyses else own,
            diff=diffs.get(f"{fix.base}..{fix.candidate}", ""),
            files=fix.files,
            outside=outside,
            result=result,
            counted=counted,
            duration=round(fix.seconds, 3),
            fixer="+".join(dict.fromkeys(part.fixer for part in busy)) or None,
            cost=sum(one.get("cost", 0.0) for one in used) if used else 0.0,
        )


def _data(findings: tuple[Finding, ...]) -> dict[str, Any]:
    paths = list(dict.fromkeys(f.location.file for f in findings if f.location.file))
    lines = [f.location.line for f in findings if f.location.line]
    own = findings[0].data if findings else {}
    return {"paths": paths, "lines": lines, **own}


def all_chapters(plan: PlanRun) -> tuple[Chapter, ...]:
    """The chapters that are over, and the one that is being written."""
    progress, history = plan.progress, plan.open_history
    if history is None or not (history.attempts or history.rejections):
        return progress.chapters
    return (*progress.chapters, Chapter(step=progress.step, history=history))


def _status(state: PlanState) -> str:
    """The word that every `--json` document has for how it stands."""
    if state in (PlanState.COMPLETE, PlanState.APPLIED):
        return "passed"
    if state in (PlanState.FAILED, PlanState.CANCELLED):
        return state.value
    return "running" if state is PlanState.PROCESSING else "waiting"


def _why(why: Any, state: PlanState) -> str | None:
    if state not in (PlanState.WAITING, PlanState.FAILED):
        return None
    return "budget" if why in (Why.TIME_SPENT, Why.MONEY_SPENT) else why


def _matters(state: PlanState) -> bool:
    """True if findings that are left still say something."""
    return state not in (PlanState.COMPLETE, PlanState.APPLIED)


def _left(histories: list[History], decision: Decision | None) -> tuple[Finding, ...]:
    if decision is not None and decision.findings:
        return decision.findings
    latest = histories[-1].latest if histories and histories[-1].attempts else None
    return latest.blocking if latest else ()


def _needed(plan: PlanRun, histories: list[History]) -> tuple[str, ...]:
    """The files that were needed and may not be changed, as seen from the project."""
    files = histories[-1].needed if histories and histories[-1].attempts else ()
    return tuple(seen_from(plan.prefix, files))


def _budget(plan: PlanRun) -> PlanBudget:
    history = plan.open_history
    spent = history.spent if history is not None else plan.progress.spent
    profile = plan.request.profile
    return PlanBudget(
        fixes=spent.fixes,
        validation_retry_limit=plan.request.retry_limit,
        seconds=round(spent.seconds, 3),
        max_time=profile.max_time,
        cost=spent.cost,
        max_cost=profile.max_cost,
    )


def _attempt(chapter: Chapter, attempt: Attempt) -> PlanAttempt:
    return PlanAttempt(
        step=chapter.step,
        number=attempt.number,
        candidate=attempt.candidate,
        passed=attempt.passed,
        findings=attempt.blocking,
        fix=attempt.fix,
        diagnosis=attempt.analysis.root_cause if attempt.analysis else None,
        verdicts=tuple(_verdict(verdict) for verdict in attempt.verdicts),
    )


def _verdict(verdict: Verdict) -> PlanVerdict:
    return PlanVerdict(
        validation=verdict.check,
        mode=verdict.mode,
        passed=verdict.passed,
        message=verdict.findings[0].message if verdict.findings else "",
        data=_data(verdict.findings),
        findings=verdict.findings,
        cases=dict(Counter(verdict.cases.values())),
        exit_code=verdict.exit_code,
        seconds=round(verdict.seconds, 3),
        wrote=verdict.wrote,
    )


def _steps(progress: Progress) -> Iterator[tuple[int, Step]]:
    if progress.strategy is not None:
        yield from progress.strategy.all_steps()


def _step(progress: Progress, depth: int, step: Step) -> StepReport:
    return StepReport(
        id=step.id,
        depth=depth,
        description=step.description,
        actor=step.actor if step.is_leaf else None,
        command=step.command,
        paths=step.bounds.paths,
        state=step_state(progress, step),
    )


def step_state(progress: Progress, step: Step) -> StepState:
    """Return the state of a step: of one with steps of its own, the state of those."""
    if step.is_leaf:
        return progress.states.get(step.id, StepState.PENDING)
    below = {step_state(progress, one) for one in step.steps}
    for state in (StepState.FAILED, StepState.PROCESSING):
        if state in below:
            return state
    if below == {StepState.DONE}:
        return StepState.DONE
    return StepState.PROCESSING if StepState.DONE in below else StepState.PENDING


def _usage(plan: PlanRun) -> Iterator[dict[str, float]]:
    progress = plan.progress
    acted = [result.usage for result in progress.results]
    made = [one.usage for one in progress.strategies]
    yield from (used for used in (*acted, *made) if used)
    for chapter in all_chapters(plan):
        history = chapter.history
        fixes = [a.fix for a in history.attempts if a.fix]
        fixes += [r.fix for r in history.rejections]
        for part in (part for fix in fixes for part in fix.parts):
            if part.usage:
                yield part.usage


def _acted(progress: Progress) -> float:
    return sum(result.seconds for result in progress.results)
