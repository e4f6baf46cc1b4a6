"""Events of the planner: what it found, made, ran and changed."""

from __future__ import annotations

from dataclasses import dataclass

from runtrue.flow import Event
from runtrue.loop import Fault, Finding


class PlanningStarted(Event):
    """The task is being looked at."""

    journal_name = "planning"

    generator: str


class FoundExisting(Event):
    """A saved workflow already does the task."""

    name: str


class WorkflowMade(Event):
    """A workflow was planned, with these nodes."""

    nodes: tuple[str, ...]
    #: What it does, in one sentence.
    understood: str = ""


class InvalidWorkflowMade(Event):
    """The static check found problems in the planned workflow."""

    journal_name = "invalid_workflow"

    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingSummary:
    """The parts of a finding that a display needs."""

    node_id: str | None
    category: str
    message: str
    attempted: tuple[str, ...]
    fault: Fault

    @classmethod
    def of(cls, finding: Finding) -> FindingSummary:
        """Summarize a finding."""
        return cls(
            node_id=finding.location.symbol,
            category=finding.category,
            message=finding.message,
            attempted=finding.attempted,
            fault=finding.fault,
        )


class AttemptFinished(Event):
    """The workflow has run once."""

    number: int
    findings: tuple[FindingSummary, ...]


class WorkflowEvent(Event):
    """An event of the workflow that the planner tries."""

    recorded = False

    event: Event


class MemoryTrouble(Event):
    """The memory could not be read or written."""

    message: str


class FixProposed(Event):
    """A fixer changed the workflow, which runs again."""

    fixer: str
    changes: tuple[str, ...]


class FixRejected(Event):
    """A fixer's proposal is not run."""

    fixer: str
    reasons: tuple[str, ...]
