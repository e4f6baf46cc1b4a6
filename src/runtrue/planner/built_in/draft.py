"""Draft: a workflow while it is being made, clause by clause."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from runtrue.planner.seams import Doubt, Plan, SavedWorkflow
from runtrue.planner.task import Variable
from runtrue.workflow import Interface, Unresolved, compile_template, opened

if TYPE_CHECKING:
    from runtrue.memory import Memory

_RESERVED = frozenset({"env", "__index__"})
_TYPES: dict[type, str] = {
    **{bool: "boolean", int: "integer", float: "number"},
    **{dict: "object", list: "array", str: "string"},
}


class CannotPlan(Exception):
    """A task, or a part of it, cannot be planned; the message names the part."""


class NotUnderstood(CannotPlan):
    """Words that seem to name fields, and none for sure: a person can say which.

    `fields` are the doubts about them, `partial` the values that are sure.
    """

    def __init__(self, message: str, doubts: tuple[Doubt, ...], partial: dict[str, Any]) -> None:
        super().__init__(message)
        self.doubts = doubts
        self.partial = partial


class NeedsData(Exception):
    """The rest can be planned only when what is planned so far has run; the message is the rest."""


class DataForm(StrEnum):
    """The form of a value, as far as it is known before a run."""

    DATA = "data"
    TEXT = "text"
    TABLE = "table"
    VALUE = "value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """The meaning of "it": the output of the last step.

    `results` are the names of the draft's results for it. `node` is the http node whose response
    it is, and `nouns` are the words that the task may call it by.
    """

    reference: str
    form: DataForm
    results: tuple[str, ...] = ()
    node: dict[str, Any] | None = None
    nouns: frozenset[str] = frozenset()
    #: Those of them that are words for the whole of it.
    own: frozenset[str] = frozenset()
    #: True if it should be a list.
    collection: bool = False
    #: Where it comes from, for operations that must know: the name of a file, a URL.
    origin: str = ""
    #: True if it is what list nodes made.
    entries: bool = False


@dataclass(slots=True)
class Draft:
    """Nodes, inputs and results so far. All references lead to something."""

    #: What there is to plan with.
    pairs: Mapping[str, Any] = field(default_factory=dict)
    components: tuple[Interface, ...] = ()
    saved_workflows: tuple[SavedWorkflow, ...] = ()
    memory: Memory | None = None
    nodes: list[dict[str, Any]] = field(default_factory=list)
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    #: The outputs of the workflow: references by name.
    results: dict[str, str] = field(default_factory=dict)
    #: Those that have been written to a file already.
    written: set[str] = field(default_factory=set)
    #: Those that are the path of a file.
    files: set[str] = field(default_factory=set)
    #: Values that a later clause can refer to by name, such as `{id}` in a URL.
    known: dict[str, str] = field(default_factory=dict)
    topic: Topic | None = None
    #: The pairs of the task that a `{name}` has taken.
    used: set[str] = field(default_factory=set)
    task: str = ""
    #: The outputs of the nodes that have run already, by node.
    store: Mapping[str, Any] = field(default_factory=dict)
    #: The paths that a person set for words in doubt, by field.
    paths: Mapping[str, str] = field(default_factory=dict)
    #: True once the task says "for each"; `batch` is then the list that a request is made for.
    each: bool = False
    batch: str = ""
    #: True if the task says "all pages".
    all_pages: bool = False
    #: The param and the variable that requests authenticate themselves with, said beforehand.
    credential: tuple[str, Variable] | None = None
    #: The answer of a login, and the origin that it is for.
    login: tuple[str, str] | None = None

    def data(self, reference: str, clause: str) -> Any:
        """Return the value of a reference in what has run. Raises NeedsData if it has not."""
        try:
            value = compile_template(reference).render(self.store)
        except Unresolved:
            raise NeedsData(clause) from None
        return opened(value) if isinstance(value, str) else value

    def node(self, name: str, type_: str, params: dict[str, Any]) -> dict[str, Any]:
        """Add a node under this name, or one like it that is free."""
        node = {"id": self._free(name), "type": type_, "params": params}
        self.nodes.append(node)
        return node

    def python(self, name: str, code: str, inputs: dict[str, Any]) -> str:
        """Add a node that runs code, and return the reference to its result."""
        node = self.node(name, "python", {"code": code, "inputs": inputs})
        return f"${{{node['id']}.result}}"

    def input(self, name: str, value: Any, *, secret: bool = False, description: str = "") -> str:
        """Add an input that the task gives a value for, and return a reference to it."""
        free = self._free(name)
        spec = {"type": _TYPES.get(type(value)), "description": description}
        self.inputs[free] = {key: text for key, text in spec.items() if text}
        if not secret:
            self.inputs[free]["default"] = value
        self.params[free] = value
        return f"${{{free}}}"

    def missing(self, name: str, description: str = "", type_: str | None = None) -> str:
        """Add an input that the task gives no value for: the user is asked for it."""
        if name in self.inputs:
            return f"${{{name}}}"
        free = self._free(name)
        spec = {"type": type_, "description": description}
        self.inputs[free] = {key: value for key, value in spec.items() if value}
        return f"${{{free}}}"

    def give(self, name: str, reference: str) -> str:
        """Add a result under this name, or one like it that is free; return the name."""
        free = _unlike(name, self.results)
        self.results[free] = reference
        return free

    def set_topic(self, name: str, reference: str, form: DataForm, **facts: Any) -> tuple[str, ...]:
        """Add a result, and make it the topic; return the result's name."""
        results = (self.give(name, reference),)
        self.topic = Topic(reference=reference, form=form, results=results, **facts)
        return results

    def give_known(self, name: str, reference: str) -> str:
        """Add a result that a later clause can refer to by this name."""
        self.known[name] = reference
        return self.give(name, reference)

    def drop(self, names: Iterable[str]) -> None:
        """Remove results that something else replaces."""
        for name in names:
            self.results.pop(name, None)

    def value(self, value: Any) -> Any:
        """Return a value of the task as a param, in which `${` is plain text."""
        if isinstance(value, Variable):
            return f"${{env.{value.name}}}"
        if isinstance(value, str):
            return literal(value)
        if isinstance(value, list):
            return [self.value(inner) for inner in value]
        if isinstance(value, dict):
            return {key: self.value(inner) for key, inner in value.items()}
        return value

    def plan(self) -> Plan:
        """Return the workflow, and what the task says for its inputs."""
        outputs = {name: {"source": reference} for name, reference in self.results.items()}
        parts = {"inputs": self.inputs, "nodes": self.nodes, "outputs": outputs}
        workflow = {name: part for name, part in parts.items() if part or name == "nodes"}
        return Plan(workflow=workflow, params=self.params, notes=tuple(self.notes))

    def _free(self, name: str) -> str:
        taken = {*self.inputs, *(node["id"] for node in self.nodes), *_RESERVED}
        return _unlike(re.sub(r"[^A-Za-z0-9_]", "_", name).strip("_") or "value", taken)


def literal(text: str) -> str:
    """Return a template that renders to this very text."""
    return text.replace("${", "$${")


def _unlike(name: str, taken: Iterable[str]) -> str:
    taken = set(taken)
    name = f"_{name}" if name[:1].isdigit() else name
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free
