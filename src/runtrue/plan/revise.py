"""Revise a strategy: the part that did not work is made again, and then done again."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from runtrue.flow import Run, emit
from runtrue.loop import (
    EXPIRED,
    PERSON,
    TIME_IS_UP,
    Answer,
    Bounds,
    Budget,
    Escalated,
    Finding,
    History,
    Response,
    Revision,
    Spent,
    Why,
    Workshop,
    amendable,
    answer_of,
    as_pattern,
    guard_edit,
    in_time,
    is_yes,
    matches,
)
from runtrue.plan.answers import answer_text
from runtrue.plan.events import StrategyRevised, StrategyRevisionStarted
from runtrue.plan.next_step import is_result_kept
from runtrue.plan.progress import (
    DELETED,
    Progress,
    Proposed,
    StepState,
    Strategizing,
    cost_of,
    seen_from,
)
from runtrue.plan.seams import Strategist, Strategized, StrategyTask, least
from runtrue.plan.states import Happening
from runtrue.plan.step_run import StepRun
from runtrue.plan.strategy import Actor, Step, Strategy

#: How many findings are noted with a revision.
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class ReviseInputs:
    """What is to be revised, and why."""

    candidate: str
    strategy: Strategy
    step: Step
    bounds: Bounds
    findings: tuple[Finding, ...]
    needed: tuple[str, ...]
    allowed: tuple[str, ...]
    approved: tuple[str, ...]
    guidance: tuple[str, ...]
    is_advised: bool
    #: The seconds that are left of the plan's time, where anything bounds it.
    left: float | None


class Revised(StrEnum):
    """What came of a revision."""

    #: It is made, and nobody has to approve of it.
    BY_ITSELF = "by_itself"
    APPROVED = "approved"
    #: A person said something else than yes; that is in the history.
    REFUSED = "refused"
    #: None could be made.
    FAILED = "failed"
    #: Nobody answered in time.
    EXPIRED = "expired"


async def revise(
    run: Run,
    workshop: Workshop,
    strategist: Strategist,
    plan: StepRun,
    *,
    instruction: str,
    approves: bool,
) -> Revised:
    """Have the strategist revise the part of the strategy that did not work.

    The new steps are in `plan.revision`, to be adopted.
    """
    inputs = _inputs(plan, workshop)
    revision = _Revision(workshop, strategist, instruction, approves, inputs)
    revised = await run.step("revise", partial(_revise, revision), inputs)
    plan.progress = _noted(plan.progress, inputs, revised, strategist.name)
    spent = Spent(seconds=revised.seconds, cost=cost_of(revised.usage))
    if revised.failure is not None:
        plan.history = _failed(plan.history, revised.failure, spent)
        return Revised.FAILED
    plan.revision = Proposed(
        step=inputs.step,
        steps=revised.steps,
        findings=inputs.findings,
        approved=inputs.approved,
        spent=spent,
    )
    if not revision.is_asked_about(revised):
        return Revised.BY_ITSELF
    return await _ask_approval(run, plan, plan.revision)


def _inputs(plan: StepRun, workshop: Workshop) -> ReviseInputs:
    progress, history, decision = plan.progress, plan.history, plan.last_decision
    step, bounds = affected(progress, history)
    needed = seen_from(plan.prefix, history.needed)
    said = history.answers[-1] if history.is_advised else None
    return ReviseInputs(
        candidate=decision.candidate,
        strategy=progress.strategy or Strategy(),
        step=step,
        bounds=bounds,
        findings=decision.findings,
        needed=needed,
        allowed=_allowed(said, step, needed) if said else (),
        approved=_approved(said, step, bounds, needed) if said else (),
        guidance=progress.guidance(history),
        is_advised=said is not None,
        left=Budget.deadline(workshop.policy, history),
    )


async def _ask_approval(run: Run, plan: StepRun, proposed: Proposed) -> Revised:
    """Ask whether the strategy may be changed so; anything but a yes is guidance."""
    answer = await run.ask(
        "approve_revision",
        {
            "approve": "revision",
            "before": proposed.step,
            "steps": proposed.steps,
            "findings": proposed.findings,
        },
    )
    if amendable(answer) == EXPIRED:
        plan.decision = replace(plan.last_decision, why=Why.UNANSWERED)
        return Revised.EXPIRED
    if is_yes(answer_text(answer)):
        return Revised.APPROVED
    plan.revision = None
    said = replace(answer_of(answer, plan), text=answer_text(answer))
    # In this order: what was said no to is not tried again because something was said.
    history = plan.history.with_answer(said)
    plan.history = _failed(history, "it was not approved", proposed.spent)
    return Revised.REFUSED


async def keep_edits(run: Run, workshop: Workshop, plan: StepRun) -> bool:
    """Take the files as those who approved have left them; True if they have edited them."""
    before = plan.candidate
    plan.candidate = await run.step("keep_edits", partial(_edited, workshop), before)
    return plan.candidate != before


def _edited(workshop: Workshop, candidate: str) -> str:
    return guard_edit(workshop.sandbox, candidate, PERSON).candidate


def adopt_revision(plan: StepRun, *, is_edited: bool = False) -> None:
    """Put the new steps in the place of the old ones: they are to be done next.

    What a command did is undone first: run again on its own result, it would do it twice. Not where
    it says that it `fixes` its result, nor where a person has edited that.
    """
    proposed, history = plan.revision, plan.history
    assert proposed is not None  # noqa: S101 - `revise` has just made it
    plan.revision = None
    checkpoint = plan.checkpoints.pop(proposed.step.id, None)
    is_edited = is_edited or _has_edits(history)
    is_repeated = proposed.step.actor is Actor.COMMAND and not proposed.step.fixes
    if checkpoint is not None:
        is_kept = not is_repeated or is_edited or not is_result_kept(plan)
        if not is_kept:
            plan.candidate = checkpoint
        first = next((one.id for one, _ in Strategy(steps=proposed.steps).leaves()), None)
        if first is not None and is_kept:
            plan.checkpoints[first] = checkpoint
    plan.close_chapter()
    progress = plan.progress
    strategy = progress.strategy or Strategy()
    ids = [one.id for _, one in Strategy(steps=proposed.steps).all_steps()]
    plan.advance(
        Happening.REVISED,
        strategy=strategy.replaced(proposed.step.id, proposed.steps),
        states={**progress.states, **dict.fromkeys(ids, StepState.PENDING)},
        findings=proposed.findings,
        approved=tuple(dict.fromkeys((*progress.approved, *proposed.approved))),
        spent=history.spent.plus(proposed.spent),
    )


def _has_edits(history: History) -> bool:
    """True if a person has edited the files since the step was done."""
    fixes = (attempt.fix for attempt in history.attempts if attempt.fix)
    return any(part.fixer == "human" and part.files for fix in fixes for part in fix.parts)


async def _revise(revision: _Revision, inputs: ReviseInputs) -> Strategized:
    return await revision.revise()


@dataclass(frozen=True, slots=True)
class _Revision:
    """One revision of a part of the strategy."""

    workshop: Workshop
    strategist: Strategist
    instruction: str
    approves: bool
    inputs: ReviseInputs

    async def revise(self) -> Strategized:
        """Do what a person said; else ask the strategist, and help out where it is at a loss."""
        inputs, sandbox = self.inputs, self.workshop.sandbox
        emit(StrategyRevisionStarted(step=inputs.step.id, needed=inputs.needed))
        if inputs.allowed or inputs.approved:
            revised = least(inputs.step, inputs.bounds, inputs.allowed, "as a person asked")
        else:
            started = time.monotonic()
            made = await in_time(self._ask, inputs.left)
            revised = made or Strategized(description="", failure=TIME_IS_UP)
            revised = replace(revised, seconds=time.monotonic() - started)
            sandbox.restore(inputs.candidate)
        is_late = inputs.left is not None and revised.seconds >= inputs.left
        if revised.failure is not None and (inputs.is_advised or inputs.needed) and not is_late:
            # A person who allows nothing has it done again, with what they said.
            paths = () if inputs.is_advised else tuple(map(as_pattern, inputs.needed))
            usage, seconds = revised.usage, revised.seconds
            revised = least(inputs.step, inputs.bounds, paths, revised.failure)
            revised = replace(revised, usage=usage, seconds=seconds)
        emit(
            StrategyRevised(
                step=inputs.step.id,
                by=self.strategist.name,
                steps=tuple(step.id for step in revised.steps),
                failure=revised.failure,
            )
        )
        if self.is_asked_about(revised):
            emit(Escalated(condition=None, action=Response.HUMAN_REVIEW, why="revision"))
        return revised

    def is_asked_about(self, revised: Strategized) -> bool:
        """True if a person is to approve of it."""
        # What a person has allowed, or done again, is approved; what a machine makes of it is not.
        is_said = self.inputs.is_advised and revised.least
        return revised.failure is None and (self.approves or self.inputs.is_advised) and not is_said

    async def _ask(self) -> Strategized:
        sandbox = self.workshop.sandbox
        sandbox.restore(self.inputs.candidate)
        task = StrategyTask(
            instruction=self.instruction,
            validations=tuple(f"{c.name}: {c.command}" for c in self.workshop.checks),
            guidance=self.inputs.guidance,
            strategy=self.inputs.strategy,
            subtree=self.inputs.step,
            bounds=self.inputs.bounds,
            findings=self.inputs.findings,
            needed=self.inputs.needed,
            is_advised=self.inputs.is_advised,
        )
        return await self.strategist.revise(task, sandbox.workplace())


def affected(progress: Progress, history: History) -> tuple[Step, Bounds]:
    """The part of the strategy that a failure concerns: the step, or who changed what was found."""
    strategy = progress.strategy or Strategy()
    leaves = {step.id: (step, bounds) for step, bounds in strategy.leaves()}
    found = {finding.location.file for finding in history.best.blocking}
    touched = [d.step for d in progress.results if d.step in leaves and found & set(d.files)]
    done = [d.step for d in progress.results if d.step in leaves]
    current = [progress.step] if progress.step in leaves else []
    last = (current or touched[-1:] or done[-1:] or list(leaves))[0]
    return leaves[last]


def _allowed(said: Answer, step: Step, needed: tuple[str, ...]) -> tuple[str, ...]:
    """The patterns that a person allows: what they name so, or with a yes, what was needed.

    What they say in words is for those who read them: a file that is named may be one to leave.
    """
    named = tuple(path for path in said.allowed if path != step.id)
    return (*named, *map(as_pattern, needed)) if is_yes(said.text) else named


def _approved(said: Answer, step: Step, bounds: Bounds, needed: tuple[str, ...]) -> tuple[str, ...]:
    """Return what a person approved beside paths: what the step does, and deletions."""
    is_approved = is_yes(said.text) or step.id in said.allowed
    # What was needed although it is within the bounds was to be deleted.
    inside = [file for file in needed if not bounds.outside((file,))]
    deleted = [f for f in inside if is_yes(said.text) or any(matches(f, p) for p in said.allowed)]
    return (*([step.signature] if is_approved else []), *(f"{DELETED}{file}" for file in deleted))


def _noted(progress: Progress, inputs: ReviseInputs, result: Strategized, by: str) -> Progress:
    one = Strategizing(
        by=by,
        description=result.description,
        step=inputs.step.id,
        findings=tuple(finding.message for finding in inputs.findings[:_SHOWN]),
        needed=inputs.needed,
        told=inputs.is_advised,
        failure=result.failure,
        usage=result.usage,
    )
    return replace(progress, strategies=(*progress.strategies, one))


def _failed(history: History, failure: str, spent: Spent) -> History:
    revision = Revision(
        attempts=len(history.attempts),
        rejections=len(history.rejections),
        answers=len(history.answers),
        failure=failure,
        cost=spent.cost,
        seconds=spent.seconds,
    )
    return replace(history, revisions=(*history.revisions, revision))
