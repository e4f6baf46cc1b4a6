"""Ask a person which of the fields that came back was meant."""

from __future__ import annotations

from typing import Any

import msgspec

from runtrue.flow import Ask
from runtrue.planner.context import PlannerNode, Shared
from runtrue.planner.seams import Doubt


class ClarificationNode(PlannerNode, Ask):
    """Asks a person for the paths of fields in doubt: `fix` goes on, `declined` ends the run.

    What was called is not called again: the paths are read in the answers that are recorded.
    """

    def prep(self, shared: Shared) -> dict[str, Any]:
        """Return the question: each field, with what it could be."""
        doubts: tuple[Doubt, ...] = shared["doubts"]
        return {"doubts": msgspec.to_builtins(doubts)}

    def post(self, shared: Shared, question: dict[str, Any], answer: Any) -> str:
        """Remember the paths, or give up."""
        doubts: tuple[Doubt, ...] = shared["doubts"]
        if not isinstance(answer, dict):
            fields = ", ".join(doubt.field for doubt in doubts)
            shared["planner_error"] = f"no path was set for: {fields}"
            return "declined"
        shared["set_paths"] = {**shared.get("set_paths", {}), **answer}
        return "fix"
