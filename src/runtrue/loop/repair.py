"""The repair cycle: check, decide, fix, check again. Written once, for every loop that repairs."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

from runtrue.flow import Run, emit
from runtrue.loop.attempt import Analysis
from runtrue.loop.check_candidate import check_candidate
from runtrue.loop.decide import Action, Decision, Why, decide
from runtrue.loop.events import Escalated
from runtrue.loop.fix_candidate import fix_candidate
from runtrue.loop.hand_over import ask_person, ask_whether_right, take_back
from runtrue.loop.history import History
from runtrue.loop.reduce import reduce_fix
from runtrue.loop.seams import Notice
from runtrue.loop.workshop import RepairState, Workshop


async def repair(
    run: Run, workshop: Workshop, state: RepairState, *, is_checked: bool = False
) -> Decision:
    """Check, fix and ask until there is nothing left to do, and return the last decision.

    It is to accept, to revise the strategy or to stop; `state` holds the candidate it is about and
    all that happened. `is_checked` says that the history ends with verdicts on the candidate.
    """
    while True:
        if not is_checked:
            await check_candidate(run, workshop, state)
            await reduce_fix(run, workshop, state)
            await analyse(run, workshop, state)
        decision = await decide_and_escalate(run, workshop, state)
        match decision.action:
            case Action.RECHECK:
                is_checked = False
            case Action.FIX:
                is_checked = not await fix_candidate(run, workshop, state)
            case Action.ASK:
                ask = ask_whether_right if decision.why is Why.UNSURE else ask_person
                if not await ask(run, workshop, state):
                    return state.last_decision
                is_checked = not await take_back(run, workshop, state)
            case Action.ACCEPT | Action.REVISE | Action.STOP:
                return decision


async def analyse(run: Run, workshop: Workshop, state: RepairState) -> None:
    """Have the analyst explain why the latest attempt failed, if it did."""
    latest = state.history.latest
    if workshop.analyst is None or latest.passed:
        return
    analysis = await run.step("analyse", partial(_analyse, workshop), state.history)
    attempts = (*state.history.attempts[:-1], replace(latest, analysis=analysis))
    state.history = replace(state.history, attempts=attempts)


async def _analyse(workshop: Workshop, history: History) -> Analysis | None:
    analyst = workshop.analyst
    if analyst is None:
        return None
    if analyst.blocking:
        return await asyncio.to_thread(analyst.analyse, history.latest, history)
    return analyst.analyse(history.latest, history)


async def decide_and_escalate(run: Run, workshop: Workshop, state: RepairState) -> Decision:
    """Decide what comes next; where a trigger fired, write the report and notify people.

    Deciding is pure, so it is not a step. Escalating is not declared a side effect: being
    notified twice, after a crash, is better than never.
    """
    state.decision = decision = decide(workshop.policy, state.history)
    state.candidate = decision.candidate
    if decision.escalation is not None:
        escalations = (*state.history.escalations, decision.escalation)
        state.history = replace(state.history, escalations=escalations)
        notice = await run.step("escalate", partial(_escalate, workshop), state.history)
        if notice is not None:
            state.notices = (*state.notices, notice)
    return decision


async def _escalate(workshop: Workshop, history: History) -> Notice | None:
    escalation = history.escalations[-1]
    trigger = escalation.trigger
    emit(Escalated(condition=trigger.condition, action=trigger.action))
    if workshop.escalator is None:
        return None
    return await workshop.escalator.escalate(escalation, history)
