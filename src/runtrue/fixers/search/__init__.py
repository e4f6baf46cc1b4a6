"""Model-free repair of Python: small edits, tried by really running the tests.

`repair` is the way from failing tests to a patch; `localise` says where to look, `operators` and
`syntax` what to try, `proving` runs the tests on it, and `choosing` picks the best of what passes.
"""

from runtrue.fixers.search.fixer import SearchFixer
from runtrue.fixers.search.report import Searching

__all__ = ["SearchFixer", "Searching"]
