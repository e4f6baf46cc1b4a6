"""Searching: candidates are tried in order until enough of them pass, or the budget is spent.

    singles ─▶ the slow ones again, with more patience ─▶ pairs
       └───────── a candidate passes ─────────▶ a few more, to choose from

What is found is the same for the same program, tests and seed, as long as time is not what ends it.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from runtrue.fixers.search.evidence import Baseline
from runtrue.fixers.search.localise import Suspicion
from runtrue.fixers.search.priors import cause_of_failure
from runtrue.fixers.search.proposing import Candidate, Proposals
from runtrue.fixers.search.stopped import Stopped
from runtrue.fixers.search.trial import End, Trial
from runtrue.loop import Cause

#: After the first candidate that passes at position n, as many more are tried as n, within these.
_MORE = 100, 1_500
#: The same where no more than so many tests failed, for a wrong value: that is more easily made
#: right by chance than many are, or than an exception is that says what is missing.
_MORE_IF_FEW, _FEW = (400, 1_500), 2
#: Candidates that pass are enough at this number.
_ENOUGH = 24
#: Slow candidates that are tried again, and with how much more patience.
_SLOW, _PATIENCE = 40, 8.0
#: Edits that pairs are made of: those that changed how the tests fail, and those beside them.
_TELLING, _PARTNERS = 60, 400
_TELL_EVERY = 0.25


class Judge(Protocol):
    """What proves candidates: a `Prover`, or one that starts a process for each."""

    async def prove(
        self,
        texts: dict[str, str],
        *,
        only: Sequence[str] | None = None,
        whole: bool = False,
        patience: float = 1.0,
    ) -> Trial:
        """Run the tests on a candidate."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """How much a search may use up: until when, and how many candidates."""

    until: float
    candidates: int
    jobs: int = 1

    @property
    def seconds(self) -> float:
        """What is left of the time."""
        return self.until - time.monotonic()


@dataclass(slots=True)
class Tally:
    """What a search has come to so far."""

    tried: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    ends: Counter[End] = field(default_factory=Counter)
    passing: dict[int, Candidate] = field(default_factory=dict)
    slow: list[Candidate] = field(default_factory=list)
    #: Candidates under which other tests fail, or in another way, by how many tests they mend.
    telling: list[tuple[int, Candidate]] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    stopped: Stopped = Stopped.EXHAUSTED

    def take(
        self,
        at: int,
        candidate: Candidate,
        trial: Trial,
        *,
        patience: float,
        usual: frozenset[str],
    ) -> None:
        """Count a trial. `usual` is how the tests fail without any edit."""
        self.tried += 1
        self.kinds[candidate.kind] += 1
        self.ends[trial.end] += 1
        if trial.end is End.PASSED:
            self.passing[at] = candidate
        elif trial.end is End.TIMEOUT and patience == 1.0:
            self.slow.append(candidate)
        elif trial.end is End.FAILED and (trial.mended or trial.detail not in usual):
            self.telling.append((len(trial.mended), candidate))

    @property
    def rate(self) -> float:
        """Candidates per second."""
        return self.tried / max(time.monotonic() - self.started, 1e-3)


class Trying:
    """Tries candidates side by side, in their order, until enough have passed.

    `only` are the tests that count, if not all do, `usual` how they fail without any edit, and
    `more` how many candidates are tried after the first that passes: as many as before it, within
    these.
    """

    def __init__(
        self,
        judge: Judge,
        base: dict[str, str],
        allowance: Allowance,
        *,
        only: Sequence[str] | None,
        usual: frozenset[str] = frozenset(),
        more: tuple[int, int],
        tell: Callable[[Tally], None] = lambda tally: None,
    ) -> None:
        self._judge = judge
        self._base = base
        self._allowance = allowance
        self._only = only
        self._usual = usual
        self._more = more
        self._tell = tell
        self._told = 0.0
        self._tried: dict[int, tuple[Candidate, Trial, float]] = {}
        self.tally = Tally()

    async def all(self, candidates: Iterator[Candidate]) -> list[Candidate]:
        """Those that pass, in their order."""
        await self._try(candidates)
        return self._found()

    def furthest(self) -> Candidate | None:
        """The first of those that mend the most tests, where none passes; None if all die."""
        failed = [
            (-len(trial.mended), at, candidate)
            for at, (candidate, trial, _) in self._tried.items()
            if trial.end is End.FAILED
        ]
        return min(failed, key=lambda one: one[:2])[2] if failed else None

    def _found(self) -> list[Candidate]:
        if self.tally.stopped is Stopped.ENOUGH:
            self._count_again()
        self._tell(self.tally)
        passing = (self.tally.passing[at] for at in sorted(self.tally.passing))
        # Each program but once, however it came about: what is alike votes together.
        programs = {_program(one.texts(self._base)): one for one in reversed([*passing])}
        return [*reversed(programs.values())][:_ENOUGH]

    async def _try(self, candidates: Iterator[Candidate], patience: float = 1.0) -> None:
        """Try candidates side by side, until enough have passed or the budget is spent.

        What is under way when the time is up is broken off.
        """
        numbered = enumerate(candidates, self.tally.tried)
        pending: set[asyncio.Task[None]] = set()
        try:
            while True:
                while len(pending) < 2 * self._allowance.jobs and not self._is_over():
                    at, one = next(numbered, (-1, None))
                    if one is None:
                        break
                    pending.add(asyncio.create_task(self._prove(at, one, patience)))
                if not pending:
                    self._is_over()
                    return
                done, pending = await asyncio.wait(
                    pending,
                    timeout=max(0.0, self._allowance.seconds),
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

    async def _prove(self, at: int, candidate: Candidate, patience: float) -> None:
        texts = candidate.texts(self._base)
        trial = await self._judge.prove(texts, only=self._only, patience=patience)
        self._tried[at] = candidate, trial, patience
        self.tally.take(at, candidate, trial, patience=patience, usual=self._usual)
        now = time.monotonic()
        if now - self._told > _TELL_EVERY:
            self._told = now
            self._tell(self.tally)

    def _is_over(self) -> bool:
        tally = self.tally
        if self._allowance.seconds <= 0:
            tally.stopped = Stopped.TIME
            return True
        if tally.tried >= self._allowance.candidates:
            tally.stopped = Stopped.CANDIDATES
            return True
        if tally.passing and (tally.tried >= self._limit or len(tally.passing) >= _ENOUGH):
            tally.stopped = Stopped.ENOUGH
            return True
        return False

    @property
    def _limit(self) -> int:
        """The number of candidates that are enough, as far as is known by now."""
        passing, (least, most) = sorted(self.tally.passing), self._more
        most = passing[0] + min(max(passing[0], least), most)
        return min(most, passing[_ENOUGH - 1] + 1) if len(passing) >= _ENOUGH else most

    def _count_again(self) -> None:
        """Leave out what was under way beyond the limit: how much that was is up to chance."""
        limit, before = self._limit, self.tally
        self.tally = Tally(started=before.started, stopped=before.stopped)
        for at in sorted(at for at in self._tried if at < limit):
            candidate, trial, patience = self._tried[at]
            self.tally.take(at, candidate, trial, patience=patience, usual=self._usual)


class Search(Trying):
    """One search for edits under which all of a baseline's failing tests pass."""

    def __init__(
        self,
        judge: Judge,
        baseline: Baseline,
        base: dict[str, str],
        proposals: Proposals,
        allowance: Allowance,
        *,
        targets: Sequence[str],
        tell: Callable[[Tally], None] = lambda tally: None,
    ) -> None:
        # What fails for other reasons is not this search's business, and may go on failing.
        self._wanted = [c.test for c in baseline.cases if c.passed or c.test in set(targets)]
        super().__init__(
            judge,
            base,
            allowance,
            only=self._wanted,
            usual=_usual(baseline, targets),
            more=_MORE_IF_FEW if _is_weak(baseline, targets) else _MORE,
            tell=tell,
        )
        self._proposals = proposals
        self._targets = tuple(targets)
        #: The likeliest of those that were tried, each program but once.
        self._partners: list[Candidate] = []

    async def run(self) -> list[Candidate]:
        """The candidates that pass, in the order they were thought of."""
        await self._try(self._singles())
        if not self.tally.passing and self.tally.slow and not self._is_over():
            await self._try(iter(self.tally.slow[:_SLOW]), patience=_PATIENCE)
        if not self.tally.passing and not self._is_over():
            await self._try(self._pairs())
        return self._found()

    async def parts(self) -> tuple[Candidate, tuple[str, ...]] | None:
        """The candidate that mends the most of the targets, though not all, and breaks nothing."""
        best: tuple[Candidate, tuple[str, ...]] | None = None
        telling = sorted(self.tally.telling, key=lambda one: one[1].cost)[:_PARTNERS]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._allowance.seconds):
                for _, candidate in telling:
                    best = await self._better(candidate, best) or best
        return best

    async def _better(
        self, candidate: Candidate, best: tuple[Candidate, tuple[str, ...]] | None
    ) -> tuple[Candidate, tuple[str, ...]] | None:
        """A candidate with what it mends, if that is more than the best does."""
        texts = candidate.texts(self._base)
        trial = await self._judge.prove(texts, only=self._wanted, whole=True)
        if trial.end is not End.FAILED or len(trial.mended) <= len(best[1] if best else ()):
            return None
        safe = [test for test in self._wanted if test not in self._targets]
        held = await self._judge.prove(texts, only=[*safe, *trial.mended])
        return (candidate, trial.mended) if held.end is End.PASSED else None

    # -- the order of candidates ----------------------------------------------------------------

    def _singles(self) -> Iterator[Candidate]:
        for one in self._proposals.singles():
            if self._proposals.is_new(one):
                if not one.doubt and len(self._partners) < _PARTNERS:
                    self._partners.append(one)
                yield one

    def _pairs(self) -> Iterator[Candidate]:
        """Edits that changed how the tests fail, each with the likeliest others."""
        telling = [one for _, one in sorted(self.tally.telling, key=lambda one: one[1].cost)]
        pairs: list[Candidate] = []
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
    """What some files come to, without how it is written."""
    return tuple(sorted((file, ast.dump(ast.parse(text))) for file, text in texts.items()))


def _usual(baseline: Baseline, targets: Iterable[str]) -> frozenset[str]:
    """The types of the exceptions that the targets fail with now."""
    wanted = set(targets)
    return frozenset(
        case.failure.exception
        for case in baseline.cases
        if case.failure is not None and case.test in wanted
    )


def _is_weak(baseline: Baseline, targets: Sequence[str]) -> bool:
    """Whether little says what is wrong: few tests fail, and only for a value."""
    failures = [c.failure for c in baseline.cases if c.failure and c.test in targets]
    values = any(cause_of_failure(one) is Cause.WRONG_VALUE for one in failures)
    return len(targets) <= _FEW and values


def where_to_look(suspicion: Suspicion, count: int = 5) -> list[str]:
    """The most suspect lines, as a person writes them."""
    return [f"{file}:{line}" for file, line, _ in suspicion.top(count)]
