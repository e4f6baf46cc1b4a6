"""The planner: from a task in plain words to a workflow that has been run.

Begin at `flow`, which wires `nodes` together. Who thinks is behind `seams.Generator`: `built_in`
needs no model, `model` asks one. `findings` says what was wrong in a run, `bounds` what a fix may
change, and `run` makes a durable run of it all.
"""

from runtrue.planner.events import (
    AttemptFinished,
    FindingSummary,
    FixProposed,
    FixRejected,
    FoundExisting,
    InvalidWorkflowMade,
    MemoryTrouble,
    PlanningStarted,
    WorkflowEvent,
    WorkflowMade,
)
from runtrue.planner.flow import create_planner_flow
from runtrue.planner.planning import Planning
from runtrue.planner.run import prepare_task, report_of, save_task, start_task

__all__ = [
    "AttemptFinished",
    "FindingSummary",
    "FixProposed",
    "FixRejected",
    "FoundExisting",
    "InvalidWorkflowMade",
    "MemoryTrouble",
    "Planning",
    "PlanningStarted",
    "WorkflowEvent",
    "WorkflowMade",
    "create_planner_flow",
    "prepare_task",
    "report_of",
    "save_task",
    "start_task",
]
