"""Generator: asks a model, and takes of its answer what can be checked."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from runtrue.models import (
    BadCredentials,
    BadOutput,
    Model,
    ModelAnswer,
    ModelError,
    ModelUnavailable,
    Usage,
    fence,
)
from runtrue.planner import seams
from runtrue.planner.fix import fix_workflow
from runtrue.planner.model import answers, prompts, redaction
from runtrue.planner.model.edits import EditTargets, ImpossibleEdit, edit_targets
from runtrue.planner.model.prompts import prompt, quoted
from runtrue.workflow import Interface, propose_name

if TYPE_CHECKING:
    from runtrue.memory import Memory

#: So many components are shown whole; of more, those that are needed are selected first.
_FEW = 30
_MOST_LISTED = 200
_PROBLEMS, _REASONS, _PLACES = 6_000, 4_000, 20_000
_LONGEST_NAME, _LONGEST_DESCRIPTION, _LONGEST_REASON = 60, 300, 500
_DEEPEST = 100
_TRIES = 2
#: Seconds for the answers that hold whole workflows, and for short ones.
_LONG, _SHORT = 120.0, 60.0


class ModelWorkflowGenerator:
    """Plans with a language model. Fixes verified before come before its answers.

    A model that does not answer is an ordinary result; only `fill` raises ModelError, since no
    values at all would look like a task that gives none.
    """

    def __init__(
        self,
        model: Model,
        memory: Memory | None = None,
        purpose_of: Callable[[str], Collection[str]] = lambda type_: (),
    ) -> None:
        """`purpose_of` returns the params of a node type that no fix may change."""
        self._model = model
        self._memory = memory
        self._purpose_of = purpose_of
        self.name = model.name

    async def choose(
        self, task: str, saved: tuple[seams.SavedWorkflow, ...]
    ) -> seams.WorkflowChoice:
        """Choose the saved workflow that does the whole task, if one surely does."""
        if not saved:
            return seams.WorkflowChoice(workflow=None, reason="no workflow is saved")
        listed = prompts.nearest(task, saved, _about_saved, _MOST_LISTED)
        try:
            answer = await self._ask(
                prompt("choose", task=quoted(task), saved=prompts.saved_text(listed)),
                answers.choice_form(one.name for one in listed),
            )
        except ModelError as error:
            return seams.WorkflowChoice(workflow=None, reason=str(error), usage=error.usage)
        said = _data(answer)
        return seams.WorkflowChoice(
            by_model=True,
            workflow=said.get("workflow"),
            reason=_sentence(said.get("reason", "")),
            usage=answer.usage,
        )

    async def fill(self, task: str, inputs: dict[str, dict[str, Any]]) -> seams.Values:
        """Read the values of declared inputs out of the task. Raises ModelError."""
        if not inputs:
            return seams.Values(values={})
        asked = prompt(
            "fill", task=quoted(task), inputs=redaction.as_json(redaction.redact_defaults(inputs))
        )
        answer = await self._ask(asked, answers.values_form(inputs))
        said = _data(answer)
        values, _ = answers.given_values(task, inputs, said["values"], said.get("said", {}))
        return seams.Values(values=values, usage=answer.usage)

    async def select(self, task: str, components: tuple[Interface, ...]) -> seams.Selection:
        """Select the node types that are needed: all, where they are few."""
        if len(components) <= _FEW:
            return seams.Selection(types=tuple(one.type for one in components))
        own = [one.type for one in components if one.server is None]
        tools = [one for one in components if one.server is not None]
        listed = prompts.nearest(task, tools, _about_type, _MOST_LISTED)
        asked = prompt(
            "select", task=quoted(task), components=prompts.brief_text(listed), most=str(_FEW)
        )
        try:
            answer = await self._ask(asked, answers.selection_form(one.type for one in listed))
        except ModelError as error:
            chosen = [one.type for one in prompts.nearest(task, tools, _about_type, _FEW)]
            return seams.Selection(types=(*own, *chosen), usage=error.usage)
        chosen = list(dict.fromkeys(_data(answer)["types"]))
        return seams.Selection(types=(*own, *chosen), usage=answer.usage)

    async def generate(self, request: seams.GenerationRequest) -> seams.Plan | seams.NoPlan:
        """Make a workflow, or say why not. An invalid one is for the static check to report."""
        try:
            answer = await self._ask(_plan_prompt(request), answers.plan_form(), seconds=_LONG)
        except ModelError as error:
            return seams.NoPlan(
                reason=str(error),
                transient=error.transient,
                final=isinstance(error, BadCredentials | ModelUnavailable),
                usage=error.usage,
            )
        said = _data(answer)
        workflow = said.get("workflow", {"nodes": []})
        if not workflow["nodes"] and said.get("cannot"):
            return seams.NoPlan(reason=_sentence(said["cannot"]), usage=answer.usage)
        workflow = redaction.restored(workflow, request.previous)
        params, notes = answers.given_values(
            request.task, workflow.get("inputs", {}), said.get("params", {}), said.get("said", {})
        )
        return seams.Plan(workflow=workflow, params=params, notes=notes, usage=answer.usage)

    async def fix(self, request: seams.FixRequest) -> seams.FixedWorkflow | seams.NoFix:
        """Fix argument names and values, and paths: by memory, by the model, or without."""
        plain_fix = await fix_workflow(replace(request, rejected=()), memory=self._memory)
        # What was rejected may be this very proposal: the model hears of it, but it is no answer.
        usable = plain_fix if isinstance(plain_fix, seams.FixedWorkflow) else None
        if request.rejected:
            usable = None
        if usable is not None and usable.fixer == "memory":
            return usable
        try:
            return await self._ask_for_edits(request, plain_fix)
        except ModelError as error:
            if usable is not None:
                return replace(usable, usage=error.usage)
            doubts = prompts.doubts_of(plain_fix, request.workflow)
            return seams.NoFix(
                reason=str(error), transient=error.transient, doubts=doubts, usage=error.usage
            )

    async def _ask_for_edits(
        self, request: seams.FixRequest, plain_fix: seams.FixedWorkflow | seams.NoFix
    ) -> seams.FixedWorkflow | seams.NoFix:
        """Ask for edits, once more if they cannot be made. Raises ModelError."""
        targets = edit_targets(request.workflow, request.findings, self._purpose_of)
        doubts = prompts.doubts_of(plain_fix, request.workflow)
        suggestions = prompts.suggestions_text(plain_fix, request.workflow)
        used: Usage | None = None
        reason = "there is nothing in the workflow that could be changed"
        for _ in range(_TRIES if targets.labels else 0):
            asked = _fix_prompt(request, targets, suggestions)
            try:
                answer = await self._ask(asked, answers.edits_form(targets.labels), seconds=_LONG)
            except ModelError as error:
                error.usage = _sum(used, error.usage)
                raise
            used = _sum(used, answer.usage)
            said = _data(answer)
            try:
                edited = _edited(said, targets)
            except ImpossibleEdit as error:
                reason = f"the edits of {self.name} cannot be made: {error}"
                request = replace(request, rejected=(*request.rejected, str(error)))
                continue
            if edited is not None:
                return seams.FixedWorkflow(workflow=edited, fixer="model", usage=used)
            reason = _sentence(said.get("cannot", "")) or f"{self.name} proposed nothing"
            break
        return seams.NoFix(reason=reason, doubts=doubts, usage=used)

    async def describe(self, task: str, workflow: dict[str, Any]) -> seams.Metadata:
        """Ask for a name and a description; the task itself has to do when there are none."""
        asked = prompt("describe", task=quoted(task), workflow=redaction.fenced_workflow(workflow))
        plain = " ".join(task.split())[:_LONGEST_DESCRIPTION]
        try:
            answer = await self._ask(asked, answers.metadata_form())
        except ModelError as error:
            return seams.Metadata(name=_name(plain), description=plain, usage=error.usage)
        said = _data(answer)
        description = " ".join(said["description"].split())[:_LONGEST_DESCRIPTION]
        return seams.Metadata(
            name=_name(said["name"]), description=description or plain, usage=answer.usage
        )

    async def _ask(
        self, asked: str, form: dict[str, Any], *, seconds: float = _SHORT
    ) -> ModelAnswer:
        answer = await self._model.ask(asked, system=prompt("system"), schema=form, timeout=seconds)
        if _is_deep(answer.data):
            problem = f"it is nested deeper than {_DEEPEST} levels"
            error = BadOutput(
                f"the answer of {self.name} cannot be used: {problem}",
                problem=problem,
                output=answer.text,
            )
            error.usage = answer.usage
            raise error
        return answer


def _plan_prompt(request: seams.GenerationRequest) -> str:
    previous = "None yet."
    if request.previous is not None:
        previous = prompt(
            "previous",
            workflow=redaction.fenced_workflow(request.previous),
            problems=fence("\n".join(request.problems), limit=_PROBLEMS),
        )
    saved = prompts.nearest(request.task, request.saved, _about_saved, _FEW)
    return prompt(
        "generate",
        task=quoted(request.task),
        format=prompt("format"),
        components=prompts.components_text(request.components),
        saved=prompts.saved_text(saved),
        named=redaction.fenced(request.named, limit=_REASONS) if request.named else "Nothing.",
        previous=previous,
    )


def _fix_prompt(request: seams.FixRequest, targets: EditTargets, suggestions: str) -> str:
    reasons = fence("\n".join(request.rejected), limit=_REASONS)
    return prompt(
        "fix",
        task=quoted(request.task),
        workflow=redaction.fenced_workflow(request.workflow),
        params=redaction.fenced(request.params, limit=_REASONS),
        findings=prompts.findings_text(request.findings, request.store),
        structures=prompts.structures_text(request),
        resembling=suggestions,
        rejected=reasons if request.rejected else "None.",
        places=fence(targets.text(), limit=_PLACES),
    )


def _edited(said: dict[str, Any], targets: EditTargets) -> dict[str, Any] | None:
    """Return the workflow that an answer makes; None where it makes none."""
    if said.get("edits"):
        return targets.apply(said["edits"])
    # Nobody asked for a whole workflow, but some models give one: its bounds are checked anyway.
    whole = said.get("workflow")
    return dict(redaction.restored(whole, targets.workflow)) if isinstance(whole, dict) else None


def _data(answer: ModelAnswer) -> dict[str, Any]:
    return dict(answer.data or {})


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return bool(level)


def _about_type(one: Interface) -> str:
    return f"{one.type} {one.description}"


def _about_saved(one: seams.SavedWorkflow) -> str:
    return f"{one.name} {one.description}"


def _sentence(text: str) -> str:
    """Put what a model says on one line, cut to a sensible length."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_REASON else f"{line[:_LONGEST_REASON]}…"


def _name(text: str) -> str:
    return propose_name(propose_name(text)[:_LONGEST_NAME])


def _sum(one: Usage | None, other: Usage | None) -> Usage | None:
    return other if one is None else one.plus(other)
