"""Coverage: the lines that the tests ran, read from the reports of six formats.

The readers are imported only when there is a report: most runs of checks measure nothing.
"""

from runtrue.checks.coverage.comments import lines_with_code
from runtrue.checks.coverage.facts import MEASURED, Coverage, FileCoverage, Measured

__all__ = ["MEASURED", "Coverage", "FileCoverage", "Measured", "lines_with_code"]
