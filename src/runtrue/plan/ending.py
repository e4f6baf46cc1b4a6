"""How a plan ends: its result is offered, applied if every validation passed on it, or kept."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from runtrue.errors import SandboxError
from runtrue.flow import Ask, emit
from runtrue.loop import (
    EXPIRED,
    PERSON,
    Bounds,
    Why,
    bounds_violation,
    guard_edit,
    readable,
)
from runtrue.plan.answers import answer_text, is_yes
from runtrue.plan.events import ApplyRefused, ApplyRenewed, PlanApplied
from runtrue.plan.picking import approved_deletes, is_proved, rooted, whole
from runtrue.plan.place import PlaceNode
from runtrue.plan.progress import EDITED, Shared, progress_of
from runtrue.plan.report import FixDiffs, fix_diffs, tried_fixes
from runtrue.plan.states import Happening, PlanState
from runtrue.sandbox import RefusedFiles


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


class SettleNode(PlaceNode):
    """Leaves the resulting candidate in the sandbox and its patch in a file."""

    def prep(self, shared: Shared) -> SettleInputs:
        """The validated candidate, or else the best one, and what the strategy allows in all."""
        progress, candidate = progress_of(shared), str(shared["candidate"])
        bounds = whole(progress.strategy).widened(progress.allowed)
        bounds = approved_deletes(bounds, progress, shared["request"].profile)
        bounds = rooted(bounds, shared["prefix"])
        return SettleInputs(candidate, tried_fixes(shared), shared["base"], bounds)

    def exec(self, inputs: SettleInputs) -> Settled:
        """Write the patch from the user's tree to the candidate."""
        sandbox = self.place.sandbox
        diff = sandbox.settle(inputs.candidate, self.place.patch)
        patch = str(self.place.patch) if diff else None
        try:
            sandbox.demand_leaving(inputs.candidate)
        except RefusedFiles:  # which applying it tells
            self.place.patch.unlink(missing_ok=True)
            patch = None
        base, candidate = inputs.base, inputs.candidate
        violation = bounds_violation(inputs.bounds, sandbox, base, candidate, base)
        return Settled(
            self.place.hide(diff),
            str(sandbox.top),
            fix_diffs(sandbox, inputs.fixes, self.place.hide),
            patch=patch,
            outside=readable(violation.outside),
            more=violation.excess,
        )

    def post(self, shared: Shared, inputs: SettleInputs, result: Settled) -> str:
        """Offer it, if it is complete and within the bounds, or else approved."""
        progress = progress_of(shared)
        shared["diff"], shared["patch_root"] = result.diff, result.top
        shared["patch"] = result.patch
        shared["fix_diffs"] = result.fixes
        if progress.pending is not None or not is_proved(shared):
            shared["progress"] = progress.moved(Happening.FAILED)
            return "failed"
        is_approved = f"{EDITED}{inputs.candidate}" in progress.approved
        if (result.outside or result.more) and not is_approved:
            shared["edited"] = {"outside": result.outside, "more": result.more}
            return "edited"
        shared["progress"] = progress.moved(Happening.VALIDATED)
        # It was told to apply already, and has only been validated once more for that.
        return "apply" if shared.pop("applying", False) else "complete"


class ApproveEditsNode(Ask):
    """Asks whether what somebody edited in the sandbox may leave it, outside of the bounds."""

    def prep(self, shared: Shared) -> dict[str, Any]:
        """What it is."""
        return {"approve": "edits", **shared["edited"]}

    def post(self, shared: Shared, inputs: dict[str, Any], result: Any) -> str:
        """A yes is for exactly this content; after anything else, it is looked at again."""
        progress, candidate = progress_of(shared), shared["candidate"]
        if result == EXPIRED:
            shared["why"] = Why.UNANSWERED
            shared["progress"] = progress.moved(Happening.FAILED)
            return "expired"
        text = answer_text(result)
        if is_yes(text):
            approved = (*progress.approved, f"{EDITED}{candidate}")
            shared["progress"] = replace(progress, approved=approved)
            return "approved"
        shared["progress"] = replace(progress, said=(*progress.said, text))
        return "again"


