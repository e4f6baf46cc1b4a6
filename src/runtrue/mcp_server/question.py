"""What a waiting run asks, in words for a person, and the answers that it takes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from runtrue.code import CodeReport
from runtrue.foreign_text import visible
from runtrue.loop import Why, is_yes
from runtrue.plan import PlanReport
from runtrue.planner import TaskReport
from runtrue.typed_data import convert

#: More of a diff than this is not read in a dialogue; the whole of it is a resource.
_MOST_OF_A_DIFF = 6_000

_REPORTS: dict[str, type[CodeReport | TaskReport | PlanReport]] = {
    "do": TaskReport,
    "plan": PlanReport,
    **dict.fromkeys(("fix", "code", "gate"), CodeReport),
}


@dataclass(frozen=True, slots=True)
class PersonQuestion:
    """A question of a run. Without `answers`, any text is one."""

    #: Of a run that has not begun: a digest of the question.
    run_id: str
    message: str
    answers: tuple[str, ...] = ()
    #: It asks for leave, not for guidance.
    approves: bool = False

    def with_proposal(self, answer: str) -> PersonQuestion:
        """Return the question with what an agent would answer."""
        return replace(self, message=f"{self.message}\nThe agent proposes: {visible(answer)}")

    def needs_person(self, answer: str) -> bool:
        """True if only a person may give this answer: one that lets something happen."""
        return (self.approves or is_yes(answer)) and answer.strip().casefold() != "no"

    @property
    def form(self) -> dict[str, Any]:
        """Return the JSON Schema of the form that a person fills in."""
        answer: dict[str, Any] = {"type": "string", "title": "Answer"}
        if self.answers:
            answer["enum"] = list(self.answers)
        return {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}


def question_in(document: dict[str, Any]) -> PersonQuestion | None:
    """Return what the run of a report asks, or None if it does not wait for a person."""
    kind = _REPORTS.get(document.get("kind", ""))
    if kind is None or document.get("status") != "waiting":
        return None
    report = convert(document, kind)
    lines = list(_lines(report))
    answers = _answers(report)
    approves = bool(answers) or isinstance(report, PlanReport | TaskReport)
    return PersonQuestion(report.run_id, visible("\n".join(lines)), answers, approves)


def question_of_file(file: str, effects: list[dict[str, Any]]) -> PersonQuestion | None:
    """Return what a person has to agree to before a workflow file runs; None if it only reads.

    Nobody has chosen the file but a model, and it may have come with a clone.
    """
    texts = [f"- {one['text']} ({one['node']})" for one in effects if one["kind"] != "read"]
    if not texts:
        return None
    message = "\n".join([f"The workflow file {file} would:", *texts, "Go ahead?"])
    digest = hashlib.sha256(message.encode("utf-8", "surrogateescape")).hexdigest()
    return PersonQuestion(digest, visible(message), ("yes", "no"), approves=True)


def _lines(report: CodeReport | TaskReport | PlanReport) -> Iterator[str]:
    if isinstance(report, TaskReport) and report.candidates:
        yield f"{report.task}: which field of the answer is meant?"
        for doubt in report.candidates:
            found = "; ".join(f"{one.text} ({one.sample})" for one in doubt.candidates)
            yield f"- {doubt.field}: {found or 'nothing resembles it'}"
        yield "Answer FIELD=PATH, with `;` between several."
        return
    if isinstance(report, TaskReport):
        yield f"{report.task}: the plan would also do more than the task names:"
        for effect in report.effects:
            if not effect.agreed:
                yield f"- {effect.text}"
        yield "Go ahead?"
        return
    if report.diff:
        yield _shortened(report.diff)
    if report.confidence is not None:
        yield f"Confidence {report.confidence:.2f}: {report.confidence_reason or 'no reason given'}"
    if isinstance(report, PlanReport):
        yield f"The plan waits ({report.why or report.state}). `yes` approves; anything else says"
        yield "what to do differently."
        return
    for other in report.alternatives:
        example = other.example
        yield f"{other.number}: {other.says}; {example.call} gives {example.gives}, not "
        yield f"{example.instead}"
    for file in report.self_running:
        yield f"{file.file} runs automatically once applied: {file.why}."
    if _answers(report):
        yield "Is this fix right, and should it be applied?"
    else:
        yield f"The run could not continue ({report.why}). What should it do differently?"


def _answers(report: CodeReport | TaskReport | PlanReport) -> tuple[str, ...]:
    """Return the answers of a choice; none where guidance in words is asked for."""
    if isinstance(report, TaskReport):
        return () if report.candidates else ("yes", "no")
    if isinstance(report, CodeReport) and (report.why == Why.UNSURE or report.self_running):
        return ("yes", "no", *(str(other.number) for other in report.alternatives))
    return ()


def _shortened(diff: str) -> str:
    if len(diff) <= _MOST_OF_A_DIFF:
        return diff
    return f"{diff[:_MOST_OF_A_DIFF]}\n… ({len(diff) - _MOST_OF_A_DIFF} characters more)"
