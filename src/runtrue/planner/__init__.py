"""The planner: from a task in plain words to a workflow that has been run.

Begin at `flow`, which wires `nodes` together and makes durable runs of the flow. The nodes ask a
`seams.WorkflowGenerator`: `built_in` needs no model, `model` asks one. `findings` says what was
wrong in a run, `fix` what was meant, and `bounds` what a fix may change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.planner.context import PlannerContext
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
    from runtrue.planner.flow import (
        create_planner_flow,
        is_dry_run,
        prepare_task,
        save_task,
        start_task,
    )
    from runtrue.planner.heal import HealReport, heal_workflow
    from runtrue.planner.report import MissingInput, TaskReport, report_of
    from runtrue.planner.seams import Doubt

__all__ = lazy_exports(__name__)
