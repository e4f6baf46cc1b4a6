"""What a waiting plan asks: to be executed, approved, guided or applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runtrue.flow import Question, RunRow
from runtrue.plan import PlanReport, Wanted, wanted_by
from runtrue.web.asked_question import AskedQuestion, Choice, finding_lines


def question_of_plan(
    run: RunRow, question: Question, report: PlanReport, asked: dict[str, Any], why: str
) -> AskedQuestion:
    """Return what a plan asks."""
    wanted = wanted_by(asked)
    known: dict[str, Any] = {
        "run_id": run.id,
        "seq": question.seq,
        "asked_at": question.asked_at,
        "why": why,
        "diff": str(asked.get("diff") or report.diff),
        "confidence_reason": report.confidence_reason or "",
    }
    match wanted:
        case Wanted.BEGIN:
            return AskedQuestion(**known, **_begin(run, report))
        case Wanted.APPLY:
            return AskedQuestion(**known, **_apply(run, report))
    answer = f"runtrue plan answer {run.id}"
    known |= {
        "guidance": "Recorded as guidance; the plan continues with a fresh budget.",
        "guidance_command": f'{answer} "…"',
    }
    if wanted is Wanted.APPROVAL:
        return AskedQuestion(**known | _approval(answer, report, asked))
    needed = tuple(file for file in report.needed if not file.startswith("../"))
    undone, failure = asked.get("undone"), asked.get("why") if asked.get("guide") else None
    title = "What should it do differently?"
    if undone:
        title = f"Step {undone} is undone: what should the plan do instead?"
    elif asked.get("guide"):
        title = "No strategy was made. How should this be done?"
    facts = [*finding_lines(asked), *([str(failure)] if failure else [])]
    return AskedQuestion(**known, title=title, facts=tuple(facts), allow=needed)


def _begin(run: RunRow, report: PlanReport) -> dict[str, Any]:
    choice = Choice(
        value="execute",
        label="Execute",
        does="Does the steps in a sandbox and validates each. Your files do not change.",
        command=f"runtrue plan execute {run.id}",
        tone="primary",
    )
    facts = tuple(_plan_lines(report))
    return {"title": "Execute this plan?", "facts": facts, "choices": (choice,)}


def _apply(run: RunRow, report: PlanReport) -> dict[str, Any]:
    files = tuple(
        f"{one.file} runs automatically once applied: {one.why}" for one in report.self_running
    )
    choice = Choice(
        value="apply",
        label="Apply to my files",
        does="Merges this diff into your files, all of it or nothing. Validated again first if "
        "you changed files meanwhile.",
        command=f"runtrue plan apply {run.id}",
        tone="primary",
    )
    return {
        "title": "Apply this plan to your files?",
        "facts": files,
        "choices": (choice,),
        "self_running": files,
    }


def _approval(answer: str, report: PlanReport, asked: Mapping[str, Any]) -> dict[str, Any]:
    title, facts = _to_be_approved(asked)
    choices = [
        Choice(
            value="yes",
            label="Approve exactly this",
            does="Continues with exactly what is shown here.",
            command=f"{answer} yes",
            tone="primary",
        )
    ]
    guidance = (
        "Recorded as guidance instead of an approval; the plan continues with a fresh budget."
    )
    if asked.get("why") == "unsure":
        choices.append(
            Choice(
                value="no",
                label="Reject",
                does="Undoes the step and asks what to do instead.",
                command=f"{answer} no",
                tone="danger",
            )
        )
    elif asked.get("approve") == "edits":
        guidance = "Any other answer validates the sandbox again."
    return {
        "title": title,
        "facts": facts,
        "confidence": report.confidence,
        "choices": tuple(choices),
        "guidance": guidance,
    }


def _to_be_approved(asked: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return the title of a question for approval, and what exactly it is about."""
    strategy = asked.get("strategy")
    steps = asked.get("steps") or (strategy.get("steps") if isinstance(strategy, dict) else None)
    lines = tuple(_step_lines(steps if isinstance(steps, list) else []))
    match asked.get("approve"):
        case "strategy":
            return "Is this strategy right?", lines
        case "revision":
            return f"May step {asked['before']['id']} be replaced by this?", lines
        case "edits":
            outside = ", ".join(map(str, asked.get("outside") or ()))
            what = str(asked.get("more") or f"{outside}: not allowed by the strategy")
            return "Is this edit of the sandbox allowed?", (what,)
    if asked.get("why") == "unsure":
        return "Is this fix right?", ()
    return "Approve this?", tuple(finding_lines(dict(asked)))


def _step_lines(steps: list[Any]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, dict):
            yield f"step `{step.get('id')}`: {step.get('description')} (by {step.get('actor')})"
            if step.get("command"):
                yield f"runs `{step['command']}`"
            yield from _step_lines(step.get("steps") or [])


def _plan_lines(report: PlanReport) -> Iterator[str]:
    """Yield what the steps may change, and what must pass afterwards."""
    for step in report.plan.steps:
        if step.actor is not None:
            files = f", may change {', '.join(step.paths)}" if step.paths else ""
            yield f"step `{step.id}`: {step.description} (by {step.actor}{files})"
    for one in report.plan.validations:
        yield f"then `{one.command or one.name}` ({one.mode})"
