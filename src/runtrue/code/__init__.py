"""The loop for code: make it, or take it as it is, run its tests, and fix it until they pass.

`flow` is the one journey behind `runtrue fix`, `runtrue code` and `runtrue gate`; `request` is what
a run is asked to do, `report` what it tells afterwards, `record` the same in the seed's schema.
"""

from runtrue.code.analyst import cause_in_words, strategy_for
from runtrue.code.context import CodeState
from runtrue.code.events import (
    BeforeStarted,
    GenerationFailed,
    GenerationFinished,
    GenerationStarted,
    Recalled,
)
from runtrue.code.gate import judged, lets_go, may_matter, signs_of
from runtrue.code.generate import mentions
from runtrue.code.loop import prepare_run, request_of, start_run
from runtrue.code.metrics import Facts, Metric, Period, metrics_of, periods_of
from runtrue.code.record import Record, RecordPhase, Status, schema
from runtrue.code.report import CodeReport, FixReport, VerdictReport, report_of
from runtrue.code.request import Apply, CodeRequest, Kind, plan_code, plan_fix, plan_gate
from runtrue.code.run_code_loop import run_code_loop
from runtrue.code.task import AgentType, CodeTask, Iteration, Stop, plan_task
from runtrue.loop import CodeType

__all__ = [
    "AgentType",
    "Apply",
    "BeforeStarted",
    "CodeReport",
    "CodeRequest",
    "CodeState",
    "CodeTask",
    "CodeType",
    "Facts",
    "FixReport",
    "GenerationFailed",
    "GenerationFinished",
    "GenerationStarted",
    "Iteration",
    "Kind",
    "Metric",
    "Period",
    "Recalled",
    "Record",
    "RecordPhase",
    "Status",
    "Stop",
    "VerdictReport",
    "cause_in_words",
    "judged",
    "lets_go",
    "may_matter",
    "mentions",
    "metrics_of",
    "periods_of",
    "plan_code",
    "plan_fix",
    "plan_gate",
    "plan_task",
    "prepare_run",
    "report_of",
    "request_of",
    "run_code_loop",
    "schema",
    "signs_of",
    "start_run",
    "strategy_for",
]
