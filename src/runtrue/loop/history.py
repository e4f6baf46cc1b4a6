"""History: the attempts of one loop, in order. Everything a decision is made from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from runtrue.loop.alternatives import Alternative
from runtrue.loop.analysis import Analysis
from runtrue.loop.cause import COVERAGE_UNMET, SECURITY_ISSUE, TESTS_MISSING, Cause, cause_of
from runtrue.loop.confidence import Confidence
from runtrue.loop.escalation import Escalation, Response
from runtrue.loop.fault import Fault
from runtrue.loop.finding import Finding, Mode, Outcome, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class FixPart:
    """What one fixer contributed: the findings it took on (by fingerprint) and what it did."""

    fixer: str
    findings: tuple[str, ...]
    description: str
    files: tuple[str, ...] = ()
    #: Files it edited that judge the candidate; they were put back as they were.
    restored: tuple[str, ...] = ()
    #: Files outside of the bounds that it edited; because of them none of its edits was kept.
    outside: tuple[str, ...] = ()
    #: Those of them that it only deleted, where it may change them.
    deleted: tuple[str, ...] = ()
    seconds: float = 0.0
    #: Why it gave nothing: the fixer itself failed, for reasons outside of the candidate.
    failure: str | None = None
    #: False if asking it again cannot help: its program or its key is missing.
    transient: bool = True
    #: The seconds after which it may be asked again, where somebody named them.
    retry_after: float | None = None
    #: Why what it proposed was not made or not kept.
    refused: str | None = None
    #: Its own words in one line, for people.
    said: str | None = None
    analysis: Analysis | None = None
    #: What it used up, where that is known: requests, tokens, money.
    usage: dict[str, float] | None = None
    #: What it tried, step by step, where it says so.
    trace: dict[str, Any] | None = None
    #: How sure it is to be right and why, where something besides the checks says so.
    confidence: Confidence | None = None
    #: The candidate after its edits.
    candidate: str = ""
    #: Other edits of its that pass and behave otherwise.
    alternatives: tuple[Alternative, ...] = ()
    #: What its edits have in common with edits that only get around the tests.
    signs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """A fixer of the ladder that was passed over, and why."""

    fixer: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One place that a fix changes: who changed it, and the failing tests that need it.

    In place of tests, `tests` names a check that has none of its own, such as a linter.
    """

    file: str
    line: int
    removed: int
    added: int
    fixer: str
    tests: tuple[str, ...] = ()
    needed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A new candidate, and who made it from which one."""

    base: str
    candidate: str
    parts: tuple[FixPart, ...] = ()
    skipped: tuple[Skip, ...] = ()
    #: The checks whose findings it is for.
    checks: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0
    #: The seconds that were waited before any fixer was asked.
    waited: float = 0.0
    #: The places that it changes, where there are several and it passes.
    hunks: tuple[Hunk, ...] = ()
    #: The diff without the places that no failing test needs, where that is only offered, and the
    #: file of its patch.
    reduced: str = ""
    reduced_patch: str | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """The files that differ from the base."""
        return tuple(sorted({file for part in self.parts for file in part.files}))

    @property
    def seconds(self) -> float:
        """The time all fixers took together, and the wait before them."""
        return self.waited + sum(part.seconds for part in self.parts)


class Reason(StrEnum):
    """Why a proposed fix was not run."""

    #: No fixer took on any of the findings.
    NO_FIXER = "no_fixer"
    #: It was escalated to fixers stronger than those that tried, and none took it on.
    NOBODY_STRONGER = "nobody_stronger"
    #: A fixer failed for reasons of its own: its program broke, timed out, was refused.
    FIXER_FAILED = "fixer_failed"
    #: The fixers left the candidate as it was.
    UNCHANGED = "unchanged"
    #: The candidate has already been run and failed.
    REPEATED = "repeated"
    #: What was changed lies outside of what the strategy allows.
    OUT_OF_BOUNDS = "out_of_bounds"
    #: All that is not allowed about it is that files were deleted, which a person may approve.
    NEEDS_APPROVAL = "needs_approval"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A fix that was proposed after attempt `after` and never run."""

    after: int
    fix: Fix
    reason: Reason

    @property
    def is_transient(self) -> bool:
        """True if a fixer that failed may succeed when it is asked again."""
        failed = [part for part in self.fix.parts if part.failure is not None]
        return not failed or any(part.transient for part in failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One execution of the checks on one candidate. The first has no fix: it is the baseline.

    `at` is when it began. `recheck` marks one that ran the same candidate again because of a
    transient fault; it has the number of the attempt that it repeats.
    """

    number: int
    candidate: str
    verdicts: tuple[Verdict, ...]
    fix: Fix | None = None
    recheck: bool = False
    at: float = 0.0
    #: The SHA-256 of the file that the task is about, where it is about one.
    code_hash: str | None = None
    analysis: Analysis | None = None

    @property
    def blocking(self) -> tuple[Finding, ...]:
        """The findings of the required checks that failed."""
        return tuple(f for v in self.verdicts if v.blocks for f in v.findings)

    @property
    def passed(self) -> bool:
        """True if every required check that was run passed."""
        return not any(verdict.blocks for verdict in self.verdicts)

    @property
    def works(self) -> bool:
        """True if all that still blocks was found by gates, on code that passes its checks."""
        gates = (COVERAGE_UNMET, SECURITY_ISSUE, TESTS_MISSING)
        return all(finding.category in gates for finding in self.blocking)

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """Other fixes that pass as well, and behave otherwise."""
        return next((p.alternatives for p in self._parts if p.alternatives), ())

    @property
    def base_of_alternatives(self) -> str:
        """The candidate that the alternatives are edits of."""
        base = self.fix.base if self.fix else self.candidate
        for part in self._parts:
            if part.alternatives:
                return base
            base = part.candidate or base
        return base

    @property
    def _parts(self) -> tuple[FixPart, ...]:
        return self.fix.parts if self.fix else ()

    def verdict(self, check: str) -> Verdict | None:
        """Return what the named check said, if it was run."""
        return next((v for v in self.verdicts if v.check == check), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a person said, after so many attempts and rejections."""

    text: str
    attempts: int
    rejections: int
    #: Paths that the person allowed to be changed from then on.
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """That the strategy was to be revised, after so many attempts, rejections and answers.

    Only one that failed is in a history: under a new strategy a new history begins.
    """

    attempts: int
    rejections: int
    answers: int
    failure: str
    cost: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What earlier parts of the same run have used up of the current budget."""

    #: Fixes that were tried, by the check whose findings they were for.
    fixes: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    cost: float = 0.0

    def plus(self, other: Spent) -> Spent:
        """Both together."""
        return Spent(
            fixes=dict(Counter(self.fixes) + Counter(other.fixes)),
            seconds=self.seconds + other.seconds,
            cost=self.cost + other.cost,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All attempts so far, what was rejected between them, and what people answered."""

    attempts: tuple[Attempt, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    answers: tuple[Answer, ...] = ()
    #: The triggers that fired.
    escalations: tuple[Escalation, ...] = ()
    #: What the checks said of the code before a generator changed it, where one did.
    before: tuple[Verdict, ...] = ()
    #: Revisions of the strategy that failed.
    revisions: tuple[Revision, ...] = ()
    #: What was used up before this history began.
    earlier: Spent = Spent()
    #: Whether the strategy was revised, or a person has spoken, before this history began.
    is_later: bool = False
    #: The confidence in what was done before the first attempt, where something says so.
    begun_with: Confidence | None = None

    def with_attempt(self, attempt: Attempt) -> History:
        """Add an attempt."""
        return replace(self, attempts=(*self.attempts, attempt))

    def with_rejection(self, rejection: Rejection) -> History:
        """Add a fix that is not run."""
        return replace(self, rejections=(*self.rejections, rejection))

    def with_answer(self, answer: Answer) -> History:
        """Add what a person said."""
        return replace(self, answers=(*self.answers, answer))

    @property
    def latest(self) -> Attempt:
        """The attempt that was run last."""
        return self.attempts[-1]

    @property
    def best(self) -> Attempt:
        """The attempt to build on: nothing broken, the fewest failures, then the least changed.

        Of equals, a later one also if its checks or what crashed come further. A test that only
        fails with another wrong value does not: wrong edits must not be built on one another.
        """
        best = self.attempts[0]
        for attempt in self.attempts[1:]:
            rank, best_rank = self._rank(attempt), self._rank(best)
            is_equal = rank == best_rank and (
                _comes_further(best, attempt) or self._changed(attempt) < self._changed(best)
            )
            if rank < best_rank or is_equal:
                best = attempt
        return best

    def _rank(self, attempt: Attempt) -> tuple[int, bool, bool, bool, int, int]:
        # What could not be judged is not better than what was judged and failed.
        unknown = any(finding.fault is not Fault.CANDIDATE for finding in attempt.blocking)
        required = [v for v in attempt.verdicts if v.mode is Mode.REQUIRED]
        outcomes = [outcome for verdict in required for outcome in verdict.cases.values()]
        unknown = unknown or any(verdict.partial for verdict in attempt.verdicts)
        return (
            len(self.regressions(attempt)),
            not attempt.passed,
            not attempt.works,
            unknown,
            len(attempt.blocking),
            # A runner that stops at the first failure comes further when that is fixed.
            -outcomes.count(Outcome.PASSED),
        )

    def _changed(self, attempt: Attempt) -> int:
        """Return how many lines the fixes changed, one upon the other, that made a candidate."""
        made = {one.candidate: one.fix for one in self.attempts if one.fix}
        lines, candidate = 0, attempt.candidate
        while (fix := made.pop(candidate, None)) is not None:
            lines, candidate = lines + fix.added + fix.removed, fix.base
        return lines

    @property
    def seconds(self) -> float:
        """The time that checks and fixers took."""
        checks = sum(v.seconds for a in self.attempts for v in a.verdicts)
        fixes = [a.fix for a in self.attempts if a.fix] + [r.fix for r in self.rejections]
        return checks + sum(fix.seconds for fix in fixes)

    @property
    def spent(self) -> Spent:
        """What has been used up of the current budget, with what was used up before."""
        since = self.since_last_answer()
        fixes = [a.fix for a in since.attempts if a.fix]
        fixes += [r.fix for r in since.rejections if r.reason in COUNTED]
        tried = Counter(check for fix in fixes for check in fix.checks)
        every = fixes + [r.fix for r in since.rejections if r.reason not in COUNTED]
        usage = [part.usage for fix in every for part in fix.parts if part.usage]
        own = Spent(
            fixes=dict(tried),
            seconds=since.seconds + sum(revision.seconds for revision in since.revisions),
            cost=sum(used.get("cost", 0.0) for used in usage)
            + sum(revision.cost for revision in since.revisions),
        )
        return since.earlier.plus(own)

    @property
    def needed(self) -> tuple[str, ...]:
        """The files outside of the bounds that fixes, or a step, were to change."""
        parts = (part for rejection in self.rejections for part in rejection.fix.parts)
        by_fixers = {file for part in parts for file in part.outside}
        findings = (f for f in self.latest.blocking if f.fault is Fault.STRATEGY)
        return tuple(sorted(by_fixers.union(*(finding.attempted for finding in findings))))

    @property
    def rechecks(self) -> int:
        """How many attempts only ran the same candidate again."""
        return sum(attempt.recheck for attempt in self.attempts)

    @property
    def baseline(self) -> tuple[Verdict, ...]:
        """What the checks said before the first change; of a check that was run again, the last."""
        first = [attempt for attempt in self.attempts if attempt.number == 1]
        at_first = {v.check: v for attempt in first for v in attempt.verdicts}
        return tuple({**at_first, **{v.check: v for v in self.before}}.values())

    def test_files(self) -> tuple[str, ...]:
        """The files whose tests ran in the baseline, as the names of the cases tell them.

        A doctest's file is not among them: that is the program itself.
        """
        cases = (case for verdict in self.baseline for case in verdict.cases if "::" in case)
        return tuple(sorted({case.partition("::")[0] for case in cases if not _is_doctest(case)}))

    def regressions(self, attempt: Attempt) -> tuple[str, ...]:
        """The named cases that passed in the baseline and fail in `attempt`, or are gone there."""
        broken = (Outcome.FAILED, Outcome.ERROR)
        found: list[str] = []
        for before in self.baseline:
            now = attempt.verdict(before.check)
            if before.mode is not Mode.REQUIRED or now is None:
                continue
            flaky = {finding.location.symbol for finding in before.flaky}
            found += (
                case
                for case, outcome in before.cases.items()
                if outcome is Outcome.PASSED and now.cases.get(case) in broken
                if case not in flaky
            )
            found += now.vanished
        return tuple(found)

    def case_names(self, check: str) -> tuple[str, ...]:
        """The names of a check's cases so far, in the order in which they were first seen."""
        verdicts = [v for v in self.before if v.check == check]
        verdicts += filter(None, (attempt.verdict(check) for attempt in self.attempts))
        return tuple(dict.fromkeys(case for verdict in verdicts for case in verdict.cases))

    def confirmed(self, check: str) -> frozenset[str]:
        """The cases of a check that are known to fail, and not only now and then."""
        verdicts = [a.verdict(check) for a in self.attempts]
        before = [v for v in self.before if v.check == check]
        return frozenset(
            case
            for verdict in (*before, *filter(None, verdicts))
            for case, outcome in verdict.cases.items()
            if outcome in (Outcome.FAILED, Outcome.ERROR)
        )

    @property
    def senior(self) -> Escalation | None:
        """The escalation to stronger fixers that is still to lead to an attempt, if there is one.

        Until then, whatever is tried again is tried by them.
        """
        last = self.escalations[-1] if self.escalations else None
        if (
            last is None
            or last.trigger.action is not Response.SENIOR_AGENT
            or last.attempts != len(self.attempts)
            or self.in_vain(last)
        ):
            return None
        return last

    def in_vain(self, escalation: Escalation) -> bool:
        """True if no stronger fixer took on what was escalated."""
        number = self.attempts[escalation.attempts - 1].number
        return any(
            rejection.reason is Reason.NOBODY_STRONGER and rejection.after == number
            for rejection in self.rejections[escalation.rejections :]
        )

    @property
    def is_advised(self) -> bool:
        """True if a person has said something, and nothing was tried since."""
        since = self.since_last_answer()
        return bool(self.answers) and not (since.attempts or since.rejections or since.revisions)

    def since_last_answer(self) -> History:
        """The part of the history that the current budget pays for."""
        if not self.answers:
            return self
        last = self.answers[-1]
        return History(
            attempts=self.attempts[last.attempts :],
            rejections=self.rejections[last.rejections :],
            escalations=tuple(e for e in self.escalations if e.attempts > last.attempts),
            revisions=tuple(r for r in self.revisions if r.answers >= len(self.answers)),
        )


#: Rejections that count as fixes that were tried.
COUNTED = (Reason.REPEATED, Reason.OUT_OF_BOUNDS, Reason.NEEDS_APPROVAL)


#: Causes after which a program cannot go on: without one, it comes further, if not to its end.
_STOPS = frozenset(Cause) - {Cause.WRONG_VALUE, Cause.UNKNOWN, Cause.TIMEOUT, Cause.NOT_RUN}


def _comes_further(before: Attempt, after: Attempt) -> bool:
    """True if checks that failed all pass and others fail, or if crashes gave way to others."""
    failed, fails = ({v.check for v in one.verdicts if v.blocks} for one in (before, after))
    is_stopped = all(cause_of(finding) in _STOPS for finding in before.blocking)
    return failed.isdisjoint(fails) or (is_stopped and _failures(before) != _failures(after))


def _failures(attempt: Attempt) -> Counter[tuple[str, str | None]]:
    return Counter((finding.fingerprint, finding.location.file) for finding in attempt.blocking)


def _is_doctest(case: str) -> bool:
    """True if a case is named after what a module holds: `shop.py::shop.total`."""
    file, _, test = case.partition("::")
    name = test.partition("[")[0]
    return "." in name or name == file.rpartition("/")[2].removesuffix(".py")
