"""What a waiting run asks, the answers that it takes, and what each of them does."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from runtrue.code import CodeReport
from runtrue.flow import Question, RunRow
from runtrue.plan import PlanReport, Wanted, wanted_by
from runtrue.planner import TaskReport
from runtrue.web.service import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """An answer on a button: what is recorded, what it does, and the command that does the same."""

    value: str
    label: str
    does: str
    command: str
    tone: str = ""
    #: An input on which another fix behaves otherwise: the call, what it gives, and what instead.
    example: tuple[str, str, str] | None = None
    diff: str = ""
    confidence: float | None = None
    #: The diff is applied when the run has ended with this answer.
    then_apply: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question as a person sees it."""

    run_id: str
    seq: int
    asked_at: float
    title: str
    why: str = ""
    #: What would happen: effects, files that run by themselves, findings.
    facts: tuple[str, ...] = ()
    diff: str = ""
    confidence: float | None = None
    confidence_reason: str = ""
    choices: tuple[Choice, ...] = ()
    #: What free text means; empty where there is none to give.
    guidance: str = ""
    guidance_command: str = ""
    #: The text may be left out.
    may_be_empty: bool = False
    #: Files that a person may allow with it.
    allow: tuple[str, ...] = ()
    #: Applying needs a yes to files that run by themselves.
    self_running: tuple[str, ...] = ()


def asked_question(run: RunRow, question: Question, report: Report, why: str = "") -> AskedQuestion:
    """Return what a run asks."""
    asked: dict[str, Any] = question.question if isinstance(question.question, dict) else {}
    if isinstance(report, PlanReport):
        return _of_plan(run, question, report, asked, why)
    if isinstance(report, TaskReport):
        return _of_task(run, question, report, asked)
    return _of_code(run, question, report, asked, why)


def _resume(run: RunRow, said: str = "") -> str:
    answer = f" --answer {shlex.quote(said)}" if said else ""
    return f"runtrue runs resume {run.id}{answer}"


def _of_code(
    run: RunRow, question: Question, report: Report, asked: dict[str, Any], why: str
) -> AskedQuestion:
    is_unsure = asked.get("why") == "unsure" and "diff" in asked
    files = tuple(
        f"{one.file} runs by itself once it is applied: {one.why}"
        for one in getattr(report, "self_running", ())
    )
    if is_unsure or asked.get("apply"):
        applies = bool(asked.get("apply")) or run.input.get("apply") == "yes"
        choices = [
            Choice(
                value="yes",
                label="Apply exactly this",
                does="Records that the fix is right, and applies this diff to your files.",
                command=_resume(run, "yes") if applies else f"runtrue runs apply {run.id}",
                tone="primary",
                then_apply=not applies,
            )
        ]
        if choices[0].then_apply:
            choices.append(
                Choice(
                    value="yes",
                    label="Accept, apply later",
                    does="Records that the fix is right and ends the run as passed. "
                    "Your files stay as they are.",
                    command=_resume(run, "yes"),
                )
            )
        if isinstance(report, CodeReport):
            choices += _alternatives(run, report)
        choices.append(
            Choice(
                value="no",
                label="Reject",
                does="Records that the fix is wrong. Your files stay as they are.",
                command=_resume(run, "no"),
                tone="danger",
            )
        )
        confidence = asked.get("confidence") or {}
        return AskedQuestion(
            run_id=run.id,
            seq=question.seq,
            asked_at=question.asked_at,
            title="Is this fix right?" if is_unsure else "Apply these changes?",
            why=why,
            facts=files,
            diff=str(asked.get("diff") or getattr(report, "diff", "")),
            confidence=confidence.get("value"),
            confidence_reason=str(confidence.get("reason") or ""),
            choices=tuple(choices),
            self_running=files,
        )
    accept = Choice(
        value="accept",
        label="Accept as it is",
        does="Ends the run with the candidate as it is, and records that a person accepts it.",
        command=_resume(run, "accept"),
    )
    findings = tuple(_finding_lines(asked))
    return AskedQuestion(
        run_id=run.id,
        seq=question.seq,
        asked_at=question.asked_at,
        title="What should it do differently?",
        why=why,
        facts=findings,
        diff=str(getattr(report, "diff", "")),
        choices=(accept,) if asked.get("acceptable") else (),
        guidance="Goes to the fixer with a fresh budget. You can also edit the candidate in "
        f"{asked.get('sandbox')} and leave this empty.",
        guidance_command=_resume(run, "…"),
        may_be_empty=True,
    )


