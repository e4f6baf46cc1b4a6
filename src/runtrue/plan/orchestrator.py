"""The fix-then-revalidate loop: what happens when a required validation fails.

    check ⇄ analyse, decide, fix, ask       the repair cycle, within the bounds of the strategy
      ▲        │      ▲
      │       out     └──────────────── failed ─┐
      │        ▼                                │
      │     orchestrate ── revise ──────────▶ revise ── approve ─▶ approve_revision
      │        │                                │                    │
      └── (the plan does ◀── revised ───────────┴────────────────────┘
           the step again)
               ├── validated ─▶ the plan goes on
               └── stopped ───▶ the plan has failed

1. Diagnosis: the analyst, and the fixer itself, look at the message and the data of each finding.
2. Self-fix: the ladder of fixers mends it within the bounds; what lies outside is not kept.
3. Re-validation: the validation that failed, then all others that are required.
4. Retries are counted for each validation over the whole plan.
5. Revision: where nothing more can be done within the strategy, that part of it is made anew, once.
6. Escalation: the plan waits for a person, durably; what they say opens a fresh budget.
7. Failure: nobody answers, or time or money is spent. The sandbox is kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from runtrue.flow import Node, emit
from runtrue.loop import (
    Action,
    Cycle,
    Decision,
    FixExhausted,
    History,
    TakeBackNode,
    Why,
    Workshop,
    repair_cycle,
)
from runtrue.plan.events import FixSucceeded
from runtrue.plan.progress import Shared, StepState, ended, progress_of
from runtrue.plan.revising import AdoptNode, ApproveRevisionNode, KeepEditsNode, ReviseNode
from runtrue.plan.seams import Strategist

#: How many findings an event shows.
_SHOWN = 5


class FixThenRevalidateOrchestrator:
    """Wires the loop around one strategist and one workshop: its checks are the validations.

    `check` and `decide` are the ways in, with a candidate or with a history in the shared store;
    `out` is the way on, by the actions `validated`, `revised` and `stopped`.
    """

    def __init__(
        self,
        workshop: Workshop,
        strategist: Strategist,
        *,
        instruction: str,
        approves_revisions: bool = False,
    ) -> None:
        cycle: Cycle = repair_cycle(workshop)
        self.check, self.decide = cycle.check, cycle.decide
        self.out = OrchestrateNode("orchestrate")
        revise = ReviseNode("revise", workshop, strategist, instruction, approves_revisions)
        approve = ApproveRevisionNode("approve_revision")
        keep = KeepEditsNode("keep_edits", workshop)
        take_back = TakeBackNode("take_back_unrevised", workshop)
        self.revised = AdoptNode("adopt")
        self.stopped = StopNode("stop")
        cycle.out >> self.out
        self.out - "revise" >> revise
        self.out - "stopped" >> self.stopped
        revise - "revised" >> self.revised
        revise - "approve" >> approve
        revise - "failed" >> cycle.decide
        # Who is asked may have edited the files as well.
        approve - "revised" >> keep >> self.revised
        approve - "failed" >> take_back
        take_back - "edited" >> cycle.check
        take_back - "advised" >> cycle.decide
        approve - "stopped" >> self.stopped

    def wire(self, *, validated: Node, revised: Node, stopped: Node) -> None:
        """Say where the plan goes on."""
        self.out - "validated" >> validated
        self.revised >> revised
        self.stopped >> stopped


class OrchestrateNode(Node):
    """Does what was decided in the end: goes on, has the strategy revised, or stops."""

    def prep(self, shared: Shared) -> dict[str, Any]:
        """What is told of it."""
        decision: Decision = shared["decision"]
        history: History = shared["history"]
        return {
            "step": progress_of(shared).step,
            "action": decision.action,
            "why": decision.why,
            "fixes": history.spent.fixes,
            "findings": decision.findings[:_SHOWN],
            "needed": history.needed if history.attempts else (),
            "fixed": any(attempt.fix for attempt in history.attempts),
        }

    def exec(self, inputs: dict[str, Any]) -> None:
        """Tell it: succeeded after fixes, or exhausted."""
        data = {key: value for key, value in inputs.items() if key != "fixed"}
        if inputs["action"] is Action.ACCEPT:
            if inputs["fixed"]:
                emit(FixSucceeded(**data))
        elif inputs["why"] in (Why.ATTEMPTS_SPENT, Why.TIME_SPENT, Why.MONEY_SPENT):
            emit(FixExhausted(**data))

    def post(self, shared: Shared, inputs: dict[str, Any], result: None) -> str:
        """End the chapter, unless the strategy is to be revised first."""
        decision: Decision = shared["decision"]
        if decision.action is Action.REVISE:
            return "revise"
        if decision.action is Action.STOP:
            return "stopped"
        progress, history = progress_of(shared), shared["history"]
        proved = {
            verdict.check: history.latest.candidate
            for verdict in history.latest.verdicts
            if verdict.passed
        }
        progress = ended(progress, shared).with_state(inputs["step"], StepState.DONE)
        shared["progress"] = replace(
            progress, proved={**progress.proved, **proved}, findings=(), spent=history.spent
        )
        return "validated"


class StopNode(Node):
    """The end of a plan that has failed: the chapter is closed as it is."""

    def post(self, shared: Shared, inputs: None, result: None) -> None:
        """Note where it failed."""
        history: History = shared["history"]
        progress = replace(progress_of(shared), spent=history.spent)
        shared["progress"] = ended(progress, shared).with_state(progress.step, StepState.FAILED)
