"""Comparison: a verdict in the light of another one, of the same candidate or of the baseline."""

from __future__ import annotations

from dataclasses import replace

from runtrue.loop.fault import Fault
from runtrue.loop.finding import Finding, Location, Outcome, Verdict


def fail_if_tests_vanished(baseline: Verdict, verdict: Verdict) -> Verdict:
    """`verdict`, failed when cases that the baseline ran were quietly not run this time.

    A candidate must not pass by having its tests skipped, deselected or made to vanish.
    """
    ran = (Outcome.PASSED, Outcome.FAILED)
    dodged = [
        case
        for case, outcome in baseline.cases.items()
        if outcome in ran and verdict.cases.get(case) not in (*ran, Outcome.ERROR)
    ]
    # What could not even be read may come to have other cases, but not to skip itself.
    unread = {case for case, outcome in baseline.cases.items() if outcome is Outcome.ERROR}
    unread |= {f.location.symbol or "" for f in baseline.findings} - baseline.cases.keys()
    dodged += sorted(case for case in unread if verdict.cases.get(case) is Outcome.SKIPPED)
    if not verdict.passed or not dodged:
        return verdict
    findings = (_not_run(verdict.check, case) for case in dodged)
    return replace(verdict, passed=False, findings=tuple(findings))


def merge_reruns(first: Verdict, second: Verdict) -> Verdict:
    """Return what holds of two verdicts on the same candidate: what failed in one of them is flaky.

    `first` may itself be what holds of two.
    """
    bad = (Outcome.FAILED, Outcome.ERROR)
    flaky = {
        case
        for one, other in ((first, second), (second, first))
        for case, outcome in one.cases.items()
        if outcome in bad and other.cases.get(case) is Outcome.PASSED
    }
    # All that the first one found is gone when the second passes, be it a case or not.
    gone = [f for f in first.findings if second.passed or f.location.symbol in flaky]
    came = [f for f in second.findings if f.location.symbol in flaky]
    left = tuple(f for f in second.findings if f.location.symbol not in flaky)
    found = {f.location.symbol or f.fingerprint: f for f in (*first.flaky, *gone, *came)}
    return replace(
        second,
        passed=second.passed or (bool(came) and not left),
        findings=left,
        cases={
            case: Outcome.PASSED if case in flaky else outcome
            for case, outcome in second.cases.items()
        },
        seconds=first.seconds + second.seconds,
        flaky=tuple(found.values()),
    )


def drop_known_failures(
    verdict: Verdict, files: tuple[str, ...], baseline: Verdict | None
) -> Verdict:
    """`verdict` without the failures of other files that were there before: they never block."""
    if not files or not verdict.findings:
        return verdict
    known = tuple(
        finding
        for finding in verdict.findings
        if (case := finding.location.symbol or "") in verdict.cases
        and "::" in case
        and not may_be_one_of(case.partition("::")[0], files)
        and (baseline is None or baseline.cases.get(case) in (Outcome.FAILED, Outcome.ERROR))
    )
    left = tuple(finding for finding in verdict.findings if finding not in known)
    return replace(verdict, passed=not left, findings=left, known=known) if known else verdict


def is_one_of(file: str, names: tuple[str, ...]) -> bool:
    """True if a file, named from the sandbox's root, is one that is named from somewhere in it."""
    return any(file == name or file.endswith(f"/{name}") for name in names)


def may_be_one_of(file: str, names: tuple[str, ...]) -> bool:
    """True if a file is one of some, where each may be named from anywhere in the sandbox."""
    return is_one_of(file, names) or any(name.endswith(f"/{file}") for name in names)


def _not_run(check: str, case: str) -> Finding:
    return Finding(
        source=check,
        category="not_run",
        message="ran before the fix and is skipped or gone after it",
        fault=Fault.CANDIDATE,
        location=Location(symbol=case),
    )
