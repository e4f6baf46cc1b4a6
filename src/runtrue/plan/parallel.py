"""Steps that do not need each other are done side by side, each in a sandbox of its own.

What they did is merged in the order of the strategy, and validated step by step as ever.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial

from msgspec import UNSET

from runtrue.flow import Run, emit
from runtrue.loop import Spent, guard_edit, readable
from runtrue.plan.context import PlanContext, PlanRun
from runtrue.plan.events import StepMerged
from runtrue.plan.next_step import approved_deletes, rooted
from runtrue.plan.progress import ActInputs, StepAhead, StepOutcome, StepState
from runtrue.sandbox import GitSandbox, MergeConflict

#: How many steps are done side by side.
MOST = 4

#: Does one step in the sandbox of its context.
Act = Callable[[PlanContext, ActInputs], Awaitable[StepOutcome]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneAhead:
    """The steps that could be done, by their ids, and how long all of them took together."""

    steps: dict[str, StepAhead]
    seconds: float


async def take_ahead(
    run: Run, context: PlanContext, plan: PlanRun, inputs: ActInputs, act: Act
) -> StepOutcome | None:
    """Return what came of a step beside others, merged into the candidate.

    None if it is to be done by itself: no other step can be done beside it, or what it did there
    was not kept, or cannot be merged.
    """
    if inputs.step.id not in plan.ahead:
        beside = _beside(context, plan, inputs)
        if not beside:
            return None
        work = partial(act_ahead, context, act)
        done = await run.step("act_ahead", work, (inputs, *beside))
        plan.ahead.update(done.steps)
        plan.advance(spent=plan.progress.spent.plus(Spent(seconds=done.seconds)))
    ahead = plan.ahead.pop(inputs.step.id, None)
    if ahead is None:
        return None
    return await run.step("merge_ahead", partial(merge_ahead, context), inputs, ahead)


def _beside(context: PlanContext, plan: PlanRun, inputs: ActInputs) -> tuple[ActInputs, ...]:
    """Return what else can be done now, as the strategy says: all that it needs is done."""
    strategy, progress = inputs.strategy, plan.progress
    is_said = any(step.needs is not UNSET for _, step in strategy.all_steps())
    if not is_said or inputs.findings or not isinstance(context.sandbox, GitSandbox):
        return ()
    needs = strategy.needs()
    found = []
    for step, bounds in strategy.leaves():
        state = progress.states.get(step.id, StepState.PENDING)
        is_waiting = step.id != inputs.step.id and state is StepState.PENDING
        if is_waiting and step.id not in plan.ahead and all(map(progress.is_over, needs[step.id])):
            allowed = approved_deletes(bounds, progress, context.request.profile)
            found.append(replace(inputs, step=step, bounds=rooted(allowed, plan.prefix)))
    return tuple(found[: MOST - 1])


async def act_ahead(context: PlanContext, act: Act, together: tuple[ActInputs, ...]) -> DoneAhead:
    """Do steps side by side; what was refused there is done again by itself."""
    started = time.monotonic()
    sandbox = context.sandbox
    assert isinstance(sandbox, GitSandbox)  # noqa: S101 - no steps are beside others elsewhere
    forks = [sandbox.fork(str(n), one.candidate) for n, one in enumerate(together)]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(_outcome(act, replace(context, sandbox=fork), inputs))
                for fork, inputs in zip(forks, together, strict=True)
            ]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    finally:
        for fork in forks:
            fork.remove()
    kept = {
        inputs.step.id: StepAhead(
            base=inputs.candidate,
            candidate=task.result().candidate,
            result=replace(task.result().result, seconds=0.0),
        )
        for inputs, task in zip(together, tasks, strict=True)
        if task.result().finding is None
    }
    return DoneAhead(steps=kept, seconds=time.monotonic() - started)


async def _outcome(act: Act, context: PlanContext, inputs: ActInputs) -> StepOutcome:
    return await act(context, inputs)


def merge_ahead(context: PlanContext, inputs: ActInputs, ahead: StepAhead) -> StepOutcome | None:
    """Merge what a step did beside others into the candidate, by the rules for every edit.

    None if it has changed the same lines as another, or if all together is too much.
    """
    sandbox, step = context.sandbox, inputs.step
    assert isinstance(sandbox, GitSandbox)  # noqa: S101 - nothing is merged elsewhere
    try:
        merged = sandbox.merged(ahead.base, inputs.candidate, ahead.candidate)
    except MergeConflict as conflict:
        why = f"a parallel step changed the same lines of {conflict.file}"
        emit(StepMerged(step=step.id, files=(), failure=why))
        return None
    sandbox.restore(merged)
    edit = guard_edit(sandbox, inputs.candidate, context.edit_rules(inputs))
    if edit.refused:
        emit(StepMerged(step=step.id, files=(), failure=edit.reason))
        return None
    files = readable(edit.files)
    emit(StepMerged(step=step.id, files=files))
    return StepOutcome(candidate=edit.candidate, result=replace(ahead.result, files=files))
