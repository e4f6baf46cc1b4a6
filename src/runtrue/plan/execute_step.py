"""Execute a step of a plan within its bounds."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial

from runtrue.flow import Run, emit
from runtrue.loop import (
    NEEDS_APPROVAL,
    TIME_IS_UP,
    Attempt,
    Fault,
    Finding,
    Mode,
    Refused,
    Spent,
    Verdict,
    Workplace,
    guard_edit,
    in_time,
    readable,
)
from runtrue.plan.actors import actor_of
from runtrue.plan.context import PlanContext, PlanRun
from runtrue.plan.events import StepDone, StepFailed, StepRefused, StepStarted
from runtrue.plan.parallel import take_ahead
from runtrue.plan.progress import ActInputs, StepOutcome, StepResult, cost_of
from runtrue.plan.seams import ActorReply, StepTask
from runtrue.plan.strategy import Step, Strategy

#: The name under which a step that could not be done stands among the verdicts.
STEP = "step"
#: The category of a finding about a step that could not be done, and those about refused edits.
_NOT_DONE = "step_not_done"
_CATEGORIES = {Refused.OUT_OF_BOUNDS: "out_of_bounds", Refused.DELETED: NEEDS_APPROVAL}
#: How much of what an actor said is in the finding about what it could not do.
_SAID = 300


async def execute_step(run: Run, context: PlanContext, plan: PlanRun) -> bool:
    """Have the step's actor do it, and see from the files what it did; False if it was refused.

    Why it was refused is in the history then, as the verdict on it.
    """
    progress, agent = plan.progress, context.request.agent
    assert progress.current is not None  # noqa: S101 - `pick_next` has just picked it
    inputs = ActInputs(
        candidate=plan.candidate,
        base=plan.base,
        step=progress.current[0],
        bounds=plan.step_bounds,
        strategy=progress.strategy or Strategy(),
        findings=progress.findings,
        guidance=progress.guidance(),
        approved=progress.approved,
        left=context.request.profile.max_time - progress.spent.seconds,
    )
    plan.checkpoints.setdefault(inputs.step.id, plan.candidate)
    side_effect = agent.once and agent.command is not None
    done = None if side_effect else await take_ahead(run, context, plan, inputs, act)
    if done is None:
        done = await run.step("act", partial(act, context), inputs, side_effect=side_effect)
    result = done.result
    spent = progress.spent.plus(Spent(seconds=result.seconds, cost=cost_of(result.usage)))
    plan.advance(results=(*progress.results, result), spent=spent)
    plan.candidate = done.candidate
    history = plan.new_history(result.confidence)
    plan.open_chapter(history)
    if done.finding is None:
        return True
    verdict = Verdict(
        check=STEP,
        mode=Mode.REQUIRED,
        passed=False,
        findings=(done.finding,),
        seconds=result.seconds,
    )
    attempt = Attempt(number=1, candidate=done.candidate, verdicts=(verdict,), at=0.0)
    plan.open_chapter(history.with_attempt(attempt))
    return False


async def act(context: PlanContext, inputs: ActInputs) -> StepOutcome:
    """Do a step if it may be done, and keep it if it stayed within the bounds."""
    return await _Acting(context, inputs).execute()


@dataclass(frozen=True, slots=True)
class _Acting:
    """One step that is being done."""

    context: PlanContext
    inputs: ActInputs

    async def execute(self) -> StepOutcome:
        """Do it, if it may be done, and keep it, if it stayed within the bounds."""
        inputs, sandbox, step = self.inputs, self.context.sandbox, self.inputs.step
        sandbox.restore(inputs.candidate)
        emit(StepStarted(step=step.id, actor=step.actor, description=step.description))
        started = time.monotonic()
        if refusal := self._refusal():
            acted = ActorReply(description=refusal, failure=refusal)
            return self._refused(acted, started, category=NEEDS_APPROVAL)
        if step.command is not None and not inputs.bounds.allows(step.command):
            refusal = f"its command, `{step.command}`, is not allowed by the bounds"
            return self._refused(ActorReply(description=refusal, failure=refusal), started)
        unkept = frozenset(sandbox.not_kept())
        in_vain = ActorReply(description=TIME_IS_UP, failure=TIME_IS_UP)
        acted = await in_time(self._act, inputs.left) or in_vain
        edit = guard_edit(
            sandbox,
            inputs.candidate,
            self.context.edit_rules(inputs),
            texts=acted.texts,
            failure=acted.failure,
        )
        if edit.refused:
            return self._refused(
                replace(acted, failure=edit.reason),
                started,
                category=_CATEGORIES.get(edit.refused, _NOT_DONE),
                outside=edit.outside,
                judges=edit.restored,
            )
        result = self._result(acted, started)
        files, judges = readable(edit.files), readable(edit.restored)
        # What cannot be a part of the result must not vanish in silence.
        ignored = readable(tuple(file for file in sandbox.not_kept() if file not in unkept))
        emit(StepDone(step=step.id, files=files, restored=judges, ignored=ignored))
        return StepOutcome(
            candidate=edit.candidate,
            result=replace(result, files=files, restored=judges, ignored=ignored),
        )

    async def _act(self) -> ActorReply:
        """Ask; what fails for outside reasons is tried again, as often as the policy says."""
        request, sandbox = self.context.request, self.context.sandbox
        edits = self.context.memory.edit_counts
        actor = actor_of(self.inputs.step, request, self.context.redact, edits)
        if reason := actor.unavailable():
            return ActorReply(description=reason, failure=reason, is_strategy=True)
        task = StepTask(
            step=self.inputs.step,
            bounds=self.inputs.bounds,
            instruction=request.instruction,
            strategy=self.inputs.strategy,
            findings=self.inputs.findings,
            guidance=self.inputs.guidance,
        )
        for left in reversed(range(request.limits.transport_retries + 1)):
            acted = await actor.act(task, self._workplace(self.inputs.step))
            said, failure, redact = acted.description, acted.failure, self.context.redact
            acted = replace(acted, description=redact(said), failure=failure and redact(failure))
            if acted.failure is None or acted.is_strategy or not left:
                break
            emit(StepFailed(step=self.inputs.step.id, failure=acted.failure))
            sandbox.restore(self.inputs.candidate)
        return acted

    def _workplace(self, step: Step) -> Workplace:
        """Return where a step is done: with the network, if it says that it needs it."""
        workplace = self.context.sandbox.workplace()
        if not step.network or workplace.confinement is None:
            return workplace
        return replace(workplace, confinement=workplace.confinement.also(network=None))

    def _refusal(self) -> str | None:
        """Return why a step may not be done without a person's approval."""
        step, request = self.inputs.step, self.context.request
        if step.signature in self.inputs.approved:
            return None
        if step.command is not None and self._needs_approval(step):
            return f"its command, `{step.command}`, needs approval"
        if step.network and request.profile.approve_network:
            return "it needs the network, which needs approval"
        return None

    def _needs_approval(self, step: Step) -> bool:
        """True if a machine has thought of a command, and no person has allowed such."""
        request = self.context.request
        own = request.strategy or Strategy()
        if any(step.signature == one.signature for _, one in own.all_steps()):
            return False
        allowed = own.bounds.commands is not None and own.bounds.allows(step.command or "")
        return request.profile.approve_commands and not allowed

    def _result(self, acted: ActorReply, started: float) -> StepResult:
        return StepResult(
            step=self.inputs.step.id,
            actor=self.inputs.step.actor,
            description=acted.description,
            refused=acted.failure,
            seconds=time.monotonic() - started,
            usage=acted.usage,
            confidence=acted.confidence,
        )

    def _refused(
        self,
        acted: ActorReply,
        started: float,
        *,
        category: str = _NOT_DONE,
        outside: tuple[str, ...] = (),
        judges: tuple[str, ...] = (),
    ) -> StepOutcome:
        step, outside, judges = self.inputs.step, readable(outside), readable(judges)
        emit(StepRefused(step=step.id, failure=acted.failure, outside=outside))
        said = " ".join(acted.description.split())[-_SAID:]
        # A command that failed names its own words: what it said may be among those.
        known = str(acted.failure).replace(f"`{step.command}`", "")
        detail = f": {said}" if said and said not in known and not outside else ""
        finding = Finding(
            source=STEP,
            category=category,
            message=f"{step.id} ({step.description}): {acted.failure}{detail}",
            fault=Fault.STRATEGY,
            attempted=outside,
            available=(self.inputs.bounds.paths or ()) if outside else (),
            data={"step": step.id, "actor": step.actor, "paths": list(outside)},
        )
        result = replace(self._result(acted, started), outside=outside, restored=judges)
        return StepOutcome(candidate=self.inputs.candidate, result=result, finding=finding)
