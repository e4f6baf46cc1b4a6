"""The seam between the planner's flow and the generator: a language model, or none at all.

What crosses it is plain data, so that each answer can be recorded and replayed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from msgspec import UNSET, UnsetType

from runtrue.loop import Finding
from runtrue.models import Usage
from runtrue.workflow import Interface


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedWorkflow:
    """A saved workflow, as a generator that looks for one sees it."""

    name: str
    description: str = ""
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowChoice:
    """The saved workflow that does the task, or None when none surely does."""

    workflow: str | None
    reason: str = ""
    #: A model chose it.
    by_model: bool = False
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """The values that the task gives for inputs, by name."""

    values: dict[str, Any]
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The node types to plan with, by name."""

    types: tuple[str, ...]
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """A task, the components for its workflow, and the problems of the workflow before."""

    task: str
    components: tuple[Interface, ...]
    saved: tuple[SavedWorkflow, ...] = ()
    #: What the task names: `url`, `file`, `command`, `text`, … by `planner.task`.
    named: dict[str, Any] = field(default_factory=dict)
    #: The workflow that failed the static check, and its problems.
    previous: dict[str, Any] | None = None
    problems: tuple[str, ...] = ()
    #: The outputs of what was planned and run so far, if a plan goes on. Left out before that.
    store: dict[str, Any] | UnsetType = UNSET
    #: The paths that a person set for words in doubt, by field.
    paths: dict[str, str] | UnsetType = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """One thing that could be meant by what was not found."""

    text: str
    confidence: float
    sample: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """Something that a workflow looked for and did not find, and what could be meant by it."""

    node_id: str
    attempted: str
    candidates: tuple[Suggestion, ...] = ()
    #: The name that a person sets the path of this field by; none where that does not help.
    field: str = ""
    #: What was wrong with the path that a person set.
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A workflow that should do the task, and the values that the task gives for its inputs."""

    workflow: dict[str, Any]
    params: dict[str, Any] = field(default_factory=dict)
    #: What the plan had to assume or to leave out, one sentence each.
    notes: tuple[str, ...] = ()
    usage: Usage | None = None
    #: True if more is to be planned, with what this has returned.
    continues: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPlan:
    """The reason why there is no workflow; if `transient`, asking again later may help."""

    reason: str
    transient: bool = False
    #: A person has to change something first, such as a key: no other planner takes over.
    final: bool = False
    #: Words that may name a field, where a person can say which.
    doubts: tuple[Doubt, ...] = ()
    #: The values that are sure all the same.
    partial: dict[str, Any] = field(default_factory=dict)
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FixRequest:
    """A workflow that was run, and its findings.

    `store` holds the inputs by name and the outputs of each node that ran, also those of the one
    that failed. `rejected` says why earlier proposals of this round were not run.
    """

    task: str
    workflow: dict[str, Any]
    params: dict[str, Any]
    findings: tuple[Finding, ...]
    store: dict[str, Any]
    components: tuple[Interface, ...] = ()
    rejected: tuple[str, ...] = ()
    #: The paths that a person set for fields in doubt, by the field's name.
    paths: dict[str, str] | UnsetType = UNSET
    #: How often a proposal of this round was rejected before, if it was.
    rejections: int | UnsetType = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedWorkflow:
    """A workflow that should fix the findings; only argument names, values and paths differ.

    `fixer` is who made it: `memory`, `fields`, `model`. `doubts` are findings that it leaves.
    """

    workflow: dict[str, Any]
    fixer: str
    doubts: tuple[Doubt, ...] = ()
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoFix:
    """The reason why nothing is proposed; if `transient`, asking again later may help."""

    reason: str
    transient: bool = False
    doubts: tuple[Doubt, ...] = ()
    #: The outputs of the workflow that are sure all the same.
    partial: dict[str, Any] = field(default_factory=dict)
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """The name and the purpose of a workflow."""

    name: str
    description: str
    usage: Usage | None = None


class WorkflowGenerator(Protocol):
    """Plans and fixes workflows. The planner checks every answer before it counts."""

    #: For people: `built-in`, or the model's name.
    name: str

    async def choose(self, task: str, saved: tuple[SavedWorkflow, ...]) -> WorkflowChoice:
        """Choose the saved workflow that does the whole task, if one surely does."""
        ...

    async def fill(self, task: str, inputs: dict[str, dict[str, Any]]) -> Values:
        """Read the values of declared inputs out of the task. Nothing is invented."""
        ...

    async def select(self, task: str, components: tuple[Interface, ...]) -> Selection:
        """Select the node types that are needed."""
        ...

    async def generate(self, request: GenerationRequest) -> Plan | NoPlan:
        """Make a workflow, or say why not."""
        ...

    async def fix(self, request: FixRequest) -> FixedWorkflow | NoFix:
        """Fix argument names, argument values and output paths, and nothing else."""
        ...

    async def describe(self, task: str, workflow: dict[str, Any]) -> Metadata:
        """Find a name and a description under which the workflow can be found again."""
        ...
