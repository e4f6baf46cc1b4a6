"""The loop for code: make it, or take it as it is, run its tests, and fix it until they pass.

`flow` is the one journey behind `runtrue fix`, `runtrue code` and `runtrue gate`; `request` is what
a run is asked to do, `report` what it tells afterwards, `record` the same in the seed's schema.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.code.analyst import cause_in_words, strategy_for
    from runtrue.code.apply_hunks import AppliedHunks, apply_hunks
    from runtrue.code.apply_patch import apply_patch
    from runtrue.code.calibration import CalibrationGroup, JudgedFix, calibration_of
    from runtrue.code.context import CodeState
    from runtrue.code.events import (
        BeforeStarted,
        GenerationFailed,
        GenerationFinished,
        GenerationStarted,
        Recalled,
    )
    from runtrue.code.gate import PATIENCE, judged, lets_go, may_matter, signs_of
    from runtrue.code.generate import mentions
    from runtrue.code.loop import (
        new_run,
        prepare_run,
        question_of,
        request_of,
        sandbox_of_run,
        start_run,
    )
    from runtrue.code.make_report import report_of
    from runtrue.code.metrics import Facts, Metric, Period, metrics_of, periods_of
    from runtrue.code.record import Record, RecordPhase, Status, schema
    from runtrue.code.report import AttemptReport, CodeReport, FixReport, VerdictReport
    from runtrue.code.request import Apply, CodeRequest, Kind, plan_code, plan_fix, plan_gate
    from runtrue.code.run_code_loop import run_code_loop
    from runtrue.code.task import AgentType, CodeTask, Iteration, Stop, plan_task
    from runtrue.loop import CodeType

__all__ = lazy_exports(__name__)
