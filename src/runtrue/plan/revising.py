"""Revision: the part of a strategy that did not work is made anew, and then done again."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from runtrue.flow import Ask, Node, emit
from runtrue.loop import (
    EXPIRED,
    PERSON,
    TIME_IS_UP,
    Answer,
    Bounds,
    Budget,
    Decision,
    Escalated,
    Finding,
    History,
    Response,
    Revision,
    Spent,
    Why,
    Workshop,
    WorkshopNode,
    as_pattern,
    guard_edit,
    in_time,
    matches,
)
from runtrue.plan.answers import answer_text, is_yes
from runtrue.plan.events import StrategyRevised, StrategyRevisionStarted
from runtrue.plan.progress import (
    DELETED,
    Progress,
    Shared,
    StepState,
    Strategizing,
    cost_of,
    ended,
    progress_of,
    seen_from,
)
from runtrue.plan.seams import Strategist, Strategized, StrategyTask, least
from runtrue.plan.states import Happening
from runtrue.plan.strategy import Step, Strategy

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
    told: bool
    #: The seconds that are left of the plan's time, where anything bounds it.
    left: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """Steps that are to take the place of one."""

    step: Step
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]
    #: What a person has approved on the way.
    approved: tuple[str, ...]
    #: What it took to make.
    spent: Spent


class ReviseNode(Node):
    """Has the strategist make anew the part of the strategy that did not work."""

    def __init__(
        self,
        name: str,
        workshop: Workshop,
        strategist: Strategist,
        instruction: str,
        approves: bool,
    ) -> None:
        super().__init__(name)
        self.workshop = workshop
        self.strategist = strategist
        self.instruction = instruction
        self.approves = approves

    def prep(self, shared: Shared) -> ReviseInputs:
        """The step that is concerned, and all that is known about it."""
        progress, history = progress_of(shared), shared["history"]
        decision: Decision = shared["decision"]
        step, bounds = affected(progress, history)
        needed = seen_from(shared.get("prefix", ""), history.needed)
        said = history.answers[-1] if history.told else None
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
            told=said is not None,
            left=Budget.deadline(self.workshop.policy, history),
        )

    async def exec(self, inputs: ReviseInputs) -> Strategized:
        """Do what a person said; else ask the strategist, and help out where it is at a loss."""
        sandbox = self.workshop.sandbox
        emit(StrategyRevisionStarted(step=inputs.step.id, needed=inputs.needed))
        if inputs.allowed or inputs.approved:
            revised = least(inputs.step, inputs.bounds, inputs.allowed, "as a person said")
        else:
            started = time.monotonic()
            made = await in_time(lambda: self._ask(inputs), inputs.left)
            revised = made or Strategized(description="", failure=TIME_IS_UP)
            revised = replace(revised, seconds=time.monotonic() - started)
            sandbox.restore(inputs.candidate)
        is_late = inputs.left is not None and revised.seconds >= inputs.left
        if revised.failure is not None and (inputs.told or inputs.needed) and not is_late:
            # A person who allows nothing has it done again, with what they said.
            paths = () if inputs.told else tuple(map(as_pattern, inputs.needed))
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
        if self._is_asked_about(inputs, revised):
            emit(Escalated(condition=None, action=Response.HUMAN_REVIEW, why="revision"))
        return revised

    def _is_asked_about(self, inputs: ReviseInputs, revised: Strategized) -> bool:
        """Whether a person is to approve of it."""
        # What a person has allowed, or done again, is approved; what a machine makes of it is not.
        is_said = inputs.told and revised.least
        return revised.failure is None and (self.approves or inputs.told) and not is_said

    async def _ask(self, inputs: ReviseInputs) -> Strategized:
        sandbox = self.workshop.sandbox
        sandbox.restore(inputs.candidate)
        task = StrategyTask(
            instruction=self.instruction,
            validations=tuple(f"{c.name}: {c.command}" for c in self.workshop.checks),
            guidance=inputs.guidance,
            strategy=inputs.strategy,
            subtree=inputs.step,
            bounds=inputs.bounds,
            findings=inputs.findings,
            needed=inputs.needed,
            told=inputs.told,
        )
        return await self.strategist.revise(task, sandbox.workplace())

    def post(self, shared: Shared, inputs: ReviseInputs, result: Strategized) -> str:
        """Take it, have it approved, or note that there is none."""
        shared["progress"] = _noted(progress_of(shared), inputs, result, self.strategist.name)
        spent = Spent(seconds=result.seconds, cost=cost_of(result.usage))
        if result.failure is not None:
            shared["history"] = _failed(shared["history"], result.failure, spent)
            return "failed"
        shared["revision"] = Proposed(
            step=inputs.step,
            steps=result.steps,
            findings=inputs.findings,
            approved=inputs.approved,
            spent=spent,
        )
        return "approve" if self._is_asked_about(inputs, result) else "revised"


class ApproveRevisionNode(Ask):
    """Asks a person whether the strategy may be changed so."""

    def prep(self, shared: Shared) -> dict[str, Any]:
        """The steps as they were and as they would be."""
        proposed: Proposed = shared["revision"]
        return {
            "approve": "revision",
            "before": proposed.step,
            "steps": proposed.steps,
            "findings": proposed.findings,
        }

    def post(self, shared: Shared, inputs: dict[str, Any], result: Any) -> str:
        """A yes is a yes; anything else is guidance, and the revision has failed."""
        if result == EXPIRED:
            shared["decision"] = replace(shared["decision"], why=Why.UNANSWERED)
            return "stopped"
        text = answer_text(result)
        if is_yes(text):
            return "revised"
        proposed: Proposed = shared.pop("revision")
        history: History = shared["history"]
        answer = Answer(
            text=text,
            attempts=len(history.attempts),
            rejections=len(history.rejections),
            allowed=tuple(result.get("allow", ())) if isinstance(result, dict) else (),
        )
        # In this order: what was said no to is not tried again because something was said.
        history = replace(history, answers=(*history.answers, answer))
        shared["history"] = _failed(history, "it was not approved", proposed.spent)
        return "failed"


class KeepEditsNode(WorkshopNode):
    """Takes the files as the person who approved has left them, for the new steps."""

    def prep(self, shared: Shared) -> str:
        """Return the candidate that was left to them."""
        decision: Decision = shared["decision"]
        return decision.candidate

    def exec(self, inputs: str) -> str:
        """Return the candidate as it is now."""
        return guard_edit(self.workshop.sandbox, inputs, PERSON).candidate

    def post(self, shared: Shared, inputs: str, result: str) -> None:
        """Go on with it."""
        shared["candidate"] = result


class AdoptNode(Node):
    """Puts the new steps in the place of the old ones: they are to be done next."""

    def post(self, shared: Shared, inputs: None, result: None) -> None:
        """End the chapter; what was found is told to whoever does the step again."""
        proposed: Proposed = shared.pop("revision")
        history: History = shared["history"]
        progress = ended(progress_of(shared), shared)
        strategy = progress.strategy or Strategy()
        ids = [one.id for _, one in Strategy(steps=proposed.steps).all_steps()]
        states = {**progress.states, **dict.fromkeys(ids, StepState.PENDING)}
        revised = replace(
            progress,
            strategy=strategy.replaced(proposed.step.id, proposed.steps),
            states=states,
            findings=proposed.findings,
            approved=tuple(dict.fromkeys((*progress.approved, *proposed.approved))),
            spent=history.spent.plus(proposed.spent),
        )
        shared["progress"] = revised.moved(Happening.REVISED)


def affected(progress: Progress, history: History) -> tuple[Step, Bounds]:
    """The part of the strategy that a failure concerns: the step, or who changed what was found."""
    strategy = progress.strategy or Strategy()
    leaves = {step.id: (step, bounds) for step, bounds in strategy.leaves()}
    found = {finding.location.file for finding in history.best.blocking}
    touched = [d.step for d in progress.deeds if d.step in leaves and found & set(d.files)]
    done = [d.step for d in progress.deeds if d.step in leaves]
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
    """What a person has approved beside paths: what the step does, and files to be deleted."""
    is_approved = is_yes(said.text) or step.id in said.allowed
    # What was needed although it is within the bounds was to be deleted.
    inside = [file for file in needed if not bounds.outside((file,))]
    deleted = [f for f in inside if is_yes(said.text) or any(matches(f, p) for p in said.allowed)]
    return (*([step.deed] if is_approved else []), *(f"{DELETED}{file}" for file in deleted))


def _noted(progress: Progress, inputs: ReviseInputs, result: Strategized, by: str) -> Progress:
    one = Strategizing(
        by=by,
        description=result.description,
        step=inputs.step.id,
        findings=tuple(finding.message for finding in inputs.findings[:_SHOWN]),
        needed=inputs.needed,
        told=inputs.told,
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
