"""Comparison: a verdict in the light of another one, of the same candidate or of the baseline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from runtrue.loop.cause import NOTHING_COLLECTED, RESOURCE_LIMIT, TIMEOUT
from runtrue.loop.fault import Fault
from runtrue.loop.finding import Finding, Location, Outcome, Verdict

#: What cuts a run of tests short, so that it says nothing about those that did not run.
_CUT_SHORT = (TIMEOUT, RESOURCE_LIMIT, "time_spent", "signal", "not_runnable")


def fail_if_tests_vanished(baseline: Verdict, verdict: Verdict) -> Verdict:
    """`verdict`, failed when cases that the baseline ran were quietly not run this time.

    A candidate must not pass by having its tests skipped, deselected or made to vanish. They are in
    `vanished` also where the verdict fails for another reason.
    """
    if not verdict.passed and _is_cut_short(verdict):
        return verdict
    ran = (Outcome.PASSED, Outcome.FAILED)
    vanished = [
        case
        for case, outcome in baseline.cases.items()
        if outcome in ran
        and verdict.cases.get(case) not in (*ran, Outcome.ERROR)
        # A check that broke off before its report was one case; now that has its own.
        and not (case == verdict.check and verdict.cases)
    ]
    # What could not even be read may come to have other cases, but not to skip itself.
    unread = {case for case, outcome in baseline.cases.items() if outcome is Outcome.ERROR}
    unread |= {f.location.symbol or "" for f in baseline.findings} - baseline.cases.keys()
    vanished += sorted(case for case in unread if verdict.cases.get(case) is Outcome.SKIPPED)
    is_empty = [f.category for f in verdict.findings] == [NOTHING_COLLECTED]
    if not vanished:
        # All that there was may go, so that a run of nothing is as it should be.
        is_due = is_empty and baseline.passed and bool(baseline.cases)
        said = "no test is left to run"
        return replace(verdict, passed=True, findings=(), output=said) if is_due else verdict
    if is_empty:  # the candidate brought that about, not the machine
        verdict = replace(verdict, findings=())
    # Where a file could not be loaded, or the run died, its finding says why tests are missing.
    is_explained = any(f.location.symbol not in verdict.cases for f in verdict.findings)
    findings = () if is_explained else _not_run(verdict, vanished)
    return replace(
        verdict,
        passed=False,
        findings=(*verdict.findings, *findings),
        vanished=tuple(vanished),
    )


def _is_cut_short(verdict: Verdict) -> bool:
    """True if a failed run says nothing about the tests that it does not report."""
    return verdict.cut_short or any(
        finding.category in _CUT_SHORT or finding.fault in (Fault.ENVIRONMENT, Fault.CREDENTIALS)
        for finding in verdict.findings
    )


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


#: How many tests a message names.
_NAMED = 5


def _not_run(verdict: Verdict, vanished: list[str]) -> Iterator[Finding]:
    """Yield one finding for the vanished tests of each file."""
    files: dict[str, list[str]] = {}
    for case in vanished:
        files.setdefault(case.partition("::")[0] if "::" in case else "", []).append(case)
    for file, cases in files.items():
        skipped = sum(case in verdict.cases for case in cases)
        state = "skipped" if skipped == len(cases) else "skipped or gone" if skipped else "gone"
        if len(cases) == 1:
            message = f"ran before and is {state} now"
        else:
            names = [case.removeprefix(f"{file}::") for case in cases[:_NAMED]]
            more = f" and {len(cases) - _NAMED} more" if len(cases) > _NAMED else ""
            message = f"{len(cases)} tests ran before and are {state} now: {', '.join(names)}{more}"
        yield Finding(
            source=verdict.check,
            category="not_run",
            message=message,
            fault=Fault.CANDIDATE,
            location=Location(symbol=cases[0]),
            attempted=tuple(cases),
        )
