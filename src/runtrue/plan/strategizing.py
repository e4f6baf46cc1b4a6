"""The strategize phase: a strategy is made, or taken from the plan's file, and approved."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from runtrue.flow import Ask, Node, emit
from runtrue.loop import EXPIRED, TIME_IS_UP, Check, Spent, Why, in_time
from runtrue.plan.answers import answer_text, is_yes
from runtrue.plan.events import StrategizeFinished, StrategizeStarted
from runtrue.plan.place import Place
from runtrue.plan.progress import (
    Progress,
    Shared,
    StepState,
    Strategizing,
    cost_of,
    progress_of,
)
from runtrue.plan.seams import Strategist, Strategized, StrategyTask
from runtrue.plan.states import Happening, PlanState

#: Who a strategy is by that nobody had to make.
_BY_HAND = "the plan's file"


@dataclass(frozen=True, slots=True)
class StrategizeInputs:
    """What people have said about earlier strategies."""

    guidance: tuple[str, ...]
    #: The seconds that are left of the plan's time.
    left: float


class StrategizeNode(Node):
    """Makes the strategy; one that was written by hand is taken as it is."""

    def __init__(
        self, name: str, place: Place, strategist: Strategist, checks: tuple[Check, ...]
    ) -> None:
        super().__init__(name)
        self.place = place
        self.strategist = strategist
        self.checks = checks

    def prep(self, shared: Shared) -> StrategizeInputs:
        """Whatever was said so far."""
        progress = progress_of(shared)
        left = self.place.request.profile.max_time - progress.spent.seconds
        return StrategizeInputs(progress.said, left)

    async def exec(self, inputs: StrategizeInputs) -> Strategized:
        """Have it made, in a sandbox of its own: what is edited there is of no account."""
        request, sandbox = self.place.request, self.place.sandbox
        if request.strategy is not None:
            return Strategized(description=_BY_HAND, strategy=request.strategy)
        emit(StrategizeStarted(by=self.strategist.name))
        sandbox.open()
        task = StrategyTask(
            instruction=request.instruction,
            validations=tuple(f"{check.name}: {check.command}" for check in self.checks),
            guidance=inputs.guidance,
        )
        started = time.monotonic()
        made = await in_time(
            lambda: self.strategist.strategize(task, sandbox.workplace()), inputs.left
        )
        made = made or Strategized(description="", failure=TIME_IS_UP)
        made = replace(made, seconds=time.monotonic() - started)
        emit(StrategizeFinished(by=self.strategist.name, failure=made.failure))
        return made

    def post(self, shared: Shared, inputs: StrategizeInputs, result: Strategized) -> str:
        """Go on with it, or ask a person about it."""
        request = self.place.request
        by_hand = request.strategy is not None
        progress = progress_of(shared)
        if progress.position.state is PlanState.QUEUED:
            progress = progress.moved(Happening.STARTED)
        one = Strategizing(
            by=_BY_HAND if by_hand else self.strategist.name,
            description=result.description,
            told=bool(inputs.guidance),
            failure=result.failure,
            usage=result.usage,
        )
        progress = replace(
            progress,
            strategies=(*progress.strategies, one),
            spent=progress.spent.plus(Spent(seconds=result.seconds, cost=cost_of(result.usage))),
        )
        if result.seconds >= inputs.left:
            return _ended(shared, progress, Why.TIME_SPENT)
        if result.strategy is None:
            shared["progress"] = progress.moved(Happening.PAUSED)
            shared["trouble"] = result.failure
            return "failed"
        states = {step.id: StepState.PENDING for _, step in result.strategy.all_steps()}
        progress = replace(progress, strategy=result.strategy, states=states)
        if by_hand or request.profile.auto_strategize:
            shared["progress"] = progress.moved(Happening.STRATEGIZED)
            return "made"
        shared["progress"] = progress.moved(Happening.PAUSED)
        return "approve"


class ApproveStrategyNode(Ask):
    """Asks a person whether the strategy is what they want."""

    def prep(self, shared: Shared) -> dict[str, Any]:
        """The strategy."""
        return {"approve": "strategy", "strategy": progress_of(shared).strategy}

    def post(self, shared: Shared, inputs: dict[str, Any], result: Any) -> str:
        """A yes is a yes; anything else is guidance for another strategy."""
        progress = progress_of(shared)
        if result == EXPIRED:
            return _ended(shared, progress, Why.UNANSWERED)
        # What is said opens a fresh budget.
        progress = replace(progress.moved(Happening.ANSWERED), spent=Spent())
        text = answer_text(result)
        if is_yes(text):
            shared["progress"] = progress.moved(Happening.STRATEGIZED)
            return "approved"
        shared["progress"] = replace(progress, said=(*progress.said, text))
        return "again"


class GuideNode(Ask):
    """Asks for guidance where no strategy could be made."""

    def prep(self, shared: Shared) -> dict[str, Any]:
        """Why not."""
        return {"guide": "strategy", "why": shared["trouble"]}

    def post(self, shared: Shared, inputs: dict[str, Any], result: Any) -> str:
        """Try again with what was said."""
        progress = progress_of(shared)
        if result == EXPIRED:
            return _ended(shared, progress, Why.UNANSWERED)
        progress = progress.moved(Happening.ANSWERED)
        # What is said opens a fresh budget.
        said = (*progress.said, answer_text(result))
        shared["progress"] = replace(progress, said=said, spent=Spent())
        return "again"


class BeginNode(Ask):
    """Waits to be told to execute: the plan is queued."""

    def prep(self, shared: Shared) -> dict[str, Any]:
        """Nothing but that."""
        return {"begin": True}


def _ended(shared: Shared, progress: Progress, why: Why) -> str:
    shared["progress"] = progress.moved(Happening.FAILED)
    shared["why"] = why
    return "ended"
