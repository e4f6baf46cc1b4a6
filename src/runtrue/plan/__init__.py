"""Plans: strategize, execute within bounds, validate, fix and revalidate, apply.

`loop` is the whole journey; `orchestrator` is what happens when a required validation fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.loop import AutomationProfile, Bounds
    from runtrue.plan.amend import leave_note
    from runtrue.plan.amendment import Amendment, PlanCorrection
    from runtrue.plan.answers import answer_for, correct_plan, roll_back
    from runtrue.plan.apply_target import ApplyTarget
    from runtrue.plan.commit_plan import demand_target
    from runtrue.plan.context import PlanContext
    from runtrue.plan.events import (
        ApplyRefused,
        ApplyRenewed,
        BaselineFinished,
        BaselineStarted,
        FixSucceeded,
        PlanAmended,
        PlanApplied,
        PlanCommitted,
        StepDone,
        StepFailed,
        StepMerged,
        StepRefused,
        StepStarted,
        StrategizeFinished,
        StrategizeStarted,
        StrategyRevised,
        StrategyRevisionStarted,
    )
    from runtrue.plan.execute_step import STEP
    from runtrue.plan.loop import prepare_plan, sandbox_of_plan, start_plan
    from runtrue.plan.orchestrator import FixThenRevalidateOrchestrator, Validated
    from runtrue.plan.plan import KIND, PlanRequest, Validation, ValidationKind
    from runtrue.plan.plan_file import load_plan_file, plan_file_schema
    from runtrue.plan.plan_request import plan_use
    from runtrue.plan.plan_status import (
        Standing,
        Wanted,
        expire,
        must_be_complete,
        must_be_open,
        must_not_be_applied,
        standing_of,
        step_diffs,
        wanted_by,
    )
    from runtrue.plan.progress import StepResult, Strategizing
    from runtrue.plan.report import (
        FixEntry,
        PlanAttempt,
        PlanReport,
        PlanVerdict,
        QuestionReport,
        recorded_report,
    )
    from runtrue.plan.seams import (
        ActorReply,
        StepTask,
        Strategist,
        Strategized,
        StrategyTask,
    )
    from runtrue.plan.states import TRANSITIONS, Happening, Phase, PlanState, Position, transition
    from runtrue.plan.step_run import StepRun
    from runtrue.plan.strategy import Actor, Step, Strategy
    from runtrue.plan.wanted import position_at

__all__ = lazy_exports(__name__)
