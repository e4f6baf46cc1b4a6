"""The next step of a plan and its bounds, or the validation of the whole."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum

from runtrue.flow import RunState
from runtrue.loop import (
    Action,
    AutomationProfile,
    Bounds,
    Budget,
    Decision,
    Mode,
    Policy,
    Why,
    what_is_spent,
)
from runtrue.plan.context import PlanRun
from runtrue.plan.progress import DELETED, Progress, StepState
from runtrue.plan.states import Happening, PlanState
from runtrue.plan.step_run import StepRun
from runtrue.plan.strategy import Strategy


class Next(StrEnum):
    """What a plan does next."""

    STEP = "step"
    #: A step that is done already is validated: a person has changed what it is held to.
    VALIDATE = "validate"
    #: A person said no to a step, and is asked what to do instead.
    INSTEAD = "instead"
    #: Every validation is run on the whole.
    WHOLE = "whole"
    COMPLETE = "complete"
    #: Time or money is used up.
    SPENT = "spent"


def pick_next(plan: PlanRun, policy: Policy) -> Next:
    """Pick the next step, or after the last one the whole, and set out its bounds."""
    if plan.progress.position.state is PlanState.COMPLETE:
        # Somebody has edited the sandbox since, and wants that validated.
        plan.advance(Happening.CHANGED, proved={}, refused=None)
    pending = plan.progress.pending
    step, bounds = pending if pending else (None, whole(plan.progress.strategy))
    plan.advance(step=step.id if step else None)
    progress = plan.progress
    is_complete = step is None and is_proved(plan) and _all_ran(plan)
    history = plan.new_history()
    why = what_is_spent(Budget.left(policy, history))
    # What is complete costs nothing more, but a plan that took too long is never complete.
    if why is Why.TIME_SPENT or (why is not None and not is_complete):
        plan.advance(proved={})
        plan.decision = Decision(
            action=Action.STOP, why=why, candidate=plan.candidate, status=RunState.FAILED
        )
        return Next.SPENT
    if is_complete:
        return Next.COMPLETE
    state = progress.states.get(progress.step or "")
    if state is StepState.UNDONE:
        return Next.INSTEAD
    is_kept = state is StepState.PROCESSING and is_result_kept(plan)
    plan.progress = progress.with_state(progress.step, StepState.PROCESSING)
    bounds = approved_deletes(bounds, progress, plan.request.profile)
    plan.bounds = rooted(bounds, plan.prefix)
    # Only what watches the change of a step is run after it; at the end, everything is.
    plan.since = plan.candidate if step else None
    if step and is_kept:
        plan.since = plan.checkpoints[step.id]
    fixing = step.command if step and step.fixes else None
    plan.redo = fixing if step else _last_command(progress)
    plan.open_chapter(history)
    if step is None:
        return Next.WHOLE
    return Next.VALIDATE if is_kept else Next.STEP


def is_result_kept(plan: StepRun) -> bool:
    """True if the current step was done, and what it did is in the candidate."""
    step_id = plan.progress.step
    results = [r for r in plan.progress.results if r.step == step_id and not r.undone]
    return bool(results) and results[-1].refused is None and step_id in plan.checkpoints


def _last_command(progress: Progress) -> str | None:
    """The last command that can fix what it did: what fails only at the end is for it."""
    kept = (one for one in progress.results if one.refused is None and not one.undone)
    done = {result.step for result in kept}
    leaves = progress.strategy.leaves() if progress.strategy else ()
    commands = [step.command for step, _ in leaves if step.fixes and step.id in done]
    return commands[-1] if commands else None


def approved_deletes(bounds: Bounds, progress: Progress, profile: AutomationProfile) -> Bounds:
    """Bounds in which files may be deleted as the profile, or else a person, allows."""
    approved = [one for one in progress.approved if one.startswith(DELETED)]
    return replace(
        bounds,
        deletes=bounds.deletes and not profile.approve_deletes,
        deletable=tuple(one.removeprefix(DELETED) for one in approved),
    )


def is_proved(plan: PlanRun) -> bool:
    """True if every required validation has passed on exactly this content."""
    return all(
        plan.progress.proved.get(validation.name) == plan.candidate
        for validation in plan.request.validations
        if validation.mode is Mode.REQUIRED
    )


def _all_ran(plan: PlanRun) -> bool:
    """True if every validation has said something about the candidate as it is now."""
    ran = {
        verdict.check
        for chapter in plan.progress.chapters
        for attempt in chapter.history.attempts
        if attempt.candidate == plan.candidate
        for verdict in attempt.verdicts
    }
    return {validation.name for validation in plan.request.validations} <= ran


def rooted(bounds: Bounds, prefix: str) -> Bounds:
    """Bounds as seen from the root, as changed files are, and not from the project."""
    if not prefix:
        return bounds
    paths = bounds.paths
    return replace(
        bounds,
        paths=None if paths is None else tuple(_rooted(path, prefix) for path in paths),
        deletable=tuple(_rooted(file, prefix) for file in bounds.deletable),
    )


def _rooted(path: str, prefix: str) -> str:
    # A file that was needed may lie beside the project: `../model.py`.
    return posixpath.normpath(f"{prefix}{path}")


def whole(strategy: Strategy | None) -> Bounds:
    """The bounds of all steps together."""
    every = [bounds for _, bounds in strategy.leaves()] if strategy else []
    if not every:
        return Bounds()
    paths = [path for bounds in every for path in bounds.paths or ()]
    return Bounds(
        paths=None if any(b.paths is None for b in every) else tuple(dict.fromkeys(paths)),
        # Each of these is about all that was changed, so that the widest of them holds at the end.
        max_files=_widest(bounds.max_files for bounds in every),
        max_lines=_widest(bounds.max_lines for bounds in every),
        deletes=all(bounds.deletes for bounds in every),
    )


def _widest(limits: Iterable[int | None]) -> int | None:
    found = list(limits)
    return None if None in found else max(limit for limit in found if limit is not None)
