"""Model-free repair of Python: small edits, tried by really running the tests.

`session` leads from failing tests to an edit; `localise` says where to look, `operators` and
`syntax` what to try, `forked_prover` runs the tests on it, and `rank` orders what passes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.fixers.search.fixer import SearchFixer
    from runtrue.fixers.search.mutants import MutantReport, try_mutants
    from runtrue.fixers.search.report import Searching

__all__ = lazy_exports(__name__)
