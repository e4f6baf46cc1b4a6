"""The generator without a model: a small grammar, and a rule for each thing that a task can name.

`clauses` reads the roles of words, `generator` decides what a clause is about, and `http`, `files`,
`commands`, `operations` and `tools` add nodes to the `draft`. `saved` finds saved workflows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.planner.built_in.generator import BuiltInGenerator
    from runtrue.planner.built_in.snippets import is_own_code
    from runtrue.planner.built_in.tools import names_tool

__all__ = lazy_exports(__name__)
