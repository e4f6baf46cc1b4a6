"""Handing over to a person: the candidate is left in the sandbox, the run waits, and goes on.

A person may edit the candidate, or give advice, or both; either opens a fresh budget.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from runtrue.flow import Run, RunState, emit
from runtrue.loop.alternatives import Alternative, chosen
from runtrue.loop.attempt import Confidence, Fix, FixPart
from runtrue.loop.decide import Action, Decision, Why
from runtrue.loop.edit import PERSON, EditRules, guard_edit
from runtrue.loop.escalation import Response
from runtrue.loop.events import Escalated, FixExhausted
from runtrue.loop.evidence import confidence_in
from runtrue.loop.fault import Fault
from runtrue.loop.history import Answer
from runtrue.loop.workshop import Offer, RepairState, Workshop, readable

#: Recorded as the answer when nobody answered in time.
EXPIRED = {"expired": True}
#: The answer of a person who did by hand what the strategy does not allow.
DONE_ANSWER = "done"


#: The key of an answer that changes the task itself.
AMEND = "amend"


class AmendedByPerson(Exception):
    """A person changed the task itself: the loop around the repair goes on from there."""

    def __init__(self, said: dict[str, Any]) -> None:
        super().__init__("a person changed the task")
        self.said = said


def amendable(answer: Any) -> Any:
    """Return the answer of a person. Raises AmendedByPerson for one that changes the task."""
    if isinstance(answer, dict) and AMEND in answer:
        raise AmendedByPerson(answer)
    return answer


async def ask_person(run: Run, workshop: Workshop, state: RepairState) -> bool:
    """Leave the best candidate in the sandbox and wait for a person; False if none answered.

    The answer is added to the history, where it opens a fresh budget.
    """
    decision, history = state.last_decision, state.history
    # Before a revision, exhaustion was reported already.
    is_news = not history.since_last_answer().revisions
    is_exhausted = is_news and decision.why is Why.ATTEMPTS_SPENT
    directory = await run.step("hand_over", partial(_hand_over, workshop), decision, is_exhausted)
    trigger = decision.escalation.trigger if decision.escalation else None
    answer = await run.ask(
        "ask",
        {
            "why": decision.why,
            "condition": trigger.condition if trigger else None,
            "findings": decision.findings,
            "sandbox": directory,
            # Whether the answer `accept` would be taken.
            "acceptable": workshop.policy.acceptable and history.best.works,
        },
    )
    if amendable(answer) == EXPIRED:
        state.decision = replace(
            decision, action=Action.STOP, why=Why.UNANSWERED, status=RunState.FAILED
        )
        return False
    state.history = history.with_answer(answer_of(answer, state))
    allowed = state.history.answers[-1].allowed
    if allowed and state.bounds is not None:
        state.bounds = state.bounds.widened([f"{state.prefix}{path}" for path in allowed])
    return True


async def ask_whether_right(run: Run, workshop: Workshop, state: RepairState) -> bool:
    """Ask about a fix that passes and that too little speaks for; False if nobody answered."""
    decision, history = state.last_decision, state.history
    inputs = (state.origin or history.attempts[0].candidate, decision.candidate)
    state.offer = offer = await run.step("offer", partial(_offer, workshop), *inputs)
    question = {
        "why": decision.why,
        "confidence": confidence_in(history, history.latest),
        "diff": offer.diff,
        "patch": offer.patch,
        "sandbox": offer.sandbox,
        "alternatives": len(history.latest.alternatives),
    }
    answer = amendable(await run.ask("ask_whether_right", question))
    if answer == EXPIRED:
        state.decision = replace(
            decision, action=Action.STOP, why=Why.UNANSWERED, status=RunState.FAILED
        )
        return False
    state.history = history.with_answer(answer_of(answer, state))
    return True


def _offer(workshop: Workshop, base: str, candidate: str) -> Offer:
    """Leave the candidate in the sandbox, and its patch in a file, for a person to look at."""
    sandbox, patch = workshop.sandbox, workshop.patch
    emit(Escalated(condition=None, action=Response.HUMAN_REVIEW, why=Why.UNSURE))
    if patch is None:
        sandbox.restore(candidate)
        diff = sandbox.difference(base, candidate)
    else:
        # A patch is there to be applied by hand: none is written of what may not be applied.
        sandbox.demand_leaving(candidate)
        diff = sandbox.settle(candidate, patch)
    return Offer(
        diff=workshop.redact(diff),
        patch=str(patch) if patch else None,
        sandbox=str(sandbox.workplace().directory),
    )


def answer_of(answer: Any, state: RepairState) -> Answer:
    """Return what a person said, a text or a text with paths that may be changed."""
    said = answer if isinstance(answer, dict) else {"text": answer}
    return Answer(
        text=str(said.get("text") or ""),
        attempts=len(state.history.attempts),
        rejections=len(state.history.rejections),
        allowed=tuple(said.get("allow", ())),
    )


def _hand_over(workshop: Workshop, decision: Decision, is_exhausted: bool) -> str:
    """Put the candidate into the sandbox, and return the directory to look at."""
    if is_exhausted:
        emit(FixExhausted(why=decision.why))
    if decision.escalation is None:
        emit(Escalated(condition=None, action=Response.HUMAN_REVIEW, why=decision.why))
    workshop.sandbox.restore(decision.candidate)
    return str(workshop.sandbox.workplace().directory)


async def take_back(
    run: Run, workshop: Workshop, state: RepairState, *, step: str = "take_back"
) -> bool:
    """Take the candidate as the person left it; True if it has to be checked.

    What was only advised, about a candidate that is known, is decided on instead.
    """
    before = state.candidate
    latest, text = state.history.latest, state.history.answers[-1].text.strip()
    if latest.passed and (alternative := chosen(latest.alternatives, text)):
        inputs = (latest.base_of_alternatives, alternative)
        fix = await run.step("choose", partial(_choose, workshop), *inputs)
        state.fix, state.candidate = fix, fix.candidate
        return True
    fix = await run.step(step, partial(persons_fix, workshop), before)
    if latest.passed and fix.candidate == before:
        # Somebody was asked whether it is right: there is nothing to check, only to decide.
        return False
    faults = {finding.fault for finding in latest.blocking}
    if faults == {Fault.STRATEGY} and text.lower() != DONE_ANSWER:
        # What was not done is still to be done, on the files as the person left them: that those
        # pass would say nothing about it.
        edited = replace(latest, candidate=fix.candidate)
        attempts = (*state.history.attempts[:-1], edited)
        state.history = replace(state.history, attempts=attempts)
        return False
    if faults == {Fault.STRATEGY}:
        # What was done by hand is not done again by what was never run, or never allowed.
        state.redo = None
    # After a regression it is the latest attempt that must not be decided on again; and what
    # was no candidate's fault may be gone, though the candidate is the same.
    is_known = fix.candidate == before and not state.history.regressions(latest)
    if is_known and text and Fault.CANDIDATE in faults:
        return False
    state.fix, state.candidate = fix, fix.candidate
    return True


def _choose(workshop: Workshop, before: str, alternative: Alternative) -> Fix:
    """Make the fix that a person has chosen in place of the likeliest one."""
    sandbox = workshop.sandbox
    texts = {file: (sandbox.read(file, before) or b"").decode() for file in alternative.files}
    rules = EditRules(redactor=workshop.redact)
    edit = guard_edit(sandbox, before, rules, texts=alternative.texts(texts))
    added, removed = sandbox.count_lines(before, edit.candidate)
    part = FixPart(
        fixer="search",
        findings=(),
        description=alternative.says,
        files=readable(edit.files),
        candidate=edit.candidate,
        confidence=Confidence(value=1.0, reason="a person chose it among the edits that pass"),
    )
    return Fix(base=before, candidate=edit.candidate, parts=(part,), added=added, removed=removed)


def persons_fix(workshop: Workshop, before: str) -> Fix:
    """Return what the person changed, if anything."""
    sandbox = workshop.sandbox
    edit = guard_edit(sandbox, before, PERSON)
    added, removed = sandbox.count_lines(before, edit.candidate)
    part = FixPart(
        fixer="human",
        findings=(),
        description="edited in the sandbox, or answered",
        files=readable(edit.files),
    )
    return Fix(base=before, candidate=edit.candidate, parts=(part,), added=added, removed=removed)
