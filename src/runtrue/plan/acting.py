"""The execute phase: one step after another is done, within its bounds, and then validated."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from runtrue.flow import Node, emit
from runtrue.loop import (
    NEEDS_APPROVAL,
    TIME_IS_UP,
    Attempt,
    Bounds,
    EditRules,
    Fault,
    Finding,
    History,
    Mode,
    Refused,
    Spent,
    Verdict,
    Workplace,
    guard_edit,
    in_time,
    matches,
    readable,
)
from runtrue.plan.actors import actor_of
from runtrue.plan.events import StepDone, StepFailed, StepRefused, StepStarted
from runtrue.plan.place import Place
from runtrue.plan.progress import Deed, Shared, cost_of, progress_of
from runtrue.plan.seams import Acted, StepTask
from runtrue.plan.strategy import Step, Strategy

#: The name under which a step that could not be done stands among the verdicts.
STEP = "step"
#: The category of a finding about a step that could not be done, and those about refused edits.
_NOT_DONE = "step_not_done"
_CATEGORIES = {Refused.OUT_OF_BOUNDS: "out_of_bounds", Refused.DELETED: NEEDS_APPROVAL}
#: How much of what an actor said is in the finding about what it could not do.
_SAID = 300


@dataclass(frozen=True, slots=True)
class ActInputs:
    """What is to be done onto which candidate, and what is known beforehand."""

    candidate: str
    base: str
    step: Step
    bounds: Bounds
    strategy: Strategy
    findings: tuple[Finding, ...]
    guidance: tuple[str, ...]
    approved: tuple[str, ...]
    #: The seconds that are left of the plan's time.
    left: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The candidate after a step, and what was done; `finding` is why nothing of it was kept."""

    candidate: str
    deed: Deed
    finding: Finding | None = None


