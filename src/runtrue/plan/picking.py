"""What a plan does next, and within which bounds: a step, or the validation of the whole."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import replace

from runtrue.flow import Node, RunState
from runtrue.loop import (
    Action,
    AutomationProfile,
    Bounds,
    Budget,
    Decision,
    History,
    Mode,
    Policy,
    Why,
    what_is_spent,
)
from runtrue.plan.place import PlaceNode
from runtrue.plan.progress import DELETED, Progress, Shared, StepState, progress_of
from runtrue.plan.states import Happening, PlanState
from runtrue.plan.strategy import Strategy


class OpenNode(PlaceNode):
    """Makes the sandbox, from what the user has when the plan begins to be executed."""

    def exec(self, inputs: None) -> tuple[str, str, str]:
        """The candidate to begin with, what paths of the project begin with, and where it is."""
        sandbox = self.place.sandbox
        candidate = sandbox.open()
        inside = sandbox.rooted(".")
        return candidate, "" if inside == "." else f"{inside}/", str(sandbox.directory)

    def post(self, shared: Shared, inputs: None, result: tuple[str, str, str]) -> None:
        """Begin."""
        shared["candidate"], shared["prefix"], shared["sandbox"] = result
        shared["base"] = result[0]
        shared["progress"] = progress_of(shared).moved(Happening.STARTED)


class NextNode(Node):
    """Picks the next step; after the last one, the whole is validated."""

    def __init__(self, name: str, policy: Policy) -> None:
        super().__init__(name)
        self.policy = policy

    def post(self, shared: Shared, inputs: None, result: None) -> str:
        """Set out what is to be done, and within which bounds."""
        progress, candidate = progress_of(shared), shared["candidate"]
        if progress.position.state is PlanState.COMPLETE:
            # Somebody has edited the sandbox since, and wants that validated.
            progress = replace(progress.moved(Happening.CHANGED), proved={}, refused=None)
        pending = progress.pending
        step, bounds = pending if pending else (None, whole(progress.strategy))
        progress = replace(progress, step=step.id if step else None)
        shared["progress"] = progress
        is_complete = step is None and is_proved(shared) and _all_ran(shared)
        history = History(earlier=progress.spent, is_later=progress.is_later)
        why = what_is_spent(Budget.left(self.policy, history))
        # What is complete costs nothing more, but a plan that took too long is never complete.
        if why is Why.TIME_SPENT or (why is not None and not is_complete):
            shared["progress"] = replace(progress, proved={})
            shared["decision"] = Decision(
                action=Action.STOP, why=why, candidate=candidate, status=RunState.FAILED
            )
            return "spent"
        if is_complete:
            return "complete"
        shared["progress"] = progress.with_state(progress.step, StepState.PROCESSING)
        bounds = approved_deletes(bounds, progress, shared["request"].profile)
        shared["bounds"] = rooted(bounds, shared["prefix"])
        # Only what watches the change of a step is run after it; at the end, everything is.
        shared["since"] = candidate if step else None
        shared["redo"] = step.command if step else _last_command(progress)
        shared["history"] = history
        return "step" if step else "whole"


def _last_command(progress: Progress) -> str | None:
    """The command that was run last: what fails only at the end is for it to mend."""
    done = {deed.step for deed in progress.deeds if deed.refused is None}
    leaves = progress.strategy.leaves() if progress.strategy else ()
    commands = [step.command for step, _ in leaves if step.command and step.id in done]
    return commands[-1] if commands else None


def approved_deletes(bounds: Bounds, progress: Progress, profile: AutomationProfile) -> Bounds:
    """Bounds in which files may be deleted as the profile, or else a person, allows."""
    approved = [one for one in progress.approved if one.startswith(DELETED)]
    return replace(
        bounds,
        deletes=bounds.deletes and not profile.approve_deletes,
        deletable=tuple(one.removeprefix(DELETED) for one in approved),
    )


def is_proved(shared: Shared) -> bool:
    """Whether every required validation has passed on exactly this content."""
    progress, candidate = progress_of(shared), shared["candidate"]
    return all(
        progress.proved.get(validation.name) == candidate
        for validation in shared["request"].validations
        if validation.mode is Mode.REQUIRED
    )


def _all_ran(shared: Shared) -> bool:
    """Whether every validation has said something about the candidate as it is now."""
    candidate, request = shared["candidate"], shared["request"]
    ran = {
        verdict.check
        for chapter in progress_of(shared).chapters
        for attempt in chapter.history.attempts
        if attempt.candidate == candidate
        for verdict in attempt.verdicts
    }
    return {validation.name for validation in request.validations} <= ran


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
