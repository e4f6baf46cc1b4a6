"""Known findings: what a check had to say before the first change, which never blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum

from runtrue.loop.cause import Cause, cause_of
from runtrue.loop.fault import Fault
from runtrue.loop.finding import Finding, Outcome, Verdict


class Known(StrEnum):
    """What is done about the findings that a check had before the first change."""

    #: They are to be fixed: the check has to pass.
    FIX = "fix"
    #: They never block: the check fails for what a change adds.
    IGNORE = "ignore"


def drop_known_findings(verdict: Verdict, baseline: Verdict | None, known: Known) -> Verdict:
    """`verdict` without what was there before, which is known and never blocks.

    With nothing to compare with, the verdict is the baseline itself. Of a check whose findings are
    to be fixed, only tests that failed before for reasons outside of the candidate are dropped: no
    fix can make them pass.
    """
    if not verdict.findings:
        return verdict
    if known is Known.FIX:
        is_known = _failed_from_outside(verdict, baseline)
    else:
        is_known = _there_before(baseline)
    old: list[Finding] = []
    left: list[Finding] = []
    for finding in verdict.findings:
        (old if is_known(finding) else left).append(finding)
    if not old:
        return verdict
    return replace(verdict, passed=not left, findings=tuple(left), known=(*verdict.known, *old))


def _failed_from_outside(verdict: Verdict, baseline: Verdict | None) -> Callable[[Finding], bool]:
    """Return whether a test fails, and failed before, for reasons outside of the candidate."""
    findings = baseline.findings if baseline else ()
    before = {f.location.symbol for f in findings if f.fault is not Fault.CANDIDATE}

    def is_known(finding: Finding) -> bool:
        case = finding.location.symbol
        return finding.fault is not Fault.CANDIDATE and case in before and case in verdict.cases

    return is_known


def _there_before(baseline: Verdict | None) -> Callable[[Finding], bool]:
    """Return whether the baseline has a finding as well; asked again, whether it has another."""
    if baseline is None or _saw_little(baseline):
        return lambda finding: True
    bad = (Outcome.FAILED, Outcome.ERROR)
    failing = {case for case, outcome in baseline.cases.items() if outcome in bad}
    seen = (*baseline.findings, *baseline.known)
    counts = Counter(map(_identity, seen))
    # Nothing but the syntax error was reported of such a file: the rest was hidden by it.
    unread = {f.location.file for f in seen if f.location.file and cause_of(f) is Cause.SYNTAX}

    def is_known(finding: Finding) -> bool:
        if finding.location.symbol in failing or finding.location.file in unread:
            return True
        identity = _identity(finding)
        counts[identity] -= 1
        return counts[identity] >= 0

    return is_known


def _identity(finding: Finding) -> tuple[str, str | None]:
    return finding.fingerprint, finding.location.file


def _saw_little(baseline: Verdict) -> bool:
    """True if the check broke off, so that what it found is not all that there was.

    Linters exit with 1 for findings; with more, or by a signal, they did not come to their end.
    """
    seen = (*baseline.findings, *baseline.known)
    broke_off = bool(seen) and baseline.exit_code not in (0, 1) and not baseline.cases
    return broke_off or any(f.fault is not Fault.CANDIDATE for f in seen)
