"""Deliver a plan: offer its result, and apply it if every validation passed on it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from runtrue.errors import SandboxError
from runtrue.flow import Run, emit
from runtrue.loop import (
    EXPIRED,
    PERSON,
    Attempt,
    Bounds,
    History,
    Outcome,
    Why,
    Workshop,
    amendable,
    bounds_violation,
    check_candidate,
    guard_edit,
    is_yes,
    readable,
)
from runtrue.plan.answers import answer_text
from runtrue.plan.apply_target import ApplyTarget
from runtrue.plan.baseline import MergeComparison
from runtrue.plan.commit_plan import commit, find_branch, merge_onto
from runtrue.plan.context import FixDiffs, PlanContext, PlanRun
from runtrue.plan.events import ApplyRefused, ApplyRenewed, PlanApplied
from runtrue.plan.fix_history import fix_diffs, tried_fixes
from runtrue.plan.next_step import approved_deletes, is_proved, rooted, whole
from runtrue.plan.progress import EDITED, seen_from
from runtrue.plan.states import Happening
from runtrue.plan.validation import baseline_verdicts
from runtrue.plan.workshop import workshop_of
from runtrue.sandbox import RefusedFiles, SelfRunning
from runtrue.typed_data import convert


@dataclass(frozen=True, slots=True)
class SettleInputs:
    """The resulting candidate, and the fixes that were tried on the way."""

    candidate: str
    fixes: tuple[tuple[str, str], ...]
    base: str
    bounds: Bounds


@dataclass(frozen=True, slots=True)
class Settled:
    """The resulting patch, where it is to be applied, and what each fix changed."""

    diff: str
    top: str
    fixes: FixDiffs
    #: The file with the patch, unless it is empty or may not be applied by hand either.
    patch: str | None = None
    #: Files, and how much, that only somebody who edited the sandbox can have changed.
    outside: tuple[str, ...] = ()
    more: str | None = None
    self_running: tuple[SelfRunning, ...] = ()


async def deliver(run: Run, context: PlanContext, plan: PlanRun) -> bool:
    """Write the patch, offer it and apply it; False if it is to be validated once more first."""
    outcome = await settle(run, context, plan)
    while outcome is Settlement.EDITED:
        match await approve_edits(run, plan):
            case Approval.YES:
                outcome = await settle(run, context, plan)
            case Approval.EXPIRED:
                return True
            case Approval.NO:
                plan.candidate = await run.step("look", partial(_edited, context), plan.candidate)
                return False
    if outcome is Settlement.FAILED:
        return True
    # The user's `apply` still holds where the plan was validated once more for it.
    auto = context.request.profile.auto_apply and not plan.self_running
    is_offered = not plan.applying and not auto
    plan.applying = False
    while True:
        if is_offered and not await is_to_be_applied(run, plan):
            return False
        target = plan.target
        if target is not None and not target.commit:
            if await leave_on_branch(run, context, plan, target):
                return True
            is_offered = True
            continue
        checked_out = await find_branch(run, context) if target else None
        applied = await run.step("apply", partial(_apply, context), plan.base, plan.candidate)
        plan.advance(Happening.STARTED)
        if applied.merged is not None:
            is_offered = not await validate_merged(
                run, context, plan, applied.merged, applied.files
            )
            continue
        if applied.renewed is not None:  # as earlier versions recorded it
            plan.origin, plan.candidate = applied.renewed
            plan.advance(Happening.REFUSED)
            plan.applying = True
            return False
        if applied.refused is None:
            if checked_out is not None:
                await commit(run, context, plan, checked_out, is_checked_out=True)
            plan.advance(Happening.APPLIED)
            return True
        plan.advance(Happening.REFUSED, refused=applied.refused)
        is_offered = True


async def leave_on_branch(
    run: Run, context: PlanContext, plan: PlanRun, target: ApplyTarget
) -> bool:
    """Commit the result on a branch; False if that was refused, and the plan stays complete.

    The user's files stay as they are. What was merged is validated first, as for `apply`.
    """
    merged = await merge_onto(run, context, plan, target)
    plan.advance(Happening.STARTED)
    refused = merged.refused
    if refused is None and merged.branch is not None:
        states, name = (merged.base, merged.candidate), merged.branch.name
        if merged.candidate != plan.candidate:
            whose = f"what is in {name}"
            if not await validate_merged(run, context, plan, states, merged.files, whose):
                return False
            plan.advance(Happening.STARTED)
        plan.origin, plan.candidate = states
        done = await commit(run, context, plan, merged.branch, is_checked_out=False)
        refused = done.refused
    plan.advance(Happening.APPLIED if refused is None else Happening.REFUSED, refused=refused)
    return refused is None


async def validate_merged(
    run: Run,
    context: PlanContext,
    plan: PlanRun,
    merged: tuple[str, str],
    files: tuple[str, ...],
    whose: str = "what you changed in the meantime",
) -> bool:
    """Run every validation on the merged candidate; True if it is to be applied.

    What fails in the user's `files` without the plan as well does not count. Otherwise the plan
    stays complete as it was, so that it can be applied to other files.
    """
    before, proven = (plan.base, plan.candidate), _proven(plan)
    plan.origin, plan.candidate = merged
    plan.since = None
    latest = await _check(run, workshop_of(context, plan), plan, plan.new_history())
    failing: set[str] = set()
    if not latest.passed and files:  # earlier versions recorded no files, and compared with nothing
        work = partial(baseline_verdicts, context.request, context.sandbox, context.redact)
        found = await run.step("alone", partial(work, alone=True), merged[0])
        failing = {verdict.check for verdict in found.verdicts if not verdict.passed}
        if failing:
            users = frozenset(seen_from(plan.prefix, files))
            compare = MergeComparison(found.verdicts, users, proven)
            history = plan.new_history(baseline=found.verdicts)
            latest = await _check(run, workshop_of(context, plan, compare), plan, history)
    is_passed = latest.passed
    if not is_passed:
        plan.origin, plan.candidate = before
    plan.diff = await run.step("merged", partial(_leave, context), plan.base, plan.candidate)
    failed = [verdict.check for verdict in latest.verdicts if verdict.blocks]
    refused = f"not applied: {', '.join(failed)} fails together with {whose}"
    if failing.issuperset(failed):
        refused += ", and without the plan as well"
    plan.advance(Happening.REFUSED, refused=None if is_passed else refused)
    return is_passed


async def _check(run: Run, workshop: Workshop, plan: PlanRun, history: History) -> Attempt:
    """Run every validation on the candidate, as a chapter of its own."""
    plan.open_chapter(history)
    await check_candidate(run, workshop, plan)
    latest = plan.history.latest
    plan.close_chapter()
    return latest


def _proven(plan: PlanRun) -> frozenset[str]:
    """Return the tests that passed on the candidate as it is now."""
    attempts = (a for chapter in plan.progress.chapters for a in chapter.history.attempts)
    verdicts = (v for a in attempts if a.candidate == plan.candidate for v in a.verdicts)
    cases = (item for verdict in verdicts for item in verdict.cases.items())
    return frozenset(case for case, outcome in cases if outcome is Outcome.PASSED)


def _leave(context: PlanContext, base: str, candidate: str) -> str:
    """Leave a candidate in the sandbox, and its patch from `base` in the file."""
    sandbox = context.sandbox
    sandbox.rebase(base)
    sandbox.restore(candidate)
    return context.redact(sandbox.settle(candidate, context.patch))


class Settlement(StrEnum):
    """What can be done with the resulting candidate."""

    COMPLETE = "complete"
    #: Somebody has edited it outside of the bounds.
    EDITED = "edited"
    FAILED = "failed"


async def settle(run: Run, context: PlanContext, plan: PlanRun) -> Settlement:
    """Leave the resulting candidate in the sandbox and its patch in a file."""
    progress = plan.progress
    bounds = whole(progress.strategy).widened(progress.allowed)
    bounds = approved_deletes(bounds, progress, context.request.profile)
    bounds = rooted(bounds, plan.prefix)
    inputs = SettleInputs(plan.candidate, tried_fixes(plan), plan.base, bounds)
    settled = await run.step("settle", partial(_settle, context), inputs)
    plan.diff, plan.patch_root, plan.patch = settled.diff, settled.top, settled.patch
    plan.fix_diffs, plan.self_running = settled.fixes, settled.self_running
    if progress.pending is not None or not is_proved(plan):
        plan.advance(Happening.FAILED)
        return Settlement.FAILED
    is_approved = f"{EDITED}{plan.candidate}" in progress.approved
    if (settled.outside or settled.more) and not is_approved:
        plan.edited = {"outside": settled.outside, "more": settled.more}
        return Settlement.EDITED
    plan.advance(Happening.VALIDATED)
    return Settlement.COMPLETE


def _settle(context: PlanContext, inputs: SettleInputs) -> Settled:
    sandbox = context.sandbox
    diff = sandbox.settle(inputs.candidate, context.patch)
    patch = str(context.patch) if diff else None
    try:
        sandbox.demand_leaving(inputs.candidate)
    except RefusedFiles:  # which applying it reports
        context.patch.unlink(missing_ok=True)
        patch = None
    base, candidate = inputs.base, inputs.candidate
    violation = bounds_violation(inputs.bounds, sandbox, base, candidate, base)
    return Settled(
        context.redact(diff),
        str(sandbox.top),
        fix_diffs(sandbox, inputs.fixes, context.redact),
        patch=patch,
        outside=readable(violation.outside),
        more=violation.excess,
        self_running=sandbox.self_running(candidate, inputs.bounds.paths or ()),
    )


class Approval(StrEnum):
    """What a person said to edits outside of the bounds."""

    YES = "yes"
    NO = "no"
    EXPIRED = "expired"


async def approve_edits(run: Run, plan: PlanRun) -> Approval:
    """Ask whether what somebody edited in the sandbox may leave it, outside of the bounds.

    A yes is for exactly this content; after anything else, it is looked at again.
    """
    answer = amendable(await run.ask("approve_edits", {"approve": "edits", **plan.edited}))
    if answer == EXPIRED:
        plan.why = Why.UNANSWERED
        plan.advance(Happening.FAILED)
        return Approval.EXPIRED
    text = answer_text(answer)
    if is_yes(text):
        plan.advance(approved=(*plan.progress.approved, f"{EDITED}{plan.candidate}"))
        return Approval.YES
    plan.advance(said=(*plan.progress.said, text))
    return Approval.NO


def _edited(context: PlanContext, candidate: str) -> str:
    """Return the candidate as a person has left it."""
    return guard_edit(context.sandbox, candidate, PERSON).candidate


async def is_to_be_applied(run: Run, plan: PlanRun) -> bool:
    """Wait for `apply`; False if the plan is to be validated once more as it is now."""
    question: dict[str, Any] = {
        "offer": True,
        "diff": plan.diff,
        "refused": plan.progress.refused,
    }
    if plan.self_running:
        question["self_running"] = plan.self_running
    answer = amendable(await run.ask("offer", question))
    if isinstance(answer, dict) and "candidate" in answer:
        plan.candidate = answer["candidate"]
        return False
    if isinstance(answer, dict) and "apply" in answer:
        plan.target = convert(answer["apply"], ApplyTarget)
        return True
    plan.target = None
    return answer_text(answer) == "apply"


@dataclass(frozen=True, slots=True)
class Applied:
    """When it was applied, or why not."""

    at: float
    refused: str | None = None
    #: The new base, and the candidate on it, where the user has changed other files meanwhile.
    renewed: tuple[str, str] | None = None
    #: The same, to be validated before it is applied.
    merged: tuple[str, str] | None = None
    #: What the user has changed since the plan began, where it was merged.
    files: tuple[str, ...] = ()


def _apply(context: PlanContext, base: str, candidate: str) -> Applied:
    """Bring the candidate into the user's tree, if it is what was validated.

    Not declared a side effect: applying again does only what is left to do, so that a plan that was
    killed here can go on by itself.
    """
    sandbox = context.sandbox
    applied = _apply_or_refuse(context, base, candidate)
    if isinstance(applied, str):
        emit(ApplyRefused(why=applied))
        return Applied(time.time(), applied)
    if applied is not None:
        files = readable(sandbox.changed(base, applied[0]))
        emit(ApplyRenewed(files=files))
        return Applied(time.time(), merged=applied, files=files)
    emit(PlanApplied(files=readable(sandbox.changed(base, candidate))))
    return Applied(time.time())


def _apply_or_refuse(
    context: PlanContext, base: str, candidate: str
) -> tuple[str, str] | str | None:
    """Apply it, or return why not, or what is to be validated before that."""
    sandbox = context.sandbox
    try:
        if guard_edit(sandbox, candidate, PERSON).candidate != candidate:
            return (
                f"the files in {sandbox.directory} were changed after they were validated; "
                f"validate them with `runtrue plan execute {context.run_id}`"
            )
        # Together with what else the user has changed, it was never validated.
        if renewed := sandbox.renew(base, candidate):
            return renewed
        context.note_applied(sandbox.apply(candidate))
    except SandboxError as error:
        again = f"`runtrue plan apply {context.run_id}`"
        message = str(error).replace("`runtrue runs resume`", again)
        return message.replace("the patch by hand", f"the patch {context.patch} by hand")
    return None