class ActNode(Node):
    """Has the step's actor do it, and sees from the files what it did."""

    def __init__(self, name: str, place: Place) -> None:
        super().__init__(name)
        self.place = place
        agent = place.request.agent
        self.side_effect = agent.once and agent.command is not None

    def prep(self, shared: Shared) -> ActInputs:
        """Where it stands."""
        progress = progress_of(shared)
        current = progress.current
        assert current is not None  # noqa: S101 - `next` has just picked it
        return ActInputs(
            candidate=shared["candidate"],
            base=shared["base"],
            step=current[0],
            bounds=shared["bounds"],
            strategy=progress.strategy or Strategy(),
            findings=progress.findings,
            guidance=progress.guidance(),
            approved=progress.approved,
            left=self.place.request.profile.max_time - progress.spent.seconds,
        )

    async def exec(self, inputs: ActInputs) -> Done:
        """Do it, if it may be done, and keep it, if it stayed within the bounds."""
        sandbox, step = self.place.sandbox, inputs.step
        sandbox.restore(inputs.candidate)
        emit(StepStarted(step=step.id, actor=step.actor, description=step.description))
        started = time.monotonic()
        if refusal := self._refusal(inputs):
            acted = Acted(description=refusal, failure=refusal)
            return self._refused(inputs, acted, started, category=NEEDS_APPROVAL)
        if step.command is not None and not inputs.bounds.allows(step.command):
            refusal = f"its command, `{step.command}`, is not one that the bounds allow"
            return self._refused(inputs, Acted(description=refusal, failure=refusal), started)
        in_vain = Acted(description=TIME_IS_UP, failure=TIME_IS_UP)
        acted = await in_time(lambda: self._act(inputs), inputs.left) or in_vain
        edit = guard_edit(
            sandbox,
            inputs.candidate,
            self._rules(inputs),
            texts=acted.texts,
            failure=acted.failure,
        )
        if edit.refused:
            return self._refused(
                inputs,
                replace(acted, failure=edit.reason),
                started,
                category=_CATEGORIES.get(edit.refused, _NOT_DONE),
                outside=edit.outside,
                judges=edit.restored,
            )
        deed = self._deed(inputs, acted, started)
        files, judges = readable(edit.files), readable(edit.restored)
        # What was wanted of it, and cannot be a part of the result, must not vanish in silence.
        wanted = [file for file in sandbox.not_kept() if self._is_wanted(file, inputs.bounds)]
        ignored = readable(tuple(wanted))
        emit(StepDone(step=step.id, files=files, restored=judges, ignored=ignored))
        return Done(candidate=edit.candidate, deed=replace(deed, files=files, restored=judges))

    async def _act(self, inputs: ActInputs) -> Acted:
        """Ask; what fails for outside reasons is tried again, as often as the policy says."""
        request, sandbox = self.place.request, self.place.sandbox
        actor = actor_of(inputs.step, request, self.place.hide, self.place.memory.held)
        if reason := actor.unavailable():
            return Acted(description=reason, failure=reason, is_strategy=True)
        task = StepTask(
            step=inputs.step,
            bounds=inputs.bounds,
            instruction=request.instruction,
            strategy=inputs.strategy,
            findings=inputs.findings,
            guidance=inputs.guidance,
        )
        for left in reversed(range(request.limits.transport_retries + 1)):
            acted = await actor.act(task, self._workplace(inputs.step))
            said, failure, hide = acted.description, acted.failure, self.place.hide
            acted = replace(acted, description=hide(said), failure=failure and hide(failure))
            if acted.failure is None or acted.is_strategy or not left:
                break
            emit(StepFailed(step=inputs.step.id, failure=acted.failure))
            sandbox.restore(inputs.candidate)
        return acted

    def _workplace(self, step: Step) -> Workplace:
        """Where a step is done: with the network, if it says that it needs it."""
        workplace = self.place.sandbox.workplace()
        if not step.network or workplace.confinement is None:
            return workplace
        return replace(workplace, confinement=workplace.confinement.also(network=None))

    def _refusal(self, inputs: ActInputs) -> str | None:
        """Why a step may not be done without a person's approval."""
        step, request = inputs.step, self.place.request
        if step.deed in inputs.approved:
            return None
        if step.command is not None and self._needs_approval(step):
            return f"its command, `{step.command}`, needs approval"
        if step.network and request.profile.approve_network:
            return "it needs the network, which needs approval"
        return None

    def _needs_approval(self, step: Step) -> bool:
        """Whether a machine has thought of a command, and no person has allowed such."""
        request = self.place.request
        own = request.strategy or Strategy()
        if any(step.deed == one.deed for _, one in own.all_steps()):
            return False
        allowed = own.bounds.commands is not None and own.bounds.allows(step.command or "")
        return request.profile.approve_commands and not allowed

    def _rules(self, inputs: ActInputs) -> EditRules:
        return EditRules(
            bounds=inputs.bounds,
            origin=inputs.base,
            redactor=self.place.hide,
            # The patterns of the bounds that mean nothing but judges.
            editable=self.place.sandbox.protected(inputs.bounds.paths or ()),
            new_tests_since=inputs.base,
        )

    def _is_wanted(self, file: str, bounds: Bounds) -> bool:
        """Whether the bounds name a file by more than a pattern for everything."""
        named = [path for path in bounds.paths or () if path.strip("./*")]
        return any(matches(file, path) for path in named)

    def _deed(self, inputs: ActInputs, acted: Acted, started: float) -> Deed:
        return Deed(
            step=inputs.step.id,
            actor=inputs.step.actor,
            description=acted.description,
            refused=acted.failure,
            seconds=time.monotonic() - started,
            usage=acted.usage,
        )

    def _refused(
        self,
        inputs: ActInputs,
        acted: Acted,
        started: float,
        *,
        category: str = _NOT_DONE,
        outside: tuple[str, ...] = (),
        judges: tuple[str, ...] = (),
    ) -> Done:
        step, outside, judges = inputs.step, readable(outside), readable(judges)
        emit(StepRefused(step=step.id, failure=acted.failure, outside=outside))
        said = " ".join(acted.description.split())[-_SAID:]
        told = f": {said}" if said and said not in str(acted.failure) and not outside else ""
        finding = Finding(
            source=STEP,
            category=category,
            message=f"{step.id} ({step.description}): {acted.failure}{told}",
            fault=Fault.STRATEGY,
            attempted=outside,
            available=(inputs.bounds.paths or ()) if outside else (),
            data={"step": step.id, "actor": step.actor, "paths": list(outside)},
        )
        deed = replace(self._deed(inputs, acted, started), outside=outside, restored=judges)
        return Done(candidate=inputs.candidate, deed=deed, finding=finding)

    def post(self, shared: Shared, inputs: ActInputs, result: Done) -> str:
        """Have it validated, or decide about a step that could not be done."""
        progress, deed = progress_of(shared), result.deed
        used = Spent(seconds=deed.seconds, cost=cost_of(deed.usage))
        spent = progress.spent.plus(used)
        shared["progress"] = replace(progress, deeds=(*progress.deeds, deed), spent=spent)
        shared["candidate"] = result.candidate
        history = History(earlier=spent, is_later=progress.is_later)
        if result.finding is None:
            shared["history"] = history
            return "done"
        verdict = Verdict(
            check=STEP,
            mode=Mode.REQUIRED,
            passed=False,
            findings=(result.finding,),
            seconds=deed.seconds,
        )
        attempt = Attempt(number=1, candidate=result.candidate, verdicts=(verdict,), at=0.0)
        shared["history"] = replace(history, attempts=(attempt,))
        return "refused"