class LookNode(PlaceNode):
    """Takes the sandbox as a person has left it."""

    def prep(self, shared: Shared) -> str:
        """How it was left to them."""
        return str(shared["candidate"])

    def exec(self, inputs: str) -> str:
        """The candidate that it is now."""
        return guard_edit(self.place.sandbox, inputs, PERSON).candidate

    def post(self, shared: Shared, inputs: str, result: str) -> None:
        """Have it validated."""
        shared["candidate"] = result


class OfferNode(Ask):
    """Waits to be told to apply: the plan is complete."""

    def prep(self, shared: Shared) -> dict[str, Any]:
        """What would be applied, and why it was not, if that was tried."""
        return {"offer": True, "diff": shared["diff"], "refused": progress_of(shared).refused}

    def post(self, shared: Shared, inputs: dict[str, Any], result: Any) -> str:
        """Apply it, or validate it once more as it is now."""
        if isinstance(result, dict) and "candidate" in result:
            shared["candidate"] = result["candidate"]
            return "validate"
        return "apply" if answer_text(result) == "apply" else "validate"


@dataclass(frozen=True, slots=True)
class Applied:
    """When it was applied, or why not."""

    at: float
    refused: str | None = None
    #: The new base, and the candidate on it, where the user has changed other files meanwhile.
    renewed: tuple[str, str] | None = None


class ApplyNode(PlaceNode):
    """Brings the candidate into the user's tree, if it is what was validated.

    Not declared a side effect: applying again does only what is left to do, so that a plan that was
    killed here can go on by itself.
    """

    def prep(self, shared: Shared) -> tuple[str, str]:
        """What it began with, and the validated candidate."""
        return str(shared["base"]), str(shared["candidate"])

    def exec(self, inputs: tuple[str, str]) -> Applied:
        """Refuse what was edited since, and what the user has changed meanwhile."""
        sandbox, (base, candidate) = self.place.sandbox, inputs
        applied = self._apply(base, candidate)
        if isinstance(applied, str):
            emit(ApplyRefused(why=applied))
            return Applied(time.time(), applied)
        if applied is not None:
            files = readable(sandbox.changed(base, applied[0]))
            emit(ApplyRenewed(files=files))
            return Applied(time.time(), renewed=applied)
        emit(PlanApplied(files=readable(sandbox.changed(base, candidate))))
        return Applied(time.time())

    def _apply(self, base: str, candidate: str) -> tuple[str, str] | str | None:
        """Apply it, or say why not, or what is to be validated before that."""
        sandbox = self.place.sandbox
        try:
            if sandbox.found(candidate) != candidate:
                return (
                    f"the files in {sandbox.directory} were changed after they were validated; "
                    f"validate them with `runtrue plan execute {self.place.run_id}`"
                )
            # Together with what else the user has changed, it was never validated.
            if renewed := sandbox.renew(base, candidate):
                return renewed
            sandbox.apply(candidate)
        except SandboxError as error:
            again = f"`runtrue plan apply {self.place.run_id}`"
            return str(error).replace("`runtrue runs resume`", again)
        return None

    def post(self, shared: Shared, inputs: tuple[str, str], result: Applied) -> str:
        """Note that it was done, or why not."""
        progress = progress_of(shared).moved(Happening.STARTED)
        if result.renewed is not None:
            shared["base"], shared["candidate"] = result.renewed
            shared["progress"], shared["applying"] = progress.moved(Happening.REFUSED), True
            return "renewed"
        if result.refused is None:
            shared["progress"] = progress.moved(Happening.APPLIED)
            return "applied"
        progress = replace(progress, refused=result.refused)
        shared["progress"] = progress.moved(Happening.REFUSED)
        return "refused"


class EndNode(PlaceNode):
    """Clears away the sandbox of a plan that was applied; any other keeps its own."""

    terminal = True

    def prep(self, shared: Shared) -> bool:
        """Whether the sandbox is still of use."""
        return progress_of(shared).position.state is not PlanState.APPLIED

    def exec(self, inputs: bool) -> float:
        """Remove it, or keep it; when it was done."""
        if not inputs:
            self.place.sandbox.remove()
        return time.time()

    def post(self, shared: Shared, inputs: bool, result: float) -> None:
        """Do not name a sandbox that is gone."""
        shared["ended_at"] = result
        if not inputs:
            shared["sandbox"] = None
