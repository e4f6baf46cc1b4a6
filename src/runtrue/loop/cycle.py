"""The repair cycle: check, decide, fix, check again. Written once, for every loop that repairs.

    check ─▶ analyse ─▶ decide ── fix ──────▶ fix ── proposed ─▶ check
                          │   │               └────── rejected ─▶ decide
                          │   ├── recheck ──▶ check
                          │   ├── ask ──────▶ hand_over ─▶ ask ─▶ take_back ─▶ check or decide
                          │   └── accept, revise, stop ─▶ out, where the loop around this goes on
                          └── escalate ─▶ report and tell, then fix, ask or stop

All that happened is in `shared["history"]`, which `decide` turns into `shared["decision"]`. The
loop that uses the cycle puts the candidate to begin with into `shared["candidate"]`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from runtrue.flow import Node, emit
from runtrue.loop.analysis import Analysis
from runtrue.loop.checking import CheckNode
from runtrue.loop.decide import Action, Decision, decide
from runtrue.loop.events import Escalated
from runtrue.loop.fixing import FixNode
from runtrue.loop.handover import AskNode, HandOverNode, TakeBackNode
from runtrue.loop.history import History
from runtrue.loop.seams import Notice
from runtrue.loop.workshop import Shared, Workshop, WorkshopNode

#: Where `decide` goes when a trigger has fired.
_ESCALATE = "escalate"


class Cycle(NamedTuple):
    """The cycle's ways in, by a candidate or by a history, and its way out, left to wire."""

    check: CheckNode
    decide: DecideNode
    out: Node


def repair_cycle(workshop: Workshop) -> Cycle:
    """Wire the cycle."""
    check = CheckNode("check", workshop)
    analyse = AnalyseNode("analyse", workshop)
    decision = DecideNode("decide", workshop)
    escalate = EscalateNode("escalate", workshop)
    fix = FixNode("fix", workshop)
    hand_over = HandOverNode("hand_over", workshop)
    ask = AskNode("ask", workshop)
    take_back = TakeBackNode("take_back", workshop)
    out = OutNode("out")
    check >> analyse >> decision
    decision - Action.RECHECK >> check
    decision - Action.ACCEPT >> out
    decision - Action.REVISE >> out
    decision - _ESCALATE >> escalate
    for turn in (decision, escalate):
        turn - Action.FIX >> fix
        turn - Action.ASK >> hand_over
        turn - Action.STOP >> out
    hand_over >> ask >> take_back
    ask - "expired" >> out
    take_back - "edited" >> check
    take_back - "advised" >> decision
    fix - "proposed" >> check
    fix - "rejected" >> decision
    return Cycle(check, decision, out)


class AnalyseNode(WorkshopNode):
    """Has the analyst find out why an attempt failed."""

    def __init__(self, name: str, workshop: Workshop) -> None:
        super().__init__(name, workshop)
        self.blocking = workshop.analyst is not None and workshop.analyst.blocking

    def prep(self, shared: Shared) -> History:
        """All that happened up to the failure."""
        history: History = shared["history"]
        return history

    def exec(self, inputs: History) -> Analysis | None:
        """Analyse what failed, if anything did."""
        analyst = self.workshop.analyst
        if analyst is None or inputs.latest.passed:
            return None
        return analyst.analyse(inputs.latest, inputs)

    def post(self, shared: Shared, inputs: History, result: Analysis | None) -> None:
        """Keep the analysis with the attempt."""
        if result is not None:
            attempts = (*inputs.attempts[:-1], replace(inputs.latest, analysis=result))
            shared["history"] = replace(inputs, attempts=attempts)


class DecideNode(WorkshopNode):
    """Asks `decide` what comes next. Nothing is executed, so nothing can differ on replay."""

    def post(self, shared: Shared, inputs: None, result: None) -> str:
        """Go where the decision says, on the candidate it is about."""
        history: History = shared["history"]
        decision = shared["decision"] = decide(self.workshop.policy, history)
        shared["candidate"] = decision.candidate
        if decision.escalation is None:
            return decision.action
        escalations = (*history.escalations, decision.escalation)
        shared["history"] = replace(history, escalations=escalations)
        return _ESCALATE


class EscalateNode(WorkshopNode):
    """Writes the report and tells those who are to know, then does what the trigger says.

    Not declared a side effect: being told twice, after a crash, is better than never.
    """

    def prep(self, shared: Shared) -> History:
        """All that happened, the escalation last."""
        history: History = shared["history"]
        return history

    async def exec(self, inputs: History) -> Notice | None:
        """Report, where somebody does that."""
        escalation = inputs.escalations[-1]
        trigger = escalation.trigger
        emit(Escalated(condition=trigger.condition, action=trigger.action))
        escalator = self.workshop.escalator
        return await escalator.escalate(escalation, inputs) if escalator else None

    def post(self, shared: Shared, inputs: History, result: Notice | None) -> str:
        """Go where the decision says."""
        if result is not None:
            shared["notices"] = (*shared.get("notices", ()), result)
        decision: Decision = shared["decision"]
        return decision.action


class OutNode(Node):
    """Where the cycle ends. What comes next is the business of the loop around it."""
