"""Coverage: which lines the tests ran, read from the reports of six formats.

What reads reports is imported only when there is one: most runs of checks measure nothing.
"""

from runtrue.checks.coverage.comments import lines_with_code
from runtrue.checks.coverage.facts import Coverage, FileCoverage
from runtrue.checks.coverage.measured import Measured, forget_measured, keep_measured, load_measured

__all__ = [
    "Coverage",
    "FileCoverage",
    "Measured",
    "forget_measured",
    "keep_measured",
    "lines_with_code",
    "load_measured",
]
