"""Totals: the number of tests in a verdict, by outcome."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from runtrue.loop import Outcome, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The numbers of one run of the tests."""

    total: int
    passed: int
    failed: int
    errors: int
    skipped: int
    duration_ms: float


def totals(verdict: Verdict) -> Totals:
    """Count the cases of a verdict.

    A failure outside of any case (a file that could not be loaded, a run that broke off) counts
    as an error, and in the total, too.
    """
    outcomes = Counter(verdict.cases.values())
    symbols = [finding.location.symbol for finding in verdict.findings]
    outside = len({symbol for symbol in symbols if symbol not in verdict.cases})
    return Totals(
        total=len(verdict.cases) + outside,
        passed=outcomes[Outcome.PASSED],
        failed=outcomes[Outcome.FAILED],
        errors=outcomes[Outcome.ERROR] + outside,
        skipped=outcomes[Outcome.SKIPPED],
        duration_ms=verdict.seconds * 1000,
    )
