"""The seam between the planner's flow and whoever does the thinking: a model, or no model at all.

What crosses it is plain data, so that each answer can be recorded and replayed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from runtrue.loop import Finding
from runtrue.models import Usage
from runtrue.workflow import Interface


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedWorkflow:
    """A saved workflow as somebody who looks for one sees it."""

    name: str
    description: str = ""
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The saved workflow that does the task, or None when none surely does."""

    workflow: str | None
    reason: str = ""
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """The values that the task gives for inputs, by name. What it does not say is not there."""

    values: dict[str, Any]
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The node types to plan with, by name."""

    types: tuple[str, ...]
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """What a workflow is wanted for, what it can be made of, and what was wrong with the last."""

    task: str
    components: tuple[Interface, ...]
    saved: tuple[SavedWorkflow, ...] = ()
    #: What the task names: `url`, `file`, `command`, `text`, … by `planner.task`.
    named: dict[str, Any] = field(default_factory=dict)
    #: The workflow that failed the static check, and its problems.
    previous: dict[str, Any] | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A workflow that should do the task, and the values that the task gives for its inputs."""

    workflow: dict[str, Any]
    params: dict[str, Any] = field(default_factory=dict)
    #: What the plan could not use of memory or had to assume, one sentence each.
    notes: tuple[str, ...] = ()
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPlan:
    """Why there is no workflow: one sentence a user can act on.

    With `transient`, whoever was asked could not answer now: asking again later may help.
    """

    reason: str
    transient: bool = False
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FixRequest:
    """A workflow that was run, and what was wrong; `store` is what really came back.

    `store` holds the inputs by name and the outputs of each node that ran, also those of the one
    that failed. `rejected` tells why earlier proposals of this round were not run.
    """

    task: str
    workflow: dict[str, Any]
    params: dict[str, Any]
    findings: tuple[Finding, ...]
    store: dict[str, Any]
    components: tuple[Interface, ...] = ()
    rejected: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One thing that could be meant by what was not found."""

    text: str
    confidence: float
    sample: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """What was looked for at a place of a workflow and not found, and what it could be."""

    node_id: str
    attempted: str
    candidates: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A workflow that should mend the findings; only argument names, values and paths differ.

    `fixer` is who made it: `memory`, `fields`, `model`. `doubts` are findings that it leaves.
    """

    workflow: dict[str, Any]
    fixer: str
    doubts: tuple[Doubt, ...] = ()
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoProposal:
    """Why nothing is proposed, and what each finding could have meant.

    With `transient`, whoever was asked could not answer now: asking again later may help.
    """

    reason: str
    transient: bool = False
    doubts: tuple[Doubt, ...] = ()
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What a workflow is called and what it is for."""

    name: str
    description: str
    usage: Usage | None = None


class Generator(Protocol):
    """Who plans. Its answers are proposals: the planner checks each before it counts."""

    #: Who it is, for people: `built-in`, or the model's name.
    name: str

    async def choose(self, task: str, saved: tuple[SavedWorkflow, ...]) -> Choice:
        """The saved workflow that does the whole task, if one surely does."""
        ...

    async def fill(self, task: str, inputs: dict[str, dict[str, Any]]) -> Values:
        """What the task says for these declared inputs. Nothing is invented."""
        ...

    async def select(self, task: str, components: tuple[Interface, ...]) -> Selection:
        """Which of the node types are needed."""
        ...

    async def generate(self, request: GenerationRequest) -> Plan | NoPlan:
        """Make a workflow, or say why not."""
        ...

    async def fix(self, request: FixRequest) -> Proposal | NoProposal:
        """Mend argument names, argument values and output paths, and nothing else."""
        ...

    async def describe(self, task: str, workflow: dict[str, Any]) -> Metadata:
        """A name and a description under which the workflow can be found again."""
        ...