def _alternatives(run: RunRow, report: CodeReport) -> Iterator[Choice]:
    for one in report.alternatives:
        example = one.example
        yield Choice(
            value=str(one.number),
            label=f"Use fix {one.number} instead",
            does=f"Takes {one.says} instead, and proposes the example as a test.",
            command=_resume(run, str(one.number)),
            example=(str(example.call), str(example.gives), str(example.instead)),
            diff=one.diff,
            confidence=one.confidence,
        )


def _of_task(
    run: RunRow, question: Question, report: TaskReport, asked: dict[str, Any]
) -> AskedQuestion:
    effects = tuple(str(one) for one in asked.get("effects", ()))
    return AskedQuestion(
        run_id=run.id,
        seq=question.seq,
        asked_at=question.asked_at,
        title="Agree to these effects?",
        why="The plan would do what the task does not say.",
        facts=effects,
        choices=(
            Choice(
                value="yes",
                label="Agree and run",
                does="Runs the workflow with exactly these effects.",
                command=_resume(run, "yes"),
                tone="primary",
            ),
            Choice(
                value="no",
                label="Decline",
                does="Ends the run. Nothing was sent or changed.",
                command=_resume(run, "no"),
                tone="danger",
            ),
        ),
    )


def _of_plan(
    run: RunRow, question: Question, report: PlanReport, asked: dict[str, Any], why: str
) -> AskedQuestion:
    wanted = wanted_by(asked)
    plan = f"runtrue plan {{}} {run.id}"
    needed = tuple(file for file in report.needed if not file.startswith("../"))
    files = tuple(
        f"{one.file} runs by itself once it is applied: {one.why}" for one in report.self_running
    )
    choices: tuple[Choice, ...] = ()
    title, guidance, command = "What should it do differently?", "", ""
    facts = tuple(_finding_lines(asked))
    if wanted is Wanted.BEGIN:
        title = "Execute this plan?"
        choices = (
            Choice(
                value="execute",
                label="Execute",
                does="Does the steps in a sandbox and validates each. Your files stay as they are.",
                command=plan.format("execute"),
                tone="primary",
            ),
        )
    elif wanted is Wanted.APPLY:
        title, facts = "Apply this plan to your files?", files
        choices = (
            Choice(
                value="apply",
                label="Apply to my files",
                does="Merges this diff into your files, all of it or nothing. Validated again "
                "first if you changed files meanwhile.",
                command=plan.format("apply"),
                tone="primary",
            ),
        )
    else:
        guidance = "Recorded as guidance; the plan goes on with a fresh budget."
        command = f'{plan.format("prompt")} "…"'
        if wanted is Wanted.APPROVAL:
            title = "Approve this?"
            choices = (
                Choice(
                    value="yes",
                    label="Approve exactly this",
                    does="Goes on with what is shown here, and nothing more.",
                    command=f"{plan.format('prompt')} yes",
                    tone="primary",
                ),
            )
            guidance = "Or say what to change."
    return AskedQuestion(
        run_id=run.id,
        seq=question.seq,
        asked_at=question.asked_at,
        title=title,
        why=why,
        facts=facts,
        diff=str(asked.get("diff") or report.diff),
        confidence=report.confidence if wanted is Wanted.APPROVAL else None,
        confidence_reason=report.confidence_reason or "",
        choices=choices,
        guidance=guidance,
        guidance_command=command,
        allow=needed if wanted is Wanted.GUIDANCE else (),
        self_running=files if wanted is Wanted.APPLY else (),
    )


def _finding_lines(asked: dict[str, Any]) -> Iterator[str]:
    findings = asked.get("findings")
    for finding in findings if isinstance(findings, list) else ():
        if isinstance(finding, dict):
            yield str(finding.get("message", ""))
