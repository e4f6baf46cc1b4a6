"""What the nodes of the planner have in common."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from runtrue.flow import Node
from runtrue.models import Usage
from runtrue.planner.planning import Planning

Shared = dict[str, Any]


class PlannerNode(Node):
    """A node that works with what its run plans with; by default, what can be used from here."""

    def __init__(self, planning: Planning | None = None, name: str | None = None) -> None:
        super().__init__(name)
        self._given = planning

    @cached_property
    def planning(self) -> Planning:
        """What is planned with."""
        return self._given or Planning.here()


def count_usage(shared: Shared, *usages: Usage | None) -> None:
    """Add what a model used up to what the run has used so far."""
    used = [usage for usage in usages if usage is not None]
    if used:
        shared["usage"] = (*shared.get("usage", ()), *used)
