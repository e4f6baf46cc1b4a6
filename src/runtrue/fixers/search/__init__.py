"""Model-free repair of Python: small edits, tried by really running the tests.

`session` leads from failing tests to an edit; `localise` says where to look, `operators` and
`syntax` what to try, `forked_prover` runs the tests on it, and `rank` orders what passes.
"""

from runtrue.fixers.search.fixer import SearchFixer
from runtrue.fixers.search.report import Searching

__all__ = ["SearchFixer", "Searching"]
