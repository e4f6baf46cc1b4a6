"""Amend a plan: undo steps, change them or the validations, and go on from there."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from runtrue.flow import Run, emit
from runtrue.loop import AMEND, EXPIRED, PERSON, Spent, Why, amendable, guard_edit
from runtrue.plan.amendment import Amendment, StepChange, Undo, described
from runtrue.plan.answers import answer_text
from runtrue.plan.context import PlanContext, PlanRun
from runtrue.plan.events import PlanAmended
from runtrue.plan.progress import StepState
from runtrue.plan.states import Happening, PlanState
from runtrue.plan.strategy import Strategy
from runtrue.plan.validation import judges_of
from runtrue.sandbox import JudgeSearch
from runtrue.typed_data import convert


async def amend(run: Run, context: PlanContext, plan: PlanRun, said: dict[str, Any]) -> PlanContext:
    """Change the plan as a person asked, and return the context that it goes on in.

    What they say opens a fresh budget. What is undone is taken back to the checkpoint before it;
    else the files are taken as the person has left them.
    """
    amendment = convert(said[AMEND], Amendment)
    plan.notes_read = max(plan.notes_read, said.get("note", -1) + 1)
    plan.close_chapter()
    plan.revision = plan.decision = plan.why = None
    plan.applying = False
    plan.ahead.clear()
    if plan.progress.position.state is PlanState.COMPLETE:
        plan.advance(Happening.CHANGED)
    plan.advance(
        spent=Spent(),
        proved={},
        refused=None,
        findings=(),
        said=(*plan.progress.said, *([amendment.text] if amendment.text else [])),
        amendments=(*plan.progress.amendments, described(amendment)),
    )
    if amendment.undo is not Undo.NOTHING:
        undo(plan, amendment.step or "", amendment.undo)
        if amendment.is_no and amendment.step is not None:
            plan.progress = plan.progress.with_state(amendment.step, StepState.UNDONE)
    for change in amendment.steps:
        _change_step(plan, change)
    if amendment.added:
        strategy = plan.progress.strategy or Strategy()
        plan.advance(strategy=replace(strategy, steps=(*strategy.steps, *amendment.added)))
    if amendment.validations:
        context = _with_validations(context, plan, amendment)
    if plan.candidate:
        is_undone = amendment.undo is not Undo.NOTHING
        work = partial(_take_up, context, amendment, is_undone)
        plan.candidate = await run.step("amend", work, plan.candidate)
    if amendment.is_rollback and plan.progress.position.state is PlanState.PROCESSING:
        plan.advance(Happening.ROLLED_BACK)
    return context


def _take_up(context: PlanContext, amendment: Amendment, is_undone: bool, candidate: str) -> str:
    """Return the candidate to go on with, and leave it in the sandbox."""
    emit(PlanAmended(what=described(amendment).what))
    sandbox = context.sandbox
    if is_undone:
        sandbox.restore(candidate)
        return candidate
    return guard_edit(sandbox, candidate, PERSON).candidate


def undo(plan: PlanRun, step_id: str, how: Undo) -> None:
    """Take the plan back to the checkpoint before a step, or to the one after it."""
    progress = plan.progress
    strategy = progress.strategy or Strategy()
    order = [step.id for step, _ in strategy.leaves()]
    step = strategy.step(step_id)
    inside = [one.id for one, _ in Strategy(steps=(step,)).leaves()] if step else []
    at = order.index(inside[0] if how is Undo.STEP else inside[-1])
    undone = order[at if how is Undo.STEP else at + 1 :]
    done = [one for one in undone if one in plan.checkpoints]
    if done:
        plan.candidate = plan.checkpoints[done[0]]
    for one in done:
        del plan.checkpoints[one]
    results = (
        replace(result, undone=True) if result.step in undone else result
        for result in progress.results
    )
    plan.advance(
        states={**progress.states, **dict.fromkeys(undone, StepState.PENDING)},
        results=tuple(results),
        step=None,
    )


def _change_step(plan: PlanRun, change: StepChange) -> None:
    strategy = plan.progress.strategy or Strategy()
    step = strategy.step(change.id)
    if step is None:
        return
    if change.skip is not None:
        leaves = [one.id for one, _ in Strategy(steps=(step,)).leaves()]
        states = {**plan.progress.states, **dict.fromkeys(leaves, StepState.SKIPPED)}
        plan.advance(states=states)
        return
    new = change.changed(step, strategy.bounds_around(change.id))
    # The command is a person's own: nobody need approve of it.
    approved = (*plan.progress.approved, new.signature)
    plan.advance(strategy=strategy.replaced(change.id, (new,)), approved=approved)


def _with_validations(context: PlanContext, plan: PlanRun, amendment: Amendment) -> PlanContext:
    changes = {change.name: change for change in amendment.validations}
    request = context.request
    validations = tuple(
        changes[one.name].changed(one) if one.name in changes else one
        for one in request.validations
    )
    search, project = JudgeSearch(), Path(request.project)
    judges = tuple(pattern for one in validations for pattern in judges_of(one, project, search))
    plan.request = replace(request, validations=validations, judges=judges)
    reasons = {one.name: one.waive for one in amendment.validations if one.waive is not None}
    plan.advance(waived={**plan.progress.waived, **reasons})
    # What another command said before the first step says nothing about this one.
    changed = {name for name, change in changes.items() if change.command is not None}
    plan.baseline = tuple(v for v in plan.baseline if v.check not in changed)
    return PlanContext.made(context.run_id, plan.request, context.home)


async def ask_instead(run: Run, plan: PlanRun) -> bool:
    """Ask what to do in the place of a step that was undone; False if nobody answered."""
    step_id = plan.progress.step
    answer = amendable(await run.ask("instead", {"undone": step_id, "why": Why.DECLINED}))
    if answer == EXPIRED:
        plan.why = Why.UNANSWERED
        return False
    said = answer_text(answer)
    plan.progress = plan.progress.with_state(step_id, StepState.PENDING)
    plan.advance(said=(*plan.progress.said, said), spent=Spent())
    return True


# -- notes for a plan that is being executed ----------------------------------------------------


def unread_notes(context: PlanContext, read: int) -> list[dict[str, Any]]:
    """What people have said while the plan was at work, and it has not taken up yet."""
    return notes_of(context.notes)[read:]


def notes_of(file: Path) -> list[dict[str, Any]]:
    """The notes in a file, oldest first; a line that is not whole yet does not count."""
    try:
        lines = file.read_text("utf-8").split("\n")[:-1]
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines]


def leave_note(file: Path, amendment: Amendment) -> int:
    """Leave an amendment for a plan that is at work; return its number."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    number = len(notes_of(file))
    with file.open("a", encoding="utf-8") as notes:
        notes.write(msgspec.json.encode(amendment).decode() + "\n")
    return number
