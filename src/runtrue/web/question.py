"""What a waiting run asks, the answers that it takes, and what each of them does."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from runtrue.code import CodeReport
from runtrue.flow import Question, RunRow
from runtrue.plan import PlanReport
from runtrue.planner import TaskReport
from runtrue.web.asked_question import AskedQuestion, Choice, finding_lines
from runtrue.web.doubtful_field import DoubtfulField, doubtful_fields, set_command
from runtrue.web.plan_question import question_of_plan
from runtrue.web.service import Report


def asked_question(run: RunRow, question: Question, report: Report, why: str = "") -> AskedQuestion:
    """Return what a run asks."""
    asked: dict[str, Any] = question.question if isinstance(question.question, dict) else {}
    if isinstance(report, PlanReport):
        return question_of_plan(run, question, report, asked, why)
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
        f"{one.file} runs automatically once applied: {one.why}"
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
                does="Records that the fix is wrong. Your files do not change.",
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
        does="Ends the run with the candidate as it is, and records that you accept it.",
        command=_resume(run, "accept"),
    )
    findings = tuple(finding_lines(asked))
    return AskedQuestion(
        run_id=run.id,
        seq=question.seq,
        asked_at=question.asked_at,
        title="What should it do differently?",
        why=why,
        facts=findings,
        diff=str(getattr(report, "diff", "")),
        choices=(accept,) if asked.get("acceptable") else (),
        guidance=_guidance(asked.get("sandbox")),
        guidance_command=_resume(run, "…"),
        may_be_empty=True,
    )


def _guidance(sandbox: object) -> str:
    """Return what guidance does, and what a person can do instead where the files are known."""
    by_hand = f" You can also edit the candidate in {sandbox} and leave this empty."
    return "Goes to the fixer with a fresh budget." + (by_hand if sandbox else "")


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
    if fields := tuple(doubtful_fields(asked)):
        return _of_doubts(run, question, report, fields)
    effects = tuple(str(one) for one in asked.get("effects", ()))
    return AskedQuestion(
        run_id=run.id,
        seq=question.seq,
        asked_at=question.asked_at,
        title="Agree to these effects?",
        why="The plan would do more than the task names.",
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


def _of_doubts(
    run: RunRow, question: Question, report: TaskReport, fields: tuple[DoubtfulField, ...]
) -> AskedQuestion:
    sure = tuple(f"`{name}` is sure: `{value}`" for name, value in report.partial.items())
    names = ", ".join(one.name for one in fields)
    return AskedQuestion(
        run_id=run.id,
        seq=question.seq,
        asked_at=question.asked_at,
        title=f"Which value is {names}?",
        why="The response has no field with that name",
        facts=sure,
        fields=fields,
        guidance="Reads the chosen paths in the response that is recorded. Nothing is called "
        "again.",
        guidance_command=set_command(run.id, fields),
        choices=(
            Choice(
                value="no",
                label="None of them",
                does="Ends the run without these fields. The sure ones stay in its report.",
                command=_resume(run, "no"),
                tone="danger",
            ),
        ),
    )
