"""runtrue runs AI-written code and workflows in a sandbox, and hands over only what passes.

Programs call `fix`, `gate`, `do`, `run` and `plan`, or the same with `_async`, whose events can be
iterated over while they work. `runtrue.testing` helps to test plugins.

Start reading at `runtrue.code.loop.fix`, the loop behind `runtrue fix`. It calls the repair cycle,
`runtrue.loop.repair`, which records its steps on a run, `runtrue.flow.Run`. `docs/architecture.md`
lists the files of each journey in order.
"""

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.cli.functions import (
        do,
        do_async,
        fix,
        fix_async,
        gate,
        gate_async,
        plan,
        plan_async,
        run,
        run_async,
    )
    from runtrue.cli.run_handle import RunHandle

__version__ = "0.1.0"

__all__ = lazy_exports(__name__)
