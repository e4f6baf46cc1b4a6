"""runtrue runs AI-written code and workflows in a sandbox, and hands over only what passes.

Programs call `run_fix`, `run_gate`, `run_plan`, `run_task` and `run_workflow`, or the same with
`_async`.

Start reading at `runtrue.code.loop.fix`, the loop behind `runtrue fix`. It calls the repair cycle,
`runtrue.loop.repair`, which records its steps on a run, `runtrue.flow.Run`. `docs/architecture.md`
lists the files of each journey in order.
"""

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.cli.functions import (
        run_fix,
        run_fix_async,
        run_gate,
        run_gate_async,
        run_plan,
        run_plan_async,
        run_task,
        run_task_async,
        run_workflow,
        run_workflow_async,
    )

__version__ = "0.1.0"

__all__ = lazy_exports(
    __name__,
    {
        "cli.functions": (
            "run_fix run_fix_async run_gate run_gate_async run_plan run_plan_async run_task "
            "run_task_async run_workflow run_workflow_async"
        ),
    },
)
