"""Edit search: candidates are tried in order until enough of them pass, or the budget is spent.

    singles ─▶ the slow ones again, with more patience ─▶ pairs
       └───────── a candidate passes ─────────▶ a few more, to choose from

The same program, tests and seed give the same result, unless the time ends the search.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Protocol

from runtrue.fixers.search.budget import WAITING, Allowance
from runtrue.fixers.search.evidence import Baseline
from runtrue.fixers.search.localise import Suspicion
from runtrue.fixers.search.priors import cause_of_failure
from runtrue.fixers.search.proposals import EditSet, Proposals
from runtrue.fixers.search.reach import TestReach
from runtrue.fixers.search.report import Stopped
from runtrue.fixers.search.trial import End, ProofResult
from runtrue.loop import Cause

#: After the first candidate that passes at position n, as many more are tried as n, within these.
_MORE = 100, 1_500
#: The same where only a few tests failed, for a wrong value: that is more easily right by chance
#: than many tests, or than an exception that says what is missing.
_MORE_IF_FEW, _FEW = (400, 1_500), 2
#: Seconds that the failing tests may take together to be all run on each candidate.
_CHEAP = 0.05
#: Where the failing tests are slow, the share of the time for these further ones; or as long as it
#: took to the first, if that is more.
_LOOK_ON = 0.35
#: Seconds for looking at those that fix only some tests, at least.
_PARTS = 2.0
#: Candidates that pass are enough at this number.
_ENOUGH = 24
#: Slow candidates that are tried again, and with how much more patience.
_SLOW, _PATIENCE = 40, 8.0
#: Where a failing test does not end, the first candidates that are too slow have another try.
_SECOND_CHANCES = 3
#: Edits that pairs are made of: those that changed how the tests fail, and those beside them.
_TELLING, _PARTNERS = 60, 400
_REPORT_EVERY = 0.25
#: Seconds after which to look whether the time is up, while a trial runs.
_LOOK = 0.5


class AnyProver(Protocol):
    """Runs the tests on candidates: in forks, or in a process for each."""

    async def prove(
        self,
        texts: dict[str, str],
        *,
        only: Sequence[str] | None = None,
        whole: bool = False,
        patience: float = 1.0,
    ) -> ProofResult:
        """Run the tests on a candidate."""
        ...


@dataclass(slots=True)
class SearchTally:
    """The trials of a search so far."""

    tried: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    ends: Counter[End] = field(default_factory=Counter)
    passing: dict[int, EditSet] = field(default_factory=dict)
    slow: list[EditSet] = field(default_factory=list)
    #: Candidates under which tests fail in another way, with the number of tests they fix.
    telling: list[tuple[int, EditSet]] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    stopped: Stopped = Stopped.EXHAUSTED

    def take(
        self,
        at: int,
        candidate: EditSet,
        trial: ProofResult,
        *,
        patience: float,
        usual: frozenset[str],
    ) -> None:
        """Count a trial. `usual` are the exceptions without any edit."""
        self.tried += 1
        self.kinds[candidate.kind] += 1
        self.ends[trial.end] += 1
        if trial.end is End.PASSED:
            self.passing[at] = candidate
        elif trial.end is End.TIMEOUT and patience == 1.0:
            self.slow.append(candidate)
        elif trial.end is End.FAILED and (trial.fixed or trial.detail not in usual):
            self.telling.append((len(trial.fixed), candidate))

    @property
    def rate(self) -> float:
        """Candidates per second."""
        return self.tried / max(time.monotonic() - self.started, 1e-3)


@dataclass(eq=False)
class EditTrials:
    """Tries candidates side by side, in their order, until enough have passed.

    `only` are the tests that count, if not all do, `usual` the exceptions without any edit, and
    `more` the bounds of how many candidates are tried after the first that passes.
    """

    prover: AnyProver
    base: dict[str, str]
    allowance: Allowance
    _: KW_ONLY
    only: Sequence[str] | None
    usual: frozenset[str] = frozenset()
    more: tuple[int, int]
    #: True if the tests take long: then time limits what is tried after the first that passes.
    slow: bool = False
    report: Callable[[SearchTally], None] = lambda tally: None
    tally: SearchTally = field(default_factory=SearchTally)
    _reported: float = 0.0
    #: When it began, and when the first passed, by the allowance's clock.
    _began: float = 0.0
    _first: float | None = None
    _tried: dict[int, tuple[EditSet, ProofResult, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._began = self.allowance.clock()

    async def all(self, candidates: Iterator[EditSet]) -> list[EditSet]:
        """Return the candidates that pass, in their order."""
        await self._try(candidates)
        return self._found()

    def place_of(self, candidate: EditSet) -> int:
        """Return how many were tried before one that passed."""
        return next((at for at, one in self.tally.passing.items() if one is candidate), 0)

    def furthest(self) -> EditSet | None:
        """Return the first of those that fix the most tests; None if no test run ended."""
        failed = [
            (-len(trial.fixed), at, candidate)
            for at, (candidate, trial, _) in self._tried.items()
            if trial.end is End.FAILED
        ]
        return min(failed, key=lambda one: one[:2])[2] if failed else None

    def _found(self) -> list[EditSet]:
        if self.tally.stopped is Stopped.ENOUGH:
            self._count_again()
        self.report(self.tally)
        passing = (self.tally.passing[at] for at in sorted(self.tally.passing))
        # Each program only once, however it came about: what is alike votes together.
        programs = {_program(one.texts(self.base)): one for one in reversed([*passing])}
        return [*reversed(programs.values())][:_ENOUGH]

    async def _try(self, candidates: Iterator[EditSet], patience: float = 1.0) -> None:
        """Try candidates side by side; cancel what runs when the time is up."""
        numbered = enumerate(candidates, self.tally.tried)
        pending: set[asyncio.Task[None]] = set()
        try:
            while True:
                while len(pending) < 2 * self.allowance.jobs and not self._is_over():
                    at, one = next(numbered, (-1, None))
                    if one is None:
                        break
                    pending.add(asyncio.create_task(self._prove(at, one, patience)))
                if not pending:
                    self._is_over()
                    return
                done, pending = await asyncio.wait(
                    pending,
                    timeout=min(_LOOK, max(0.0, self.allowance.seconds)),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if not done and self._is_over():
                    return
                # Of all that ended: several may have failed for the same reason.
                await asyncio.gather(*done)
        finally:
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)

    async def _prove(self, at: int, candidate: EditSet, patience: float) -> None:
        texts = candidate.texts(self.base)
        trial = await self._trial(candidate, texts, patience)
        self._tried[at] = candidate, trial, patience
        self.tally.take(at, candidate, trial, patience=patience, usual=self.usual)
        if self._first is None and self.tally.passing:
            self._first = self.allowance.clock()
        now = time.monotonic()
        if now - self._reported > _REPORT_EVERY:
            self._reported = now
            self.report(self.tally)

    async def _trial(
        self, candidate: EditSet, texts: dict[str, str], patience: float
    ) -> ProofResult:
        """Run the tests that count on a candidate."""
        return await self.prover.prove(texts, only=self.only, patience=patience)

    def _is_over(self) -> bool:
        tally = self.tally
        if self.allowance.seconds <= 0:
            tally.stopped = Stopped.TIME
        elif tally.tried >= self.allowance.candidates:
            tally.stopped = Stopped.CANDIDATES
        elif tally.passing and self._has_enough():
            tally.stopped = Stopped.ENOUGH
        else:
            return False
        return True

    def _has_enough(self) -> bool:
        """Return whether enough pass, or enough were tried since the first that did."""
        tally, now = self.tally, self.allowance.clock()
        first = now if self._first is None else self._first
        whole = self.allowance.until - self._began
        is_late = self.slow and now - first > max(_LOOK_ON * whole, first - self._began)
        return is_late or tally.tried >= self._limit or len(tally.passing) >= _ENOUGH

    @property
    def _limit(self) -> int:
        """The number of candidates that are enough, as known by now."""
        passing, (least, most) = sorted(self.tally.passing), self.more
        most = passing[0] + min(max(passing[0], least), most)
        return min(most, passing[_ENOUGH - 1] + 1) if len(passing) >= _ENOUGH else most

    def _count_again(self) -> None:
        """Drop the trials beyond the limit: how many had started depends on timing."""
        limit, before = self._limit, self.tally
        self.tally = SearchTally(started=before.started, stopped=before.stopped)
        for at in sorted(at for at in self._tried if at < limit):
            candidate, trial, patience = self._tried[at]
            self.tally.take(at, candidate, trial, patience=patience, usual=self.usual)


class Search(EditTrials):
    """One search for edits under which all of a baseline's failing tests pass."""

    def __init__(
        self,
        prover: AnyProver,
        baseline: Baseline,
        base: dict[str, str],
        proposals: Proposals,
        allowance: Allowance,
        *,
        targets: Sequence[str],
        report: Callable[[SearchTally], None] = lambda tally: None,
    ) -> None:
        # Tests that fail for other reasons may go on failing.
        self._wanted = [c.test for c in baseline.cases if c.passed or c.test in set(targets)]
        super().__init__(
            prover,
            base,
            allowance,
            only=self._wanted,
            usual=_exceptions(baseline, targets),
            more=_MORE_IF_FEW if _is_weak(baseline, targets) else _MORE,
            report=report,
        )
        self._proposals = proposals
        self._targets = tuple(targets)
        self.reach = TestReach(baseline, proposals.programs)
        self._marks = {case.test: case.mark for case in baseline.cases}
        # Where it costs little, all failing tests are run: an edit may be right for some of them.
        seconds = sum(case.seconds for case in baseline.cases if case.test in set(targets))
        failures = [case.failure for case in baseline.cases if case.test in set(targets)]
        hangs = any(failure is not None and failure.timed_out for failure in failures)
        self._second_chances = _SECOND_CHANCES if hangs else 0
        self._whole = len(targets) > 1 and seconds <= _CHEAP
        self.slow = seconds > _CHEAP
        #: The likeliest of those that were tried, each program only once.
        self._partners: list[EditSet] = []

    async def run(self) -> list[EditSet]:
        """Return the candidates that pass, in the order they were proposed."""
        await self._try(self._singles())
        if not self.tally.passing and self.tally.slow and not self._is_over():
            await self._try(iter(self.tally.slow[:_SLOW]), patience=_PATIENCE)
        if not self.tally.passing and not self._is_over():
            await self._try(self._pairs())
        return self._found()

    @property
    def functions(self) -> int:
        """The number of test functions that are to be fixed, however many cases each has."""
        return len({test.partition("[")[0] for test in self._targets})

    @property
    def refused(self) -> int:
        """The number of candidates that fixed all failing tests, but broke another."""
        return sum(
            trial.end is not End.PASSED and set(self._targets) <= set(trial.fixed)
            for _, trial, _ in self._tried.values()
        )

    async def best_part(self) -> tuple[EditSet, tuple[str, ...]] | None:
        """Return the candidate that fixes most, but not all targets, and breaks nothing."""
        best: tuple[EditSet, tuple[str, ...]] | None = None
        # Those that have fixed some test first; there is time for a few, however long the search.
        telling = sorted(self.tally.telling, key=lambda one: (-one[0], one[1].cost))[:_PARTNERS]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(WAITING * max(self.allowance.seconds, _PARTS)):
                for _, candidate in telling:
                    best = await self._better(candidate, best) or best
        return best

    async def _better(
        self, candidate: EditSet, best: tuple[EditSet, tuple[str, ...]] | None
    ) -> tuple[EditSet, tuple[str, ...]] | None:
        """Return a candidate with the tests it fixes, if those are more than the best's."""
        texts = candidate.texts(self.base)
        trial = await self.prover.prove(texts, only=self._targets, whole=True)
        if trial.end is not End.FAILED or len(trial.fixed) <= len(best[1] if best else ()):
            return None
        safe = self.reach.tests(candidate)
        proof = await self.prover.prove(texts, only=[*safe, *trial.fixed])
        return (candidate, trial.fixed) if proof.end is End.PASSED else None

    async def _trial(
        self, candidate: EditSet, texts: dict[str, str], patience: float
    ) -> ProofResult:
        """Run the failing tests, then those that the edit can affect."""
        prove, targets = self.prover.prove, self._targets
        trial = await prove(texts, only=targets, whole=self._whole, patience=patience)
        if trial.end is End.TIMEOUT and patience == 1.0 and self._second_chances:
            # How long the test takes when it passes is not known.
            self._second_chances -= 1
            trial = await prove(texts, only=targets, patience=_PATIENCE)
        if trial.end is End.PASSED and (affected := self.reach.tests(candidate)):
            confirmed = await prove(texts, only=affected, patience=patience)
            trial = replace(confirmed, fixed=trial.fixed)
        if trial.end is End.FAILED:
            changes = trial.mark != self._marks.get(trial.killer or "")
            self._proposals.learn(candidate, changes=changes, fixes=bool(trial.fixed))
        return trial

    # -- the order of candidates ----------------------------------------------------------------

    def _singles(self) -> Iterator[EditSet]:
        for one in self._proposals.singles():
            if self._proposals.is_new(one):
                if not one.doubt and len(self._partners) < _PARTNERS:
                    self._partners.append(one)
                yield one

    def _pairs(self) -> Iterator[EditSet]:
        """Return edits that changed how the tests fail, each with the likeliest others."""
        telling = [one for _, one in sorted(self.tally.telling, key=lambda one: one[1].cost)]
        pairs: list[EditSet] = []
        seen: set[frozenset[object]] = set()
        for first in telling[:_TELLING]:
            for second in self._partners:
                pair = first.with_(second)
                key = frozenset(edit.splices for edit in (*first.edits, *second.edits))
                if pair is not None and key not in seen:
                    seen.add(key)
                    pairs.append(pair)
        return iter(sorted(pairs, key=lambda pair: pair.cost))


def _program(texts: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the syntax trees of some files, which are the same however they are written."""
    return tuple(
        sorted(
            (file, ast.dump(ast.parse(text)) if file.endswith(".py") else text)
            for file, text in texts.items()
        )
    )


def _exceptions(baseline: Baseline, targets: Iterable[str]) -> frozenset[str]:
    wanted = set(targets)
    return frozenset(
        case.failure.exception
        for case in baseline.cases
        if case.failure is not None and case.test in wanted
    )


def _is_weak(baseline: Baseline, targets: Sequence[str]) -> bool:
    """True if little says what is wrong: few tests fail, and for a value."""
    failures = [c.failure for c in baseline.cases if c.failure and c.test in targets]
    values = any(cause_of_failure(one) is Cause.WRONG_VALUE for one in failures)
    return len(targets) <= _FEW and values


def where_to_look(suspicion: Suspicion) -> list[str]:
    """Return the most suspect lines, as `file:line`."""
    return [f"{file}:{line}" for file, line, _ in suspicion.top(5)]
