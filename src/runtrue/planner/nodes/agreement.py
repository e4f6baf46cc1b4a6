"""Put the effects of a plan to a person, before they happen."""

from __future__ import annotations

from typing import Any

from runtrue.flow import Ask
from runtrue.planner.context import PlannerNode, Shared
from runtrue.workflow import Effect


def ask_for(shared: Shared, effects: tuple[Effect, ...], *, can_ask: bool) -> str:
    """Have a person asked for effects; in memory, where nobody can be, the run ends."""
    if can_ask:
        shared["asked_effects"] = effects
        return "agree"
    shared["planner_error"] = (
        f"needs approval, and there is no terminal to ask on: {listed(effects)}"
    )
    return "failed_runtime"


def listed(effects: tuple[Effect, ...]) -> str:
    """Return effects as one text."""
    return "; ".join(map(str, effects))


class AgreementNode(PlannerNode, Ask):
    """Asks a person to agree to effects: `validate` or `run` goes on, `declined` ends the run."""

    def prep(self, shared: Shared) -> dict[str, Any]:
        """Return the question: the effects, in plain words."""
        asks: tuple[Effect, ...] = shared["asked_effects"]
        return {"effects": [str(effect) for effect in asks]}

    def post(self, shared: Shared, question: dict[str, Any], answer: Any) -> str:
        """Remember what was agreed to."""
        asked: tuple[Effect, ...] = shared.pop("asked_effects")
        if answer != "yes":
            shared["planner_error"] = f"you did not agree to: {listed(asked)}"
            return "declined"
        shared["agreed_effects"] = (*shared.get("agreed_effects", ()), *asked)
        return "run" if "found_workflow" in shared else "validate"
