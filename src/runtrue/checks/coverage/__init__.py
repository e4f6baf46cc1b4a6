"""Coverage: the lines that the tests ran, read from the reports of six formats.

The readers are imported only when there is a report: most runs of checks measure nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.checks.coverage.comments import lines_with_code
    from runtrue.checks.coverage.facts import (
        MEASURED,
        Coverage,
        FileCoverage,
        Measured,
        load_measured,
    )

__all__ = lazy_exports(__name__)
