"""History: the attempts of one loop, in order. Everything a decision is made from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from runtrue.loop.attempt import Attempt, Confidence, Reason, Rejection
from runtrue.loop.cause import Cause, cause_of
from runtrue.loop.escalation import Escalation, Response
from runtrue.loop.fault import Fault
from runtrue.loop.finding import Mode, Outcome, Verdict


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
