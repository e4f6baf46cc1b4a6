"""The stages around generating and running: find, browse, map, check, describe, hand over."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtrue.flow import emit
from runtrue.models import ModelError, Usage
from runtrue.planner.context import MOST_RETRIES, PlannerNode, Shared, count_usage
from runtrue.planner.events import FoundExisting, InvalidWorkflowMade, PlanningStarted
from runtrue.planner.named import names_workflow
from runtrue.planner.seams import Metadata, SavedWorkflow
from runtrue.planner.task import read_task
from runtrue.workflow import (
    Interface,
    WorkflowStore,
    load_workflow,
    propose_name,
    validate_workflow,
)


class TaskStage(PlannerNode):
    """A node that works on the task alone."""

    def prep(self, shared: Shared) -> str:
        """Return the task."""
        return str(shared["task"])


# -- before generating --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """The saved workflows, and the one that does the task, if there is one."""

    saved: tuple[SavedWorkflow, ...]
    name: str | None = None
    workflow: dict[str, Any] | None = None
    #: A model chose it, and the task does not name it.
    chosen_by_model: bool = False
    usage: Usage | None = None


class WorkflowDiscoveryNode(TaskStage):
    """Finds a saved workflow that already does the task: `found_existing` or `not_found`."""

    async def exec(self, task: str) -> Discovered:
        """Let the generator choose among the saved workflows."""
        generator = self.context.generator
        emit(PlanningStarted(generator=generator.name))
        home = self.context.registry.home
        saved = tuple(
            SavedWorkflow(
                name=entry.name, description=entry.description, inputs=_declared(entry.inputs)
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
        return Discovered(
            saved=saved,
            name=choice.workflow,
            workflow=workflow,
            chosen_by_model=choice.by_model and not names_workflow(task, choice.workflow),
            usage=choice.usage,
        )

    def post(self, shared: Shared, task: str, found: Discovered) -> str:
        """Take the workflow that was found, or go on to generate one."""
        count_usage(shared, found.usage)
        shared["saved_workflows"] = found.saved
        if found.workflow is None:
            return "not_found"
        shared["found_workflow"] = found.name
        shared["generated_workflow"] = found.workflow
        if found.chosen_by_model is True:
            shared["chosen_by_model"] = True
        return "found_existing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """The node types to plan with, and the servers that did not list their tools."""

    interfaces: tuple[Interface, ...]
    silent: tuple[str, ...] = ()
    usage: Usage | None = None


class ComponentBrowsingNode(TaskStage):
    """Finds what a workflow can be made of: node types, tools of servers, operations of APIs."""

    async def exec(self, task: str) -> Components:
        """Ask servers that are new for their tools, then let the generator pick."""
        silent, interfaces = await asyncio.to_thread(self._browse, task)
        selection = await self.context.generator.select(task, interfaces)
        wanted = set(selection.types)
        picked = tuple(interface for interface in interfaces if interface.type in wanted)
        return Components(interfaces=picked or interfaces, silent=silent, usage=selection.usage)

    def _browse(self, task: str) -> tuple[tuple[str, ...], tuple[Interface, ...]]:
        registry = self.context.registry
        silent = registry.catalog.browse(task) if registry.servers else ()
        return silent, tuple(registry.interfaces_for(task))

    def post(self, shared: Shared, task: str, found: Components) -> None:
        """Store them for the generator."""
        count_usage(shared, found.usage)
        shared["components"] = found.interfaces
        shared["silent_servers"] = found.silent


class ParameterDiscoveryNode(TaskStage):
    """Reads what the task names: URLs, files, commands, values."""

    def exec(self, task: str) -> dict[str, Any]:
        """Read the task; no model is needed for that."""
        return {"named": read_task(task).named()}

    def post(self, shared: Shared, task: str, found: dict[str, Any]) -> None:
        """Store what the task names for the generator."""
        shared["discovered_params"] = found["named"]


# -- parameters ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingInputs:
    """The declared inputs, and the values that a newly generated workflow came with."""

    task: str
    inputs: dict[str, dict[str, Any]]
    given: dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """The values by name."""

    values: dict[str, Any]
    #: Why they could not be read out of the task.
    failure: str | None = None
    usage: Usage | None = None


class ParameterMappingNode(PlannerNode):
    """Gives each input its value: `params_complete`, `params_incomplete` or `run_existing`."""

    def prep(self, shared: Shared) -> MappingInputs:
        """Return the declared inputs; something that is no workflow declares none."""
        return MappingInputs(
            task=str(shared.get("task", "")),
            inputs=_declared(shared["generated_workflow"].get("inputs")),
            given=None if "found_workflow" in shared else shared.get("planned_params", {}),
        )

    async def exec(self, inputs: MappingInputs) -> Mapped:
        """Take the values that came with the workflow, or read them out of the task."""
        if inputs.given is not None or not inputs.inputs:
            return Mapped(values=inputs.given or {})
        try:
            filled = await self.context.generator.fill(inputs.task, inputs.inputs)
        except ModelError as error:
            return Mapped(values={}, failure=str(error), usage=error.usage)
        return Mapped(values=filled.values, usage=filled.usage)

    def post(self, shared: Shared, inputs: MappingInputs, mapped: Mapped) -> str:
        """Store the values, and stop if any is missing."""
        count_usage(shared, mapped.usage)
        if mapped.failure is not None:
            shared["planner_error"] = mapped.failure
            return "params_incomplete"
        declared, values = inputs.inputs, mapped.values
        shared["execution_params"] = {name: values[name] for name in values if name in declared}
        missing = [
            {"name": name, "description": spec.get("description", ""), "type": spec.get("type")}
            for name, spec in declared.items()
            if name not in values and spec.get("required", True) and "default" not in spec
        ]
        if missing:
            shared["missing_params"] = missing
            return "params_incomplete"
        return "run_existing" if "found_workflow" in shared else "params_complete"


class ParameterPreparationNode(PlannerNode):
    """Orders the parameters as the workflow declares them."""

    def post(self, shared: Shared, inputs: None, result: None) -> str:
        """Go on to `run` a workflow that was found; a generated one has just been run."""
        declared = shared["generated_workflow"].get("inputs") or {}
        given = shared.get("execution_params", {})
        shared["prepared_params"] = {name: given[name] for name in declared if name in given}
        return "run" if "found_workflow" in shared else "default"


# -- after generating ---------------------------------------------------------------------------


class ValidatorNode(PlannerNode):
    """Checks a workflow without running it: `metadata_generation`, `retry` or `failed`."""

    def prep(self, shared: Shared) -> dict[str, Any]:
        """Return the workflow."""
        return dict(shared["generated_workflow"])

    async def exec(self, workflow: dict[str, Any]) -> list[str]:
        """Return the problems, one sentence each."""
        # It may have to ask a server for its tools.
        found = await asyncio.to_thread(validate_workflow, workflow, registry=self.context.registry)
        problems = [str(problem) for problem in found]
        if problems:
            emit(InvalidWorkflowMade(problems=tuple(problems)))
        return problems

    def post(self, shared: Shared, workflow: dict[str, Any], problems: list[str]) -> str:
        """Go on, retry within a budget of its own, or fail."""
        attempts = shared.setdefault("generation_attempts", 0)
        if not problems:
            shared.pop("validation_errors", None)
            return "metadata_generation"
        shared["validation_errors"] = problems
        if attempts >= MOST_RETRIES:
            shared["planner_error"] = "it made no valid workflow: " + "; ".join(problems)
            return "failed"
        shared["generation_attempts"] = attempts + 1
        return "retry"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataInputs:
    """The task, and the workflow that does it."""

    task: str
    workflow: dict[str, Any]


class MetadataGenerationNode(PlannerNode):
    """Names and describes the workflow, once: a fix does not change its intent."""

    def prep(self, shared: Shared) -> MetadataInputs | None:
        """Return what to describe, unless that is done."""
        if "workflow_metadata" in shared:
            return None
        return MetadataInputs(task=str(shared["task"]), workflow=shared["generated_workflow"])

    async def exec(self, inputs: MetadataInputs | None) -> Metadata | None:
        """Ask the generator for a name and a description."""
        if inputs is None:
            return None
        return await self.context.generator.describe(inputs.task, inputs.workflow)

    def post(self, shared: Shared, inputs: MetadataInputs | None, found: Metadata | None) -> None:
        """Store them for when the workflow is saved."""
        if found is not None:
            count_usage(shared, found.usage)
            shared["workflow_metadata"] = {
                "name": propose_name(found.name),
                "description": found.description,
            }


class ResultPreparationNode(PlannerNode):
    """Puts together `planner_output`, whichever way the flow has come."""

    terminal = True

    def post(self, shared: Shared, inputs: None, result: None) -> None:
        """Store the workflow with its parameters and outputs, or why there is none."""
        errors = shared.get("runtime_errors", [])
        missing = shared.get("missing_params", [])
        reason = shared.get("planner_error")
        success = not (errors or missing or reason)
        metadata = shared.get("workflow_metadata")
        workflow = shared.get("generated_workflow")
        if workflow is not None and metadata is not None and "description" not in workflow:
            # A saved workflow is found by its description.
            workflow = {"description": metadata["description"], **workflow}
        shared["planner_output"] = {
            "success": success,
            "workflow_ir": workflow,
            "execution_params": shared.get("prepared_params", shared.get("execution_params", {})),
            "workflow_metadata": metadata,
            "found_workflow": shared.get("found_workflow"),
            "missing_params": missing,
            "runtime_errors": errors,
            "result": shared.get("result") if success else None,
            "error": reason,
        }


def _declared(inputs: Any) -> dict[str, dict[str, Any]]:
    specs = inputs if isinstance(inputs, Mapping) else {}
    return {name: dict(spec) for name, spec in specs.items() if isinstance(spec, dict)}
