"""The generator: asks a model, and takes of its answer what can be checked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from runtrue.models import Answer, BadOutput, Model, ModelError, Usage, fence
from runtrue.planner.model.components import (
    brief_text,
    components_text,
    nearest,
    saved_text,
)
from runtrue.planner.model.edits import BadEdit, Places, editable
from runtrue.planner.model.evidence import (
    doubts_of,
    findings_text,
    resemblances_text,
    structures_text,
)
from runtrue.planner.model.forms import (
    choice_form,
    edits_form,
    metadata_form,
    plan_form,
    selection_form,
    values_form,
)
from runtrue.planner.model.prompts import prompt, quoted
from runtrue.planner.model.redaction import as_json, declared, restored, shown, shown_workflow
from runtrue.planner.model.values import given_values
from runtrue.planner.repair import repair
from runtrue.planner.seams import (
    Choice,
    FixRequest,
    GenerationRequest,
    Metadata,
    NoPlan,
    NoProposal,
    Plan,
    Proposal,
    SavedWorkflow,
    Selection,
    Values,
)
from runtrue.workflow import Interface, propose_name

if TYPE_CHECKING:
    from runtrue.memory import Memory

#: So many components are shown whole; of more, those that are needed are chosen first.
_FEW = 30
_MOST_LISTED = 200
_PROBLEMS, _REASONS, _PLACES = 6_000, 4_000, 20_000
_LONGEST_NAME, _LONGEST_DESCRIPTION, _LONGEST_REASON = 60, 300, 500
_DEEPEST = 100
_TRIES = 2
#: Seconds for the answers that hold whole workflows, and for short ones.
_LONG, _SHORT = 180.0, 60.0


class ModelGenerator:
    """Plans with a language model. Repairs that were verified before come before its answers.

    A model that cannot be asked is an ordinary result, wherever the seam has a place for it:
    only `fill` raises ModelError, since no values at all would look like a task that gives none.
    """

    def __init__(self, model: Model, memory: Memory | None = None) -> None:
        self._model = model
        self._memory = memory
        self.name = model.name

    async def choose(self, task: str, saved: tuple[SavedWorkflow, ...]) -> Choice:
        """The saved workflow that does the whole task, if one surely does."""
        if not saved:
            return Choice(workflow=None, reason="nothing is saved")
        listed = nearest(task, saved, lambda one: f"{one.name} {one.description}", _MOST_LISTED)
        try:
            answer = await self._ask(
                prompt("choose", task=quoted(task), saved=saved_text(listed)),
                choice_form(one.name for one in listed),
            )
        except ModelError as error:
            return Choice(workflow=None, reason=str(error), usage=error.usage)
        said = _object(answer)
        return Choice(
            workflow=said.get("workflow"),
            reason=_sentence(said.get("reason", "")),
            usage=answer.usage,
        )

    async def fill(self, task: str, inputs: dict[str, dict[str, Any]]) -> Values:
        """What the task says for these declared inputs. Raises ModelError."""
        if not inputs:
            return Values(values={})
        asked = prompt("fill", task=quoted(task), inputs=as_json(declared(inputs)))
        answer = await self._ask(asked, values_form(inputs))
        said = _object(answer)
        values, _ = given_values(task, inputs, said["values"], said.get("said", {}))
        return Values(values=values, usage=answer.usage)

    async def select(self, task: str, components: tuple[Interface, ...]) -> Selection:
        """Which of the node types are needed: all, where they are few."""
        if len(components) <= _FEW:
            return Selection(types=tuple(one.type for one in components))
        own = [one.type for one in components if one.server is None]
        tools = [one for one in components if one.server is not None]
        listed = nearest(task, tools, _words_of, _MOST_LISTED)
        asked = prompt("select", task=quoted(task), components=brief_text(listed), most=str(_FEW))
        try:
            answer = await self._ask(asked, selection_form(one.type for one in listed))
        except ModelError as error:
            chosen = [one.type for one in nearest(task, tools, _words_of, _FEW)]
            return Selection(types=(*own, *chosen), usage=error.usage)
        chosen = list(dict.fromkeys(_object(answer)["types"]))
        return Selection(types=(*own, *chosen), usage=answer.usage)

    async def generate(self, request: GenerationRequest) -> Plan | NoPlan:
        """Make a workflow, or say why not. What is none is for the static check to tell."""
        try:
            answer = await self._ask(_generation(request), plan_form(), seconds=_LONG)
        except ModelError as error:
            return NoPlan(reason=str(error), transient=error.transient, usage=error.usage)
        said = _object(answer)
        workflow = said.get("workflow", {"nodes": []})
        if not workflow["nodes"] and said.get("cannot"):
            return NoPlan(reason=_sentence(said["cannot"]), usage=answer.usage)
        workflow = restored(workflow, request.previous)
        params, notes = given_values(
            request.task, workflow.get("inputs", {}), said.get("params", {}), said.get("said", {})
        )
        return Plan(workflow=workflow, params=params, notes=notes, usage=answer.usage)

    async def fix(self, request: FixRequest) -> Proposal | NoProposal:
        """Mend names and values of arguments, and paths: by memory, by the model, or without."""
        unaided = await repair(replace(request, rejected=()), memory=self._memory)
        # What was rejected may be this very proposal: it is worth telling, and no answer.
        usable = unaided if isinstance(unaided, Proposal) and not request.rejected else None
        if usable is not None and usable.fixer == "memory":
            return usable
        try:
            return await self._mend(request, unaided)
        except ModelError as error:
            if usable is not None:
                return replace(usable, usage=error.usage)
            doubts = doubts_of(unaided, request.workflow)
            return NoProposal(
                reason=str(error), transient=error.transient, doubts=doubts, usage=error.usage
            )

    async def _mend(
        self, request: FixRequest, unaided: Proposal | NoProposal
    ) -> Proposal | NoProposal:
        """Ask for edits. Those that cannot be made are told once. Raises ModelError."""
        places = editable(request.workflow, request.findings)
        doubts = doubts_of(unaided, request.workflow)
        resembling = resemblances_text(unaided, request.workflow)
        used: Usage | None = None
        reason = "there is nothing in the workflow that could be changed"
        for _ in range(_TRIES if places.labels else 0):
            asked = _fixing(request, places, resembling)
            try:
                answer = await self._ask(asked, edits_form(places.labels), seconds=_LONG)
            except ModelError as error:
                error.usage = _sum(used, error.usage)
                raise
            used = _sum(used, answer.usage)
            said = _object(answer)
            try:
                mended = _mended(said, places)
            except BadEdit as error:
                reason = f"the edits of {self.name} cannot be made: {error}"
                request = replace(request, rejected=(*request.rejected, str(error)))
                continue
            if mended is not None:
                return Proposal(workflow=mended, fixer="model", usage=used)
            reason = _sentence(said.get("cannot", "")) or f"{self.name} proposed nothing"
            break
        return NoProposal(reason=reason, doubts=doubts, usage=used)

    async def describe(self, task: str, workflow: dict[str, Any]) -> Metadata:
        """A name and a description; those of the task itself when the model gives none."""
        asked = prompt("describe", task=quoted(task), workflow=shown_workflow(workflow))
        plain = " ".join(task.split())[:_LONGEST_DESCRIPTION]
        try:
            answer = await self._ask(asked, metadata_form())
        except ModelError as error:
            return Metadata(name=_name(plain), description=plain, usage=error.usage)
        said = _object(answer)
        description = " ".join(said["description"].split())[:_LONGEST_DESCRIPTION]
        return Metadata(
            name=_name(said["name"]), description=description or plain, usage=answer.usage
        )

    async def _ask(self, asked: str, form: dict[str, Any], *, seconds: float = _SHORT) -> Answer:
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


def _generation(request: GenerationRequest) -> str:
    previous = "None yet."
    if request.previous is not None:
        previous = prompt(
            "previous",
            workflow=shown_workflow(request.previous),
            problems=fence("\n".join(request.problems), limit=_PROBLEMS),
        )
    saved = nearest(request.task, request.saved, lambda one: f"{one.name} {one.description}", _FEW)
    return prompt(
        "generate",
        task=quoted(request.task),
        format=prompt("format"),
        components=components_text(request.components),
        saved=saved_text(saved),
        named=shown(request.named, limit=_REASONS) if request.named else "Nothing.",
        previous=previous,
    )


def _fixing(request: FixRequest, places: Places, resembling: str) -> str:
    reasons = fence("\n".join(request.rejected), limit=_REASONS)
    return prompt(
        "fix",
        task=quoted(request.task),
        workflow=shown_workflow(request.workflow),
        params=shown(request.params, limit=_REASONS),
        findings=findings_text(request.findings, request.store),
        structures=structures_text(request),
        resembling=resembling,
        rejected=reasons if request.rejected else "None.",
        places=fence(places.text(), limit=_PLACES),
    )


def _mended(said: dict[str, Any], places: Places) -> dict[str, Any] | None:
    """What the answer makes of the workflow; None where it makes nothing of it."""
    if said.get("edits"):
        return places.apply(said["edits"])
    # Nobody asked for a whole workflow, but some models give one: its bounds are checked anyway.
    if isinstance(said.get("workflow"), dict):
        whole: dict[str, Any] = restored(said["workflow"], places.workflow)
        return whole
    return None


def _object(answer: Answer) -> dict[str, Any]:
    """What was said: every form here is one of an object."""
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


def _words_of(one: Interface) -> str:
    return f"{one.type} {one.description}"


def _sentence(text: str) -> str:
    """What a model says, as a sentence: on one line, and not a long story."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_REASON else f"{line[:_LONGEST_REASON]}…"


def _name(text: str) -> str:
    return propose_name(propose_name(text)[:_LONGEST_NAME])


def _sum(one: Usage | None, other: Usage | None) -> Usage | None:
    if one is None or other is None:
        return one or other
    return Usage(
        model=one.model,
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        requests=one.requests + other.requests,
        cost=None if one.cost is None or other.cost is None else one.cost + other.cost,
    )
