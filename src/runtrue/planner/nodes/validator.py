"""The static check of a generated workflow, with a budget of its own."""

from __future__ import annotations

import asyncio
from typing import Any

from runtrue.flow import emit
from runtrue.planner.events import InvalidWorkflowMade
from runtrue.planner.nodes.base import PlannerNode, Shared
from runtrue.planner.planning import MOST_RETRIES
from runtrue.workflow import validate_workflow


class ValidatorNode(PlannerNode):
    """Finds what is wrong without running: `metadata_generation`, `retry` or `failed`."""

    def prep(self, shared: Shared) -> dict[str, Any]:
        """The workflow."""
        return dict(shared["generated_workflow"])

    async def exec(self, workflow: dict[str, Any]) -> list[str]:
        """The problems, one sentence each."""
        # It may have to ask a server for its tools.
        problems = await asyncio.to_thread(
            validate_workflow, workflow, registry=self.planning.registry
        )
        if problems:
            emit(InvalidWorkflowMade(problems=tuple(map(str, problems))))
        return [str(problem) for problem in problems]

    def post(self, shared: Shared, workflow: dict[str, Any], problems: list[str]) -> str:
        """Go on, go back, or give up."""
        attempts = shared.setdefault("generation_attempts", 0)
        if not problems:
            shared.pop("validation_errors", None)
            return "metadata_generation"
        shared["validation_errors"] = problems
        if attempts >= MOST_RETRIES:
            shared["planner_error"] = "no valid workflow came of it: " + "; ".join(problems)
            return "failed"
        shared["generation_attempts"] = attempts + 1
        return "retry"
