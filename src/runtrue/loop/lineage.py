"""Lineage: the fixes that made a candidate, one upon the other, and the findings each fixed."""

from __future__ import annotations

from collections.abc import Iterator

from runtrue.loop.attempt import Attempt
from runtrue.loop.finding import Finding
from runtrue.loop.history import History


def lineage(history: History, candidate: str) -> Iterator[Attempt]:
    """The attempts whose fixes, one upon the other, make up a candidate, the last one first."""
    made = {attempt.candidate: attempt for attempt in history.attempts if attempt.fix}
    seen = set[str]()
    while candidate in made and candidate not in seen:
        seen.add(candidate)
        attempt = made[candidate]
        yield attempt
        candidate = attempt.fix.base if attempt.fix else ""


def fixed_findings(attempt: Attempt, history: History) -> Iterator[Finding]:
    """The findings of the candidate that a fix was made from that are gone after it."""
    base = attempt.fix.base if attempt.fix else ""
    before = next((a for a in history.attempts if a.candidate == base), None)
    left = {finding.fingerprint for finding in attempt.blocking}
    yield from (f for f in (before.blocking if before else ()) if f.fingerprint not in left)
