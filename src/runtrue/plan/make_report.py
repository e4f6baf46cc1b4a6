"""Make the report of a plan from its store, finished or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from runtrue.flow import Question, RunState
from runtrue.loop import Attempt, Decision, Finding, History, Verdict, Why, confidence_in
from runtrue.plan.context import PlanRun
from runtrue.plan.fix_history import all_chapters, finding_data, metadata
from runtrue.plan.progress import Chapter, Progress, StepState, seen_from
from runtrue.plan.report import (
    PlanAttempt,
    PlanBudget,
    PlanDetails,
    PlanRejection,
    PlanReport,
    PlanVerdict,
    StepReport,
)
from runtrue.plan.states import Phase, PlanState, Position
from runtrue.plan.strategy import Step
from runtrue.sandbox import Isolation


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
    if question is not None and "undone" in question.question:
        why = Why.DECLINED
    histories = [chapter.history for chapter in chapters]
    passed = [one for one in histories if one.attempts and one.latest.passed]
    sure = filter(None, (confidence_in(one, one.latest) for one in passed))
    least = min(sure, key=lambda one: one.value, default=None)
    target = plan.target
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
            baseline=tuple(_verdict(verdict) for verdict in plan.baseline),
            strategy=progress.strategy,
            steps=tuple(_step(progress, depth, step) for depth, step in _steps(progress)),
            deeds=progress.results,
            strategies=progress.strategies,
            guidance=tuple(progress.guidance(plan.open_history)),
            amendments=progress.amendments,
            waived=progress.waived,
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
        committed=plan.committed,
        refused=progress.refused,
        refused_branch=target.branch or target.onto if target and progress.refused else None,
        sandbox=plan.sandbox,
        isolation=Isolation(request.isolation).record,
        candidate=plan.candidate or None,
        error=error,
        seconds=round(sum(h.seconds for h in histories) + _acted(progress), 3),
    )


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
        data=finding_data(verdict.findings),
        findings=verdict.findings,
        cases=dict(Counter(verdict.cases.values())),
        exit_code=verdict.exit_code,
        seconds=round(verdict.seconds, 3),
        known=verdict.known,
        wrote=verdict.wrote,
        judged_by=verdict.judged_by,
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
    if all(state.is_over for state in below):
        return StepState.DONE
    return StepState.PROCESSING if StepState.DONE in below else StepState.PENDING


def _acted(progress: Progress) -> float:
    return sum(result.seconds for result in progress.results)
