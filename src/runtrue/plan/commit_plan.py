"""Leave a plan's result as a commit: on a new branch, on another, or on the current one."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runtrue.errors import PlanError, SandboxError, UsageError
from runtrue.flow import Run, emit
from runtrue.loop import readable
from runtrue.plan.apply_target import ApplyTarget, CommitResult
from runtrue.plan.context import PlanContext, PlanRun
from runtrue.plan.events import ApplyRefused, PlanCommitted
from runtrue.plan.plan import PlanRequest
from runtrue.sandbox import (
    Branch,
    GitSandbox,
    changed_since_head,
    current_branch,
    is_branch_name,
    place_of_branch,
    repository_of,
    resolve,
    stage_as_committed,
    tip_of,
)

if TYPE_CHECKING:
    from runtrue.plan.plan_status import Standing


@dataclass(frozen=True, slots=True)
class MergeInputs:
    """The change that is merged, and where to."""

    base: str
    candidate: str
    target: ApplyTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedOnto:
    """A candidate merged into a commit, or why it cannot be."""

    branch: Branch | None = None
    base: str = ""
    candidate: str = ""
    refused: str | None = None
    #: What the commit has changed since the plan began.
    files: tuple[str, ...] = ()


def demand_target(standing: Standing, target: ApplyTarget) -> None:
    """Raise PlanError where a plan's result cannot be left so."""
    request, top = standing.plan.request, _top(standing.plan.request)
    if top is None:
        raise PlanError(
            f"{request.project} is not a git repository that a sandbox can have a working tree of, "
            f"so there is nothing to commit to; `runtrue plan apply {standing.run.id}` changes the "
            "files"
        )
    resolve(top, "HEAD")
    name = target.branch or target.onto
    if name is None:
        if current_branch(top) is None:
            raise PlanError("no branch is checked out to commit to; use --branch NAME")
        _must_be_committed(standing, top)
        return
    if not is_branch_name(top, name):
        raise PlanError(f"{name!r} is not a valid name for a git branch")
    tip = tip_of(top, name)
    if target.branch is not None and tip is not None:
        raise PlanError(f"there is a branch {name} already; commit to it with --onto {name}")
    if target.onto is not None and tip is None:
        raise PlanError(f"there is no branch {name}; make it with --branch {name}")
    place = place_of_branch(top, name)
    if target.onto is not None and place is not None:
        raise PlanError(f"the branch {name} is checked out in {place}; use --commit there")


def _must_be_committed(standing: Standing, top: Path) -> None:
    """Raise PlanError if files of the plan have changes that are not committed."""
    sandbox, plan = standing.place.sandbox, standing.plan
    files = sandbox.changed(plan.base, plan.candidate)
    if open_files := changed_since_head(top, files):
        raise PlanError(
            f"{', '.join(open_files)} has changes of your own that are not committed: commit them "
            "first, or use --branch NAME, which leaves your files as they are"
        )


def _top(request: PlanRequest) -> Path | None:
    """Return the repository of a plan whose sandbox is a working tree of it."""
    return None if request.sandbox in ("none", "copy") else repository_of(Path(request.project))


async def merge_onto(
    run: Run, context: PlanContext, plan: PlanRun, target: ApplyTarget
) -> MergedOnto:
    """Merge a plan's change into the commit that its own is to follow."""
    inputs = MergeInputs(plan.base, plan.candidate, target)
    return await run.step("merge_onto", partial(_merge_onto, context), inputs)


def _merge_onto(context: PlanContext, inputs: MergeInputs) -> MergedOnto:
    target = inputs.target
    try:
        sandbox = _with_repository(context)
        parent = resolve(sandbox.top, f"refs/heads/{target.onto}" if target.onto else "HEAD")
        found = Branch(target.onto or target.branch or "", parent, parent if target.onto else None)
        base, candidate = sandbox.merge_onto(inputs.base, inputs.candidate, parent)
    except (SandboxError, UsageError) as error:
        message = str(error).replace("the patch by hand", f"the patch {context.patch} by hand")
        emit(ApplyRefused(why=message))
        return MergedOnto(refused=message)
    files = readable(sandbox.changed(inputs.base, base))
    return MergedOnto(branch=found, base=base, candidate=candidate, files=files)


async def find_branch(run: Run, context: PlanContext) -> Branch | None:
    """Return the branch that is checked out, to be committed to once the files are applied."""
    return await run.step("checked_out", partial(_checked_out, context))


def _checked_out(context: PlanContext) -> Branch | None:
    top = _with_repository(context).top
    name = current_branch(top)
    parent = resolve(top, "HEAD")
    return None if name is None else Branch(name, parent, parent)


async def commit(
    run: Run, context: PlanContext, plan: PlanRun, found: Branch, *, is_checked_out: bool
) -> CommitResult:
    """Commit the plan's change on a branch; doing it again after a crash changes nothing."""
    work = partial(_commit, context, found, is_checked_out)
    result = await run.step("commit", work, plan.base, plan.candidate)
    plan.committed = result if result.refused is None else None
    return result


def _commit(
    context: PlanContext, found: Branch, is_checked_out: bool, base: str, candidate: str
) -> CommitResult:
    try:
        sandbox = _with_repository(context)
        files = sandbox.changed(base, candidate)
        new = sandbox.commit_onto(found, base, candidate, _message(context))
        if is_checked_out:
            stage_as_committed(sandbox.top, new, files)
    except SandboxError as error:
        emit(ApplyRefused(why=str(error)))
        return CommitResult(at=time.time(), refused=str(error))
    emit(PlanCommitted(branch=found.name, commit=new, files=readable(files)))
    return CommitResult(at=time.time(), branch=found.name, commit=new)


def _with_repository(context: PlanContext) -> GitSandbox:
    sandbox = context.sandbox
    if not isinstance(sandbox, GitSandbox) or _top(context.request) is None:
        raise SandboxError("not applied: there is no git repository to commit to")
    return sandbox


def _message(context: PlanContext) -> str:
    """Return the message of the commit: what the plan was to do, and which one it was."""
    return f"{context.request.instruction.strip()}\n\nRuntrue-Plan: {context.run_id}\n"
