"""Model-free repair of JavaScript and TypeScript, behind the `search` fixer.

`session` leads from failing tests to an edit; `rules`, `expressions`, `statements`,
`statement_additions` and `part_additions` say what is tried, `damage` how files that do not parse
are repaired, and `warm_prover` runs the tests on candidates in node processes that stay loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.fixers.search.javascript.session import JavascriptSession

__all__ = lazy_exports(__name__)
