"""What the planner hands over."""

from __future__ import annotations

from typing import Any

from runtrue.planner.nodes.base import PlannerNode, Shared


class ResultPreparationNode(PlannerNode):
    """Puts together `planner_output`, whichever way the flow has come."""

    terminal = True

    def post(self, shared: Shared, inputs: None, result: None) -> None:
        """The workflow with its parameters and what its run gave, or why there is none."""
        errors = shared.get("runtime_errors", [])
        missing = shared.get("missing_params", [])
        reason = shared.get("planner_error")
        success = not (errors or missing or reason)
        metadata = shared.get("workflow_metadata")
        shared["planner_output"] = {
            "success": success,
            "workflow_ir": _described(shared.get("generated_workflow"), metadata),
            "execution_params": shared.get("prepared_params", shared.get("execution_params", {})),
            "workflow_metadata": metadata,
            "found_workflow": shared.get("found_workflow"),
            "missing_params": missing,
            "runtime_errors": errors,
            "result": shared.get("result") if success else None,
            "error": reason,
        }


def _described(
    workflow: dict[str, Any] | None, metadata: dict[str, Any] | None
) -> dict[str, Any] | None:
    """The workflow with its description in it, by which it is found when it is saved."""
    if workflow is None or metadata is None or "description" in workflow:
        return workflow
    return {"description": metadata["description"], **workflow}
