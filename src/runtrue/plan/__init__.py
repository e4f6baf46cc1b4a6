"""Plans: strategize, execute within bounds, validate, fix and revalidate, apply.

`loop` is the whole journey; `orchestrator` is what happens when a required validation fails.
"""

from runtrue.loop import AutomationProfile, Bounds
from runtrue.plan.context import PlanContext
from runtrue.plan.events import (
    ApplyRefused,
    ApplyRenewed,
    FixSucceeded,
    PlanApplied,
    StepDone,
    StepFailed,
    StepRefused,
    StepStarted,
    StrategizeFinished,
    StrategizeStarted,
    StrategyRevised,
    StrategyRevisionStarted,
)
from runtrue.plan.execute_step import STEP
from runtrue.plan.loop import prepare_plan, start_plan
from runtrue.plan.orchestrator import FixThenRevalidateOrchestrator
from runtrue.plan.plan import KIND, PlanRequest, Validation, ValidationKind
from runtrue.plan.plan_file import load_plan_file
from runtrue.plan.plan_request import plan_use
from runtrue.plan.plan_status import (
    Standing,
    Wanted,
    answer_for,
    expire,
    must_be_complete,
    must_be_open,
    must_not_be_applied,
    standing_of,
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
from runtrue.plan.strategy import Actor, Step, Strategy

__all__ = [
    "KIND",
    "STEP",
    "TRANSITIONS",
    "Actor",
    "ActorReply",
    "ApplyRefused",
    "ApplyRenewed",
    "AutomationProfile",
    "Bounds",
    "FixEntry",
    "FixSucceeded",
    "FixThenRevalidateOrchestrator",
    "Happening",
    "Phase",
    "PlanApplied",
    "PlanAttempt",
    "PlanContext",
    "PlanReport",
    "PlanRequest",
    "PlanState",
    "PlanVerdict",
    "Position",
    "QuestionReport",
    "Standing",
    "Step",
    "StepDone",
    "StepFailed",
    "StepRefused",
    "StepResult",
    "StepStarted",
    "StepTask",
    "Strategist",
    "StrategizeFinished",
    "StrategizeStarted",
    "Strategized",
    "Strategizing",
    "Strategy",
    "StrategyRevised",
    "StrategyRevisionStarted",
    "StrategyTask",
    "Validation",
    "ValidationKind",
    "Wanted",
    "answer_for",
    "expire",
    "load_plan_file",
    "must_be_complete",
    "must_be_open",
    "must_not_be_applied",
    "plan_use",
    "prepare_plan",
    "recorded_report",
    "standing_of",
    "start_plan",
    "transition",
    "wanted_by",
]
