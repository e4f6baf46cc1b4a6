"""Handing over to a person: the candidate is left in the sandbox, the run waits, and goes on.

A person may edit the candidate, or give advice, or both; either opens a fresh budget.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from runtrue.flow import Ask, RunState, emit
from runtrue.loop.decide import Action, Decision, Why
from runtrue.loop.edit import PERSON, guard_edit
from runtrue.loop.escalation import Response
from runtrue.loop.events import Escalated, FixExhausted
from runtrue.loop.fault import Fault
from runtrue.loop.history import Answer, Fix, FixPart, History
from runtrue.loop.workshop import Shared, Workshop, WorkshopNode, readable

#: The answer that stands for none: nobody has said anything in time.
EXPIRED = {"expired": True}
#: What a person answers who has done by hand what could not be done as the strategy says.
DONE_ANSWER = "done"


class HandOverNode(WorkshopNode):
    """Leaves the best candidate in the sandbox for a person to look at and to edit."""

    def prep(self, shared: Shared) -> tuple[Decision, bool]:
        """The candidate to hand over, and why; whether fixing is exhausted, and nobody knows."""
        decision: Decision = shared["decision"]
        history: History = shared["history"]
        # Before a revision, it was told already.
        untold = not history.since_last_answer().revisions
        return decision, untold and decision.why is Why.ATTEMPTS_SPENT

    def exec(self, inputs: tuple[Decision, bool]) -> str:
        """Put it in its place, and tell of it where no trigger has."""
        decision, is_exhausted = inputs
        if is_exhausted:
            emit(FixExhausted(why=decision.why))
        if decision.escalation is None:
            emit(Escalated(condition=None, action=Response.HUMAN_REVIEW, why=decision.why))
        self.workshop.sandbox.restore(decision.candidate)
        return str(self.workshop.sandbox.workplace().directory)

    def post(self, shared: Shared, inputs: tuple[Decision, bool], result: str) -> None:
        """Tell the question where to look."""
        shared["handed_over"] = result


class AskNode(Ask):
    """Asks a person for help and waits, holding no process."""

    def __init__(self, name: str, workshop: Workshop) -> None:
        super().__init__(name)
        self.workshop = workshop

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
            "acceptable": self.workshop.policy.acceptable and history.best.works,
        }

    def post(self, shared: Shared, inputs: dict[str, Any], result: Any) -> str | None:
        """Keep what was said; it opens a fresh budget."""
        history: History = shared["history"]
        if result == EXPIRED:
            decision: Decision = shared["decision"]
            shared["decision"] = replace(
                decision, action=Action.STOP, why=Why.UNANSWERED, status=RunState.FAILED
            )
            return "expired"
        said = result if isinstance(result, dict) else {"text": result}
        answer = Answer(
            text=str(said.get("text") or ""),
            attempts=len(history.attempts),
            rejections=len(history.rejections),
            allowed=tuple(said.get("allow", ())),
        )
        shared["history"] = replace(history, answers=(*history.answers, answer))
        if answer.allowed and shared.get("bounds") is not None:
            prefix = shared.get("prefix", "")
            allowed = [f"{prefix}{path}" for path in answer.allowed]
            shared["bounds"] = shared["bounds"].widened(allowed)
        return None


class TakeBackNode(WorkshopNode):
    """Takes the candidate as the person left it."""

    def prep(self, shared: Shared) -> str:
        """The candidate that was handed over."""
        return str(shared["candidate"])

    def exec(self, inputs: str) -> Fix:
        """See what the person changed, if anything."""
        sandbox = self.workshop.sandbox
        edit = guard_edit(sandbox, inputs, PERSON)
        added, removed = sandbox.count_lines(inputs, edit.candidate)
        part = FixPart(
            fixer="human",
            findings=(),
            description="edited in the sandbox, or answered",
            files=readable(edit.files),
        )
        return Fix(
            base=inputs, candidate=edit.candidate, parts=(part,), added=added, removed=removed
        )

    def post(self, shared: Shared, inputs: str, result: Fix) -> str:
        """Have it checked like any other candidate; what was only spoken of, is known already."""
        history: History = shared["history"]
        latest, text = history.latest, history.answers[-1].text.strip()
        faults = {finding.fault for finding in latest.blocking}
        if faults == {Fault.STRATEGY} and text.lower() != DONE_ANSWER:
            # What was not done is still to be done, on what the person has made of the files: that
            # those pass would say nothing about it.
            stands = replace(latest, candidate=result.candidate)
            shared["history"] = replace(history, attempts=(*history.attempts[:-1], stands))
            return "advised"
        if faults == {Fault.STRATEGY}:
            # What was done by hand is not done again by what was never run, or never allowed.
            shared.pop("redo", None)
        # After a regression it is the latest attempt that must not be decided on again; and what
        # was no candidate's fault may be gone, though the candidate is the same.
        known = result.candidate == inputs and not history.regressions(latest)
        if known and text and Fault.CANDIDATE in faults:
            return "advised"
        shared["fix"], shared["candidate"] = result, result.candidate
        return "edited"
