"""Looking around: is there a workflow already, what can one be made of, what does the task name."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from runtrue.flow import emit
from runtrue.models import Usage
from runtrue.planner.events import FoundExisting, PlanningStarted
from runtrue.planner.nodes.base import PlannerNode, Shared, count_usage
from runtrue.planner.seams import SavedWorkflow
from runtrue.planner.task import read_task
from runtrue.workflow import Interface, WorkflowStore, load_workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """What is saved, and the one that does the task, if there is one."""

    saved: tuple[SavedWorkflow, ...]
    name: str | None = None
    workflow: dict[str, Any] | None = None
    usage: Usage | None = None


class WorkflowDiscoveryNode(PlannerNode):
    """Finds a saved workflow that already does the task: `found_existing` or `not_found`."""

    def prep(self, shared: Shared) -> str:
        """The task."""
        return str(shared["task"])

    async def exec(self, task: str) -> Discovered:
        """Read what is saved, and let the generator choose."""
        generator = self.planning.generator
        emit(PlanningStarted(generator=generator.name))
        home = self.planning.registry.home
        saved = tuple(
            SavedWorkflow(
                name=entry.name, description=entry.description, inputs=_plain(entry.inputs)
            )
            for entry in WorkflowStore(home).list()
            if entry.problem is None
        )
        if not saved:
            return Discovered(saved=())
        choice = await generator.choose(task, saved)
        if choice.workflow not in {entry.name for entry in saved}:
            return Discovered(saved=saved, usage=choice.usage)
        emit(FoundExisting(name=choice.workflow))
        workflow = dict(load_workflow(choice.workflow, home=home))
        return Discovered(saved=saved, name=choice.workflow, workflow=workflow, usage=choice.usage)

    def post(self, shared: Shared, task: str, found: Discovered) -> str:
        """Take the workflow that was found, or go on to make one."""
        count_usage(shared, found.usage)
        shared["saved_workflows"] = found.saved
        if found.workflow is None:
            return "not_found"
        shared["found_workflow"] = found.name
        shared["generated_workflow"] = found.workflow
        return "found_existing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """The node types to plan with, and the servers that could not be asked for theirs."""

    interfaces: tuple[Interface, ...]
    silent: tuple[str, ...] = ()
    usage: Usage | None = None


class ComponentBrowsingNode(PlannerNode):
    """Finds out what a workflow can be made of: node types, and the tools of all MCP servers."""

    def prep(self, shared: Shared) -> str:
        """The task."""
        return str(shared["task"])

    async def exec(self, task: str) -> Components:
        """Ask every server for its tools, then let the generator pick."""
        silent, interfaces = await asyncio.to_thread(self._browse)
        selection = await self.planning.generator.select(task, interfaces)
        wanted = set(selection.types)
        picked = tuple(interface for interface in interfaces if interface.type in wanted)
        return Components(interfaces=picked or interfaces, silent=silent, usage=selection.usage)

    def _browse(self) -> tuple[tuple[str, ...], tuple[Interface, ...]]:
        registry = self.planning.registry
        silent = tuple(name for name in registry.servers if registry.catalog.tools(name) is None)
        return silent, tuple(registry.interfaces())

    def post(self, shared: Shared, task: str, found: Components) -> None:
        """Keep them for the generator."""
        count_usage(shared, found.usage)
        shared["components"] = found.interfaces
        shared["silent_servers"] = found.silent


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What the task names."""

    named: dict[str, Any] = field(default_factory=dict)


class ParameterDiscoveryNode(PlannerNode):
    """Reads out of the task what it names: URLs, files, commands, values."""

    def prep(self, shared: Shared) -> str:
        """The task."""
        return str(shared["task"])

    def exec(self, task: str) -> Named:
        """Read it; no model is needed for that."""
        return Named(named=read_task(task).named())

    def post(self, shared: Shared, task: str, found: Named) -> None:
        """Keep it for the generator."""
        shared["discovered_params"] = found.named


def _plain(inputs: Any) -> dict[str, dict[str, Any]]:
    return {name: dict(spec) for name, spec in inputs.items() if isinstance(spec, dict)}
