"""The fix-then-revalidate loop: what happens when a required validation fails.

1. Diagnosis: the analyst, and the fixer itself, look at the message and the data of each finding.
2. Self-fix: the ladder of fixers fixes it within the bounds; what is outside is not kept.
3. Re-validation: the validation that failed, then all others that are required.
4. Retries are counted for each validation over the whole plan.
5. Revision: where nothing more can be done within the strategy, that part of it is revised, once.
6. Escalation: the plan waits for a person, durably; what they say opens a fresh budget.
7. Failure: nobody answers, or time or money is spent. The sandbox is kept.
"""

from __future__ import annotations

from enum import StrEnum
from functools import partial

from runtrue.flow import Event, Run, emit
from runtrue.loop import (
    Action,
    Decision,
    FixExhausted,
    Why,
    Workshop,
    repair,
    take_back,
)
from runtrue.plan.events import FixSucceeded
from runtrue.plan.progress import StepState
from runtrue.plan.revise import Revised, adopt_revision, keep_edits, revise
from runtrue.plan.seams import Strategist
from runtrue.plan.step_run import StepRun
from runtrue.plan.strategists import BoundsStrategist

#: How many findings an event shows.
_SHOWN = 5


class Validated(StrEnum):
    """How the validation of a step, or of the whole, ended."""

    PASSED = "passed"
    #: The strategy was revised: the new steps are to be done.
    REVISED = "revised"
    STOPPED = "stopped"


class FixThenRevalidateOrchestrator:
    """Validates, fixes and revises, with one strategist; the workshop's checks are validations.

    Without a strategist, a revision can only allow the files that turned out to be needed.
    """

    def __init__(
        self,
        workshop: Workshop,
        strategist: Strategist | None = None,
        *,
        instruction: str,
        approves_revisions: bool = False,
    ) -> None:
        self._workshop = workshop
        self._strategist = strategist or BoundsStrategist()
        self._instruction = instruction
        self._approves = approves_revisions

    async def revalidate(self, run: Run, plan: StepRun, *, is_checked: bool = False) -> Validated:
        """Repair the candidate within the bounds, revise the strategy, or stop.

        After a revision, begin with the next step of `plan`: it is one of the new ones.
        `is_checked` says that the history ends with verdicts on the candidate already.
        """
        while True:
            decision = await repair(run, self._workshop, plan, is_checked=is_checked)
            await report_decision(run, plan, decision)
            if decision.action is Action.ACCEPT:
                _finish_step(plan)
                return Validated.PASSED
            if decision.action is Action.STOP:
                break
            revised = await revise(
                *(run, self._workshop, self._strategist, plan),
                instruction=self._instruction,
                approves=self._approves,
            )
            match revised:
                case Revised.BY_ITSELF:
                    adopt_revision(plan)
                    return Validated.REVISED
                case Revised.APPROVED:
                    # Those who approve may have edited the files as well.
                    is_edited = await keep_edits(run, self._workshop, plan)
                    adopt_revision(plan, is_edited=is_edited)
                    return Validated.REVISED
                case Revised.FAILED:
                    is_checked = True
                case Revised.REFUSED:
                    step = "take_back_unrevised"
                    is_checked = not await take_back(run, self._workshop, plan, step=step)
                case Revised.EXPIRED:
                    break
        plan.advance(spent=plan.history.spent)
        step_id = plan.progress.step
        plan.close_chapter()
        plan.progress = plan.progress.with_state(step_id, StepState.FAILED)
        return Validated.STOPPED


def _finish_step(plan: StepRun) -> None:
    """Note that the step is done, and on which candidate each validation has passed."""
    history, step_id = plan.history, plan.progress.step
    proved = {v.check: history.latest.candidate for v in history.latest.verdicts if v.passed}
    plan.close_chapter()
    plan.progress = plan.progress.with_state(step_id, StepState.DONE)
    plan.advance(proved={**plan.progress.proved, **proved}, findings=(), spent=history.spent)


async def report_decision(run: Run, plan: StepRun, decision: Decision) -> None:
    """Emit that the fixes succeeded, or that no more are tried."""
    history = plan.history
    event: type[FixSucceeded | FixExhausted]
    if decision.action is Action.ACCEPT and any(attempt.fix for attempt in history.attempts):
        event = FixSucceeded
    elif decision.why in (Why.ATTEMPTS_SPENT, Why.TIME_SPENT, Why.MONEY_SPENT):
        event = FixExhausted
    else:
        return
    happened = event(
        step=plan.progress.step,
        action=decision.action,
        why=decision.why,
        fixes=history.spent.fixes,
        findings=decision.findings[:_SHOWN],
        needed=history.needed if history.attempts else (),
    )
    await run.step("orchestrate", partial(_emit, happened))


def _emit(event: Event) -> None:
    emit(event)
