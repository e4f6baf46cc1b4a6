"""Parameters: the values that the task gives for a workflow's inputs. Nothing is invented."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from runtrue.models import ModelError, Usage
from runtrue.planner.nodes.base import PlannerNode, Shared, count_usage


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingInputs:
    """The declared inputs, and the values that came with the workflow, if it was made just now."""

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
        """What the workflow asks for. One that is no workflow asks for nothing."""
        inputs = shared["generated_workflow"].get("inputs")
        specs = inputs if isinstance(inputs, dict) else {}
        return MappingInputs(
            task=str(shared.get("task", "")),
            inputs={name: spec for name, spec in specs.items() if isinstance(spec, dict)},
            given=None if "found_workflow" in shared else shared.get("planned_params", {}),
        )

    async def exec(self, inputs: MappingInputs) -> Mapped:
        """Take the values that were planned with, or read them out of the task."""
        if inputs.given is not None or not inputs.inputs:
            return Mapped(values=inputs.given or {})
        try:
            filled = await self.planning.generator.fill(inputs.task, inputs.inputs)
        except ModelError as error:
            return Mapped(values={}, failure=str(error), usage=error.usage)
        return Mapped(values=filled.values, usage=filled.usage)

    def post(self, shared: Shared, inputs: MappingInputs, mapped: Mapped) -> str:
        """See whether anything is missing."""
        count_usage(shared, mapped.usage)
        if mapped.failure is not None:
            shared["planner_error"] = mapped.failure
            return "params_incomplete"
        declared = inputs.inputs
        shared["execution_params"] = {
            name: value for name, value in mapped.values.items() if name in declared
        }
        missing = [
            {"name": name, "description": spec.get("description", ""), "type": spec.get("type")}
            for name, spec in declared.items()
            if name not in mapped.values and spec.get("required", True) and "default" not in spec
        ]
        if missing:
            shared["missing_params"] = missing
            return "params_incomplete"
        return "run_existing" if "found_workflow" in shared else "params_complete"


class ParameterPreparationNode(PlannerNode):
    """Puts the parameters into the form in which the workflow can be run again."""

    def post(self, shared: Shared, inputs: None, result: None) -> str:
        """One that was found has still to be run; one that was made has just been."""
        workflow = shared["generated_workflow"]
        inputs_of = workflow.get("inputs") or {}
        given = shared.get("execution_params", {})
        # In the order in which the workflow declares them.
        shared["prepared_params"] = {name: given[name] for name in inputs_of if name in given}
        return "run" if "found_workflow" in shared else "default"
