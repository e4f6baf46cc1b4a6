"""Handing over to a person: the candidate is left in the sandbox, the run waits, and goes on.

A person may edit the candidate, or give advice, or both; either opens a fresh budget.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from runtrue.flow import Ask
from runtrue.loop.decide import Decision
from runtrue.loop.history import Answer, Fix, FixPart, History
from runtrue.loop.workshop import Shared, WorkshopNode, readable


class HandOverNode(WorkshopNode):
    """Leaves the best candidate in the sandbox for a person to look at and to edit."""

    def prep(self, shared: Shared) -> str:
        """The candidate to hand over."""
        return str(shared["candidate"])

    def exec(self, inputs: str) -> str:
        """Put it in its place."""
        self.workshop.sandbox.restore(inputs)
        return str(self.workshop.sandbox.workplace().directory)

    def post(self, shared: Shared, inputs: str, result: str) -> None:
        """Tell the question where to look."""
        shared["handed_over"] = result


class AskNode(Ask):
    """Asks a person for help and waits, holding no process."""

    def prep(self, shared: Shared) -> dict[str, Any]:
        """What is known, and where the candidate lies."""
        decision: Decision = shared["decision"]
        history: History = shared["history"]
        return {
            "why": decision.why,
            "condition": decision.escalation.trigger.condition if decision.escalation else None,
            "findings": decision.findings,
            "sandbox": shared["handed_over"],
            # Whether the answer `accept` would be heard.
            "acceptable": history.best.works,
        }

    def post(self, shared: Shared, inputs: dict[str, Any], result: Any) -> None:
        """Keep what was said; it opens a fresh budget."""
        history: History = shared["history"]
        answer = Answer(
            text=str(result or ""),
            attempts=len(history.attempts),
            rejections=len(history.rejections),
        )
        shared["history"] = replace(history, answers=(*history.answers, answer))


class TakeBackNode(WorkshopNode):
    """Takes the candidate as the person left it."""

    def prep(self, shared: Shared) -> str:
        """The candidate that was handed over."""
        return str(shared["candidate"])

    def exec(self, inputs: str) -> Fix:
        """See what the person changed, if anything."""
        sandbox = self.workshop.sandbox
        candidate = sandbox.snapshot()
        added, removed = sandbox.count_lines(inputs, candidate)
        part = FixPart(
            fixer="human",
            findings=(),
            description="edited in the sandbox, or answered",
            files=readable(sandbox.changed(inputs, candidate)),
        )
        return Fix(base=inputs, candidate=candidate, parts=(part,), added=added, removed=removed)

    def post(self, shared: Shared, inputs: str, result: Fix) -> str:
        """Have it checked like any other candidate; what was only spoken of, is known already."""
        history: History = shared["history"]
        # After a regression it is the latest attempt that must not be decided on again.
        known = result.candidate == inputs and not history.regressions(history.latest)
        if known and history.answers[-1].text.strip():
            return "advised"
        shared["fix"], shared["candidate"] = result, result.candidate
        return "edited"
