"""Runtime fixes without a model: the paths and arguments that were meant, by what is really there.

`fix_workflow` proposes a workflow if it is sure of every correction, and else reports ranked
suggestions. `lessons` remembers what a run with the corrections has proven.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.planner.fix.draft import suggestions
    from runtrue.planner.fix.fix_workflow import fix_workflow
    from runtrue.planner.fix.references import redirect

__all__ = lazy_exports(__name__)
