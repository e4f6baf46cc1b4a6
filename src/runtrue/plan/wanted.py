"""What a plan that is parked waits for."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from runtrue.loop import Why
from runtrue.plan.states import Phase, PlanState, Position


class Wanted(StrEnum):
    """What a plan that is parked waits for."""

    #: The command to execute.
    BEGIN = "begin"
    #: The command to apply.
    APPLY = "apply"
    #: A person's yes to a strategy, to a revision of it, or to what a step would do.
    APPROVAL = "approval"
    #: What a person says about something that the plan cannot do by itself.
    GUIDANCE = "guidance"

    @property
    def is_prompt(self) -> bool:
        """True if it is for `plan answer`, and not for a command of its own."""
        return self in (Wanted.APPROVAL, Wanted.GUIDANCE)


def wanted_by(question: dict[str, Any] | None) -> Wanted | None:
    """Return what a question is for; nothing without one."""
    if question is None:
        return None
    if question.get("why") in (Why.NEEDS_APPROVAL, Why.UNSURE):
        return Wanted.APPROVAL
    by_key = {"begin": Wanted.BEGIN, "offer": Wanted.APPLY, "approve": Wanted.APPROVAL}
    return next((wanted for key, wanted in by_key.items() if key in question), Wanted.GUIDANCE)


def position_at(question: dict[str, Any]) -> Position:
    """Return where a plan is that waits with a question, without looking at its steps."""
    match wanted_by(question):
        case Wanted.BEGIN:
            return Position(Phase.EXECUTE, PlanState.QUEUED)
        case Wanted.APPLY:
            return Position(Phase.APPLY, PlanState.COMPLETE)
    is_strategy = question.get("approve") == "strategy" or "guide" in question
    return Position(Phase.STRATEGIZE if is_strategy else Phase.EXECUTE, PlanState.WAITING)
