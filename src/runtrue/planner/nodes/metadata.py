"""What a workflow is called and what it is for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from runtrue.planner.nodes.base import PlannerNode, Shared, count_usage
from runtrue.planner.seams import Metadata
from runtrue.workflow import propose_name


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataInputs:
    """The task, and the workflow that does it."""

    task: str
    workflow: dict[str, Any]


class MetadataGenerationNode(PlannerNode):
    """Names and describes the workflow, once: mending it leaves its intent as it was."""

    def prep(self, shared: Shared) -> MetadataInputs | None:
        """What is to be described, if nothing is yet."""
        if "workflow_metadata" in shared:
            return None
        return MetadataInputs(task=str(shared["task"]), workflow=shared["generated_workflow"])

    async def exec(self, inputs: MetadataInputs | None) -> Metadata | None:
        """Let the generator find a name and a description."""
        if inputs is None:
            return None
        return await self.planning.generator.describe(inputs.task, inputs.workflow)

    def post(self, shared: Shared, inputs: MetadataInputs | None, found: Metadata | None) -> None:
        """Keep them for when the workflow is saved."""
        if found is not None:
            count_usage(shared, found.usage)
            shared["workflow_metadata"] = {
                "name": propose_name(found.name),
                "description": found.description,
            }
