"""Saved workflows: the one that a task is about, and the values that the task gives for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from runtrue.planner.built_in.draft import CannotPlan, Draft, Form, Subject
from runtrue.planner.built_in.naming import trimmed
from runtrue.planner.built_in.speech import Argument, Speech
from runtrue.planner.built_in.urls import is_secret, read_url
from runtrue.planner.built_in.values import PREPOSITIONS
from runtrue.planner.built_in.values import fill as fill_arguments
from runtrue.planner.built_in.words import FILLERS, singular, split_name
from runtrue.planner.seams import Choice, SavedWorkflow
from runtrue.planner.task import Clause, Task, read_task
from runtrue.planner.tokens import Kind, Token
from runtrue.planner.verbs import listed

_PLAIN = FILLERS | PREPOSITIONS | listed("run execute start use using workflow saved call again")
#: How much of a description, or of a name, must have been said.
_ENOUGH = 0.6


def choose(task: Task, saved: tuple[SavedWorkflow, ...]) -> Choice:
    """The workflow that accounts for every word of the task, if it is the only one."""
    named = [one for one in saved if _is_run(task, one)]
    if len(named) == 1:
        return Choice(workflow=named[0].name, reason="the task calls it by its name")
    told = [one for one in saved if _is_told(task, one)]
    if len(told) == 1:
        return Choice(workflow=told[0].name, reason="the task is what it was made for")
    scored = sorted(((_share(task, one), one.name) for one in saved), reverse=True)
    enough = [name for share, name in scored if share >= _ENOUGH]
    if len(enough) == 1:
        return Choice(workflow=enough[0], reason="its words are those of the task")
    if enough:
        return Choice(workflow=None, reason=f"it could be any of: {', '.join(enough)}")
    return Choice(workflow=None)


def fill(task: Task, inputs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The values that the task gives for inputs."""
    return _fill(task.tokens, inputs)[0]


def call(clause: Clause, saved: tuple[SavedWorkflow, ...], draft: Draft) -> bool:
    """Run a saved workflow as a step, if the clause says to by its name."""
    words = {token.text.lower() for token in clause.tokens if token.kind is Kind.WORD}
    named = [one for one in saved if one.name in words]
    if clause.verb not in {"run", "execute", "call", "use"} or len(named) != 1:
        return False
    workflow = named[0]
    values, unused = _fill(clause.tokens, workflow.inputs)
    rest = [t for t in unused if t.word not in _PLAIN and t.text.lower() != workflow.name]
    if rest:
        words_left = " ".join(token.text for token in rest)
        raise CannotPlan(f"{words_left!r} is nothing that the workflow {workflow.name!r} takes")
    mapping: dict[str, Any] = {
        name: draft.input(name, value, secret=is_secret(name)) for name, value in values.items()
    }
    for name, spec in workflow.inputs.items():
        if name not in mapping and spec.get("required", True) and "default" not in spec:
            mapping[name] = draft.missing(name, str(spec.get("description", "")))
    params = {"workflow_name": workflow.name, "param_mapping": mapping}
    node = draft.node("run", "workflow", params)
    reference = f"${{{node['id']}}}"
    draft.subject = Subject(
        reference=reference, form=Form.DATA, results=(draft.give("result", reference),)
    )
    return True


def _is_run(task: Task, workflow: SavedWorkflow) -> bool:
    """`run NAME`, with values for it and nothing else."""
    first = task.clauses[0] if len(task.clauses) == 1 else None
    if first is None or first.verb not in {"run", "execute", "call", "use"}:
        return False
    if workflow.name not in {token.text.lower() for token in first.tokens}:
        return False
    _, unused = _fill(first.tokens, workflow.inputs)
    return all(t.word in _PLAIN or t.text.lower() == workflow.name for t in unused)


def _is_told(task: Task, workflow: SavedWorkflow) -> bool:
    """Whether the task is the workflow's description, with other values perhaps."""
    described, text = trimmed(workflow.description), trimmed(task.text)
    return bool(described) and _is_like(text, described, workflow)


def _has_urls(task: Task, workflow: SavedWorkflow) -> bool:
    """Whether each URL of the task is one that the workflow is described with."""
    described = read_task(workflow.description).values(Kind.URL)
    return all(
        any(_is_like(url, template, workflow) for template in described)
        for url in task.values(Kind.URL)
    )


def _is_like(text: str, template: str, workflow: SavedWorkflow) -> bool:
    """Whether a text is a template with values in the place of its `{name}`s."""
    pieces = re.split(r"\{([A-Za-z_][\w-]*)\}", template)
    pattern = "".join(
        re.escape(piece) if at % 2 == 0 else _hole(piece, workflow.inputs)
        for at, piece in enumerate(pieces)
    )
    return re.fullmatch(pattern, text, re.IGNORECASE) is not None


def _hole(name: str, inputs: Mapping[str, Any]) -> str:
    return r"[^\s/?&=]+" if name in inputs else re.escape(f"{{{name}}}")


def _share(task: Task, workflow: SavedWorkflow) -> float:
    """How much of a workflow's words the task says; 0 when it says anything else as well."""
    if not _has_urls(task, workflow):
        return 0.0
    _, unused = _fill(task.tokens, workflow.inputs)
    named = {singular(word) for word in split_name(workflow.name)} - _PLAIN
    described = {singular(word) for word in split_name(workflow.description)}
    described -= _PLAIN | {singular(w) for name in workflow.inputs for w in split_name(name)}
    known = named | described | {singular(w) for i in workflow.inputs for w in split_name(i)}
    spoken: set[str] = set()
    for token in unused:
        if token.kind not in (Kind.WORD, Kind.MARK):
            return 0.0
        parts = {singular(part) for part in split_name(token.word)}
        if token.word in _PLAIN or token.kind is Kind.MARK:
            continue
        if not parts or not parts <= known:
            return 0.0
        spoken |= parts
    if not spoken:
        return 0.0
    of_name = len(spoken & named) / len(named) if named else 0.0
    of_description = len(spoken & described) / len(described) if described else 0.0
    return max(of_name if len(spoken & named) > 1 else 0.0, of_description)


def _fill(
    tokens: tuple[Token, ...], inputs: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, Any], list[Token]]:
    """The values for inputs, and the tokens that gave none."""
    arguments = [
        Argument(name=name, schema=dict(spec), required=bool(spec.get("required", True)))
        for name, spec in inputs.items()
    ]
    speech = Speech(tokens)
    values = fill_arguments(arguments, speech)
    for at, token in speech.free():
        if token.kind is Kind.URL:
            draft = Draft()
            read_url(token.value, draft)
            found = {name: value for name, value in draft.params.items() if name in inputs}
            if found and found.keys() == draft.params.keys():
                values = found | values
                speech.used.add(at)
    return values, [token for _, token in speech.free()]
