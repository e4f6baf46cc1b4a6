"""The loop for code: make a project's checks pass, proven by running them.

`fix` is the journey behind `runtrue fix`, `request` what a run is asked to do, and `report` what
it tells afterwards.
"""

from runtrue.code.fix import KIND, prepare_fix, start_fix
from runtrue.code.report import report_of
from runtrue.code.request import Apply, FixRequest, plan_fix

__all__ = ["KIND", "Apply", "FixRequest", "plan_fix", "prepare_fix", "report_of", "start_fix"]
