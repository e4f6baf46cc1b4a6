"""Driving plans from outside: where one stands, what it waits for, and what can be said to that."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass

from runtrue.errors import PlanError, RunError, SandboxError
from runtrue.flow import Journal, Question, RunRow, RunState, replay
from runtrue.home import Home
from runtrue.loop import EXPIRED, PERSON, guard_edit
from runtrue.plan.context import PlanContext, PlanRun
from runtrue.plan.fix_history import fix_diffs, tried_fixes
from runtrue.plan.loop import prepare_plan
from runtrue.plan.make_report import report_of
from runtrue.plan.report import PlanReport, StepReport, recorded_report
from runtrue.plan.states import Phase, PlanState
from runtrue.plan.wanted import Wanted, wanted_by


@dataclass(frozen=True, slots=True)
class Standing:
    """A plan as it stands: its report, the open question, and where its candidates are."""

    run: RunRow
    report: PlanReport
    question: Question | None
    place: PlanContext
    plan: PlanRun

    @property
    def candidate(self) -> str | None:
        """The candidate that it has come to; none before the sandbox is made."""
        return self.plan.candidate or None

    @property
    def wanted(self) -> Wanted | None:
        """What it waits for, if it is parked."""
        if self.run.state is not RunState.WAITING or self.question is None:
            return None
        return wanted_by(self.question.question)

    @property
    def is_applying(self) -> bool:
        """True if the user said `apply`, and that has not ended."""
        return (self.report.phase, self.report.state) == (Phase.APPLY, PlanState.PROCESSING)

    def edited(self) -> str | None:
        """The candidate that somebody has made of the sandbox since it was left, if so.

        Not for a plan that is being driven, whose files are being worked on.
        """
        if self.candidate is None:
            return None
        now = guard_edit(self.place.sandbox, self.candidate, PERSON).candidate
        return None if now == self.candidate else now

    def diff(self) -> str:
        """The patch from what the user has to the sandbox as it is now.

        Of a plan that is being driven, to what was last recorded: its files are in other hands.
        """
        if self.report.applied or self.candidate is None:
            return self.report.diff
        sandbox = self.place.sandbox
        is_driven = self.run.is_driven
        return sandbox.diff(self.candidate if is_driven else sandbox.found(self.candidate))


def standing_of(journal: Journal, home: Home, run: RunRow) -> Standing:
    """Return where a plan stands, out of its replayed steps. Nothing is executed."""
    question = journal.open_question(run.id)
    segment = prepare_plan(run, home)
    plan: PlanRun = segment.state
    asyncio.run(replay(segment.work, journal.load(run.id)))
    place = PlanContext.of(run, plan.request, home)
    if plan.sandbox is not None and plan.fix_diffs is None:
        # Only a plan that has ended has them on record.
        with suppress(SandboxError):
            plan.fix_diffs = fix_diffs(place.sandbox, tried_fixes(plan), place.redact)
    report = recorded_report(run)
    report = report or report_of(plan, run.state, question=question, error=run.error)
    return Standing(run, report, question, place, plan)


def step_diffs(standing: Standing) -> dict[str, str]:
    """Return what each step that was done has changed, fixes of it included, as a diff.

    Raises SandboxError where the sandbox is gone.
    """
    sandbox, redact = standing.place.sandbox, standing.place.redact
    begun = list(standing.plan.checkpoints.items())
    # As many as there are steps that have begun, which may be none.
    ends = [*(candidate for _, candidate in begun), standing.candidate or ""][1:]
    found = {
        step: redact(sandbox.difference(before, after))
        for (step, before), after in zip(begun, ends, strict=True)
        if after and before != after
    }
    return {step: diff for step, diff in found.items() if diff}


def _place(standing: Standing) -> str:
    run_id, state = standing.run.id, standing.report.state
    match standing.wanted:
        case Wanted.BEGIN:
            return f"queued; execute it with `runtrue plan execute {run_id}`"
        case Wanted.APPLY:
            return f"complete; apply it with `runtrue plan apply {run_id}`"
    if standing.run.is_over:
        return f"over ({state}); `runtrue plan explain {run_id}` shows why"
    if standing.run.is_driven:
        return f"running in {standing.run.owner}"
    return f"interrupted; continue with `runtrue plan execute {run_id}`"


def must_be_open(standing: Standing) -> None:
    """Raise PlanError for a plan that is over."""
    if standing.run.is_over:
        raise PlanError(f"plan {standing.run.id} is {_place(standing)}")


def must_not_be_applied(standing: Standing) -> None:
    """Raise PlanError for a plan of which a part may be in the user's files already."""
    if standing.is_applying:
        raise PlanError(
            f"plan {standing.run.id} was being applied when it was interrupted, and may be in your "
            f"files; finish that with `runtrue plan apply {standing.run.id}`"
        )


def must_be_complete(standing: Standing) -> None:
    """Raise PlanError for a plan that cannot be applied, with what is missing."""
    if standing.wanted is Wanted.APPLY or standing.is_applying:
        return
    report, run_id = standing.report, standing.run.id
    if standing.wanted is not None and standing.wanted.is_prompt:
        what = f"waiting for a person; see `runtrue plan status {run_id}`"
    else:
        what = _place(standing)
    left = [f"step {step.id}" for step in report.plan.steps if _is_left(step)]
    missing = f" (still to do: {', '.join(left)})" if left and not standing.run.is_over else ""
    raise PlanError(f"plan {run_id} is not complete, so nothing was applied: it is {what}{missing}")


def _is_left(step: StepReport) -> bool:
    return step.actor is not None and not step.state.is_over


def is_expired(run: RunRow, question: Question | None) -> bool:
    """True if a plan waits for a person who has not answered in time."""
    if run.state is not RunState.WAITING or question is None or question.answered:
        return False
    wanted = wanted_by(question.question)
    if wanted is None or not wanted.is_prompt:
        return False
    # As it is recorded: a list of runs may hold requests of another version.
    within = float(run.input["profile"]["answer_within"])
    return time.time() >= question.asked_at + within


def expire(journal: Journal, run: RunRow) -> bool:
    """Answer for a person who has not answered in time; the plan is then to be driven to its end.

    Whether there was one. Of several processes that look, one does it.
    """
    question = journal.open_question(run.id)
    if question is None or not is_expired(run, question):
        return False
    try:
        journal.answer(run.id, EXPIRED, seq=question.seq)
    except RunError:
        return False
    return True
