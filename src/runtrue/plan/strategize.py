"""The strategize phase: make a strategy, or take it from the plan's file, and have it approved."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

from runtrue.flow import Run, emit
from runtrue.loop import EXPIRED, TIME_IS_UP, Spent, Why, in_time, is_yes
from runtrue.plan.answers import answer_text
from runtrue.plan.context import PlanContext, PlanRun
from runtrue.plan.events import StrategizeFinished, StrategizeStarted
from runtrue.plan.progress import (
    StepState,
    Strategizing,
    cost_of,
)
from runtrue.plan.seams import Strategist, Strategized, StrategyTask
from runtrue.plan.states import Happening, PlanState
from runtrue.plan.strategists import strategist_of
from runtrue.plan.validation import checks_of

#: The author of a strategy that was written by hand.
_BY_HAND = "the plan's file"


async def make_strategy(run: Run, context: PlanContext, plan: PlanRun) -> bool:
    """Make the strategy, and have it approved where the profile says so; False if the plan ended.

    One that was written by hand is taken as it is. What a person says opens a fresh budget.
    """
    request = context.request
    strategist = strategist_of(request, context.redact)
    by = _BY_HAND if request.strategy is not None else strategist.name
    while True:
        left = request.profile.max_time - plan.progress.spent.seconds
        said = plan.progress.said
        made = await run.step("strategize", partial(_strategize, context, strategist), said, left)
        _note(plan, made, by)
        if made.seconds >= left:
            return _fail(plan, Why.TIME_SPENT)
        if made.strategy is None:
            plan.advance(Happening.PAUSED)
            answer = await run.ask("guide", {"guide": "strategy", "why": made.failure})
        else:
            states = {step.id: StepState.PENDING for _, step in made.strategy.all_steps()}
            plan.advance(strategy=made.strategy, states=states)
            if request.strategy is not None or request.profile.auto_strategize:
                plan.advance(Happening.STRATEGIZED)
                return True
            plan.advance(Happening.PAUSED)
            question = {"approve": "strategy", "strategy": plan.progress.strategy}
            answer = await run.ask("approve_strategy", question)
        if answer == EXPIRED:
            return _fail(plan, Why.UNANSWERED)
        plan.advance(Happening.ANSWERED)
        plan.advance(spent=Spent())
        text = answer_text(answer)
        if made.strategy is not None and is_yes(text):
            plan.advance(Happening.STRATEGIZED)
            return True
        plan.advance(said=(*plan.progress.said, text))


def _note(plan: PlanRun, made: Strategized, by: str) -> None:
    if plan.progress.position.state is PlanState.QUEUED:
        plan.advance(Happening.STARTED)
    one = Strategizing(
        by=by,
        description=made.description,
        told=bool(plan.progress.said),
        failure=made.failure,
        usage=made.usage,
    )
    used = Spent(seconds=made.seconds, cost=cost_of(made.usage))
    plan.advance(strategies=(*plan.progress.strategies, one), spent=plan.progress.spent.plus(used))


def _fail(plan: PlanRun, why: Why) -> bool:
    plan.advance(Happening.FAILED)
    plan.why = why
    return False


async def _strategize(
    context: PlanContext, strategist: Strategist, guidance: tuple[str, ...], left: float
) -> Strategized:
    """Have it made in a sandbox of its own: what is edited there is thrown away."""
    request, sandbox = context.request, context.sandbox
    if request.strategy is not None:
        return Strategized(description=_BY_HAND, strategy=request.strategy)
    emit(StrategizeStarted(by=strategist.name))
    sandbox.open()
    checks = checks_of(request, sandbox)
    task = StrategyTask(
        instruction=request.instruction,
        validations=tuple(f"{check.name}: {check.command}" for check in checks),
        guidance=guidance,
    )
    started = time.monotonic()
    made = await in_time(lambda: strategist.strategize(task, sandbox.workplace()), left)
    made = made or Strategized(description="", failure=TIME_IS_UP)
    made = replace(made, seconds=time.monotonic() - started)
    emit(StrategizeFinished(by=strategist.name, failure=made.failure))
    return made
