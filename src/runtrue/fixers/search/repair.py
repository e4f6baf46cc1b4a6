"""Repair: from failing tests to the edits under which they pass, or to what was tried in vain.

    baseline ─▶ a file does not parse? ─▶ token repairs ─┬─▶ choose
             └▶ singles, slow ones, pairs ───────────────┘
    none passes: go on from the one that came furthest, as long as there is budget

Files of the workplace may be changed meanwhile, by this and by tests; what this wrote is put back.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runtrue.fixers.search.choosing import Behaviour, Choice, choose, clumsiness
from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.evidence import Baseline, Failure
from runtrue.fixers.search.fresh import FreshProver
from runtrue.fixers.search.localise import Suspicion, suspicion
from runtrue.fixers.search.priors import Priors
from runtrue.fixers.search.proposing import Candidate, Proposals
from runtrue.fixers.search.proving import Limits, Prover, Unprovable
from runtrue.fixers.search.report import Progress, Report, Scope, Solution
from runtrue.fixers.search.searching import Allowance, Search, Tally, where_to_look
from runtrue.fixers.search.syntax import parses, repairs
from runtrue.fixers.search.trial import End

#: Token repairs that are tried for a file.
_TOKEN_REPAIRS = 120
#: How often a repair goes on from a candidate that mends some of the tests.
_STEPS = 3
#: Candidates whose behaviour is compared, and on how many inputs.
_COMPARED, _INPUTS = 11, 60
#: Seconds for reading a damaged file in other ways, and for more readings when one has passed.
_READING, _SECOND_THOUGHTS = 2.0, 0.15
#: Token repairs that only get rid of what is in the way.
_DROPS = dict.fromkeys(
    ("commented out", "comment mark", "prose", "dropped line", "dropped token", "body"),
    "drops code",
)
#: The least time, in seconds, that is worth beginning something with.
_WORTHWHILE = 0.5


class Repair:
    """One repair, within a number of seconds and candidates."""

    def __init__(
        self,
        scope: Scope,
        *,
        seconds: float,
        candidates: int,
        seed: int,
        limits: Limits,
        held: Mapping[tuple[str, str], int],
        tell: Callable[[Progress], None],
    ) -> None:
        self._scope = scope
        self._seconds = seconds
        self._until: float | None = None
        self._candidates = candidates
        self._seed = seed
        self._limits = limits
        self._held = held
        self._tell = tell
        #: The files that were written to go on from, as they were and as they are.
        self._before: dict[str, str] = {}
        self._changed: dict[str, str] = {}
        self._said: tuple[Edit, ...] = ()
        self.report = Report()

    async def run(self) -> Report:
        """Repair. Raises Unprovable where the tests cannot be run in any of our ways."""
        started = time.monotonic()
        try:
            for step in range(_STEPS):
                if not await self._step(last=step == _STEPS - 1):
                    break
        except Unprovable as error:
            if not self.report.tried:
                raise
            self.report.steps.append({"step": "stopped", "why": str(error)})
        finally:
            self.report.seconds = time.monotonic() - started
            for file, text in self._before.items():
                self._path(file).write_bytes(text.encode())
        return self.report

    async def _step(self, *, last: bool) -> bool:
        """Search from the program as it now is. Whether it is to be gone on from another one."""
        async with self._judge() as judge:
            baseline = await judge.baseline()
            if self._until is None:
                self._until = time.monotonic() + self._seconds
            targets = self._targets(baseline)
            if not targets:
                self.report.steps.append({"step": "nothing", "why": "no test fails as it now is"})
                return False
            broken = [f for f in self._leads(baseline) if parses(self._read(f)) is not None]
            if broken:
                return await self._mend_tokens(judge, baseline, broken[0]) and not last
            search = self._search(judge, baseline, targets)
            try:
                found = await search.run()
            finally:
                self._note("search", search.tally, targets, baseline)
            if found:
                await self._settle(judge, found, len(baseline.cases))
                return False
            part = None if last or len(targets) < 2 else await search.parts()
        if part is None:
            return False
        candidate, mended = part
        left = tuple(test for test in targets if test not in mended)
        self._go_on_from(candidate)
        self.report.steps.append({"step": "part", "says": candidate.says, "left": list(left)})
        if not candidate.doubt:
            self.report.solutions = [
                self._solution(Choice(candidate=candidate, confidence=0.3), left)
            ]
        return self._left > _WORTHWHILE

    # -- one way of proving, or the other -------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _judge(self) -> AsyncIterator[Prover | FreshProver]:
        """What proves candidates: forks of one preloaded run, if that fails as the check did."""
        scope = self._scope
        stack = contextlib.AsyncExitStack()
        try:
            prover: Prover | FreshProver
            try:
                if scope.check.tool != "pytest":
                    raise Unprovable("the tests are not run by pytest")
                prover = await stack.enter_async_context(
                    Prover.open(scope.check, scope.workplace, self._limits)
                )
                failing = {case.test for case in (await prover.baseline()).failing}
                if not self._changed and scope.failing and not failing:
                    raise Unprovable("preloaded tests pass that fail when run by themselves")
            except Unprovable as error:
                await stack.aclose()
                self.report.steps.append({"step": "fresh", "why": str(error)})
                prover = await stack.enter_async_context(
                    FreshProver.open(scope.check, scope.workplace, self._limits)
                )
            yield prover
        finally:
            await stack.aclose()

    def _targets(self, baseline: Baseline) -> list[str]:
        excused = self._scope.excused
        return [case.test for case in baseline.failing if case.test not in excused]

    # -- ordinary edits -------------------------------------------------------------------------

    def _search(
        self, judge: Prover | FreshProver, baseline: Baseline, targets: list[str]
    ) -> Search:
        failures = self._failures(baseline, targets)
        files = [file for file in self._files(baseline) if parses(self._read(file)) is None]
        suspect = suspicion(baseline, targets, files)
        if not any(suspect.lines.values()):
            # Nothing was measured: every line of what the findings lead to is as suspect.
            suspect = _all_lines({file: self._read(file) for file in files})
        self.report.suspects = where_to_look(suspect)
        base = {file: self._read(file) for file in suspect.files}
        priors = Priors.for_(failures, self._held)
        self.report.causes = tuple(map(str, priors.causes))
        return Search(
            judge,
            baseline,
            base,
            Proposals(base, suspect, failures, priors),
            self._allowance(),
            targets=targets,
            tell=self._progress,
        )

    def _failures(self, baseline: Baseline, targets: list[str]) -> list[Failure]:
        wanted = set(targets)
        return [c.failure for c in baseline.cases if c.failure and c.test in wanted]

    def _files(self, baseline: Baseline) -> list[str]:
        """The files that may be edited and that something has run, or the findings lead to."""
        seen = dict.fromkeys(self._leads(baseline))
        for case in baseline.cases:
            seen |= dict.fromkeys(case.lines)
        seen |= dict.fromkeys(baseline.imported)
        return self._editable(seen, baseline)

    def _leads(self, baseline: Baseline) -> list[str]:
        frames = [
            frame.file
            for case in baseline.failing
            if case.failure
            for frame in reversed(case.failure.frames)
        ]
        return self._editable([*frames, *self._scope.leads], baseline)

    def _editable(self, files: Iterable[str], baseline: Baseline) -> list[str]:
        """Those of some files that are there and may be edited, each once."""
        tests = set(baseline.tests)
        return [
            file
            for file in dict.fromkeys(files)
            if file not in tests and self._scope.may_edit(file) and self._is_there(file)
        ]

    def _allowance(self) -> Allowance:
        return Allowance(
            until=self._until or 0.0,
            candidates=max(0, self._candidates - self.report.tried),
            jobs=self._limits.jobs,
        )

    async def _settle(
        self, judge: Prover | FreshProver, found: list[Candidate], tests: int
    ) -> None:
        """Order what passes by how it behaves on other inputs."""
        behaviours: list[Behaviour | None] = [None] * len(found)
        original = None
        if len(found) > 1:
            compared = [one.texts(self._base_of(one)) for one in found[:_COMPARED]]
            original, *seen = await asyncio.gather(
                *(judge.behave(one, seed=self._seed, inputs=_INPUTS) for one in ({}, *compared))
            )
            behaviours[: len(seen)] = seen
        clumsy = [clumsiness(one.texts(self._base_of(one)).values()) for one in found]
        choices = choose(found, behaviours, original, clumsy=clumsy, tests=tests)
        self.report.solutions = [self._solution(choice) for choice in choices]
        self.report.steps.append({"step": "choose", "passing": len(found)})

    # -- programs that do not parse -------------------------------------------------------------

    async def _mend_tokens(
        self, judge: Prover | FreshProver, baseline: Baseline, file: str
    ) -> bool:
        """Try token repairs of a file; when none passes, go on from the best."""
        text = self._read(file)
        only = [case.test for case in baseline.cases if case.test not in self._scope.excused]
        tally = Tally()
        found = tally.passing
        bases: list[tuple[int, Candidate]] = []
        until = self._left
        for one in repairs(text, limit=_TOKEN_REPAIRS, seconds=min(_READING, self._left)):
            if self._left <= 0 or (found and until - self._left > _SECOND_THOUGHTS):
                break
            edit = Edit(
                file=file,
                splices=one.splices,
                kind=one.kind,
                line=one.line,
                says=one.says,
                unlikely=one.unlikely,
                doubt=_DROPS.get(one.kind),
            )
            candidate = Candidate(edits=(edit,), cost=math.log(max(one.unlikely, 0.1)))
            trial = await judge.prove({file: one.text}, only=only if self._scope.excused else None)
            tally.tried += 1
            tally.kinds[edit.kind] += 1
            if trial.end is End.PASSED:
                tally.passing[tally.tried] = candidate
                until = self._left
            elif trial.end is End.FAILED:
                bases.append((-len(trial.mended), candidate))
            self._progress(tally)
        self._note("tokens", tally, [], None)
        if found:
            choices = choose([*found.values()], [None] * len(found), tests=len(baseline.cases))
            self.report.solutions = [self._solution(one) for one in choices]
            return False
        if not bases or self._left < _WORTHWHILE:
            return False
        best = min(bases, key=lambda one: one[0])[1]
        self.report.steps.append({"step": "parsed", "says": best.says})
        self._go_on_from(best)
        return True

    # -- state ----------------------------------------------------------------------------------

    @property
    def _left(self) -> float:
        return (self._until or 0.0) - time.monotonic()

    def _read(self, file: str) -> str:
        if file in self._changed:
            return self._changed[file]
        try:
            return self._path(file).read_bytes().decode()
        except (OSError, UnicodeDecodeError):
            return ""

    def _is_there(self, file: str) -> bool:
        return self._path(file).is_file()

    def _path(self, file: str) -> Path:
        return self._scope.workplace.root / file

    def _base_of(self, candidate: Candidate) -> dict[str, str]:
        return {edit.file: self._read(edit.file) for edit in candidate.edits}

    def _go_on_from(self, candidate: Candidate) -> None:
        for file, text in candidate.texts(self._base_of(candidate)).items():
            self._before.setdefault(file, self._read(file))
            self._changed[file] = text
            self._path(file).write_bytes(text.encode())
        self._said = (*self._said, *candidate.edits)

    def _solution(self, choice: Choice, left: Sequence[str] = ()) -> Solution:
        candidate = choice.candidate
        is_part = bool(left)
        edits = self._said if is_part else (*self._said, *candidate.edits)
        texts = {} if is_part else candidate.texts(self._base_of(candidate))
        return Solution(
            texts={**self._changed, **texts},
            says="; ".join(f"{edit.says} in {edit.file}:{edit.line}" for edit in edits),
            kinds=tuple(edit.kind for edit in edits),
            confidence=choice.confidence,
            doubt=next((edit.doubt for edit in edits if edit.doubt), None),
            alike=choice.alike,
            left=tuple(left),
        )

    def _note(self, step: str, tally: Tally, targets: list[str], baseline: Baseline | None) -> None:
        self.report.tried += tally.tried
        self.report.stopped = tally.stopped
        told: dict[str, Any] = {
            "step": step,
            "candidates": tally.tried,
            "kinds": dict(tally.kinds.most_common()),
            "ends": {str(end): count for end, count in tally.ends.items()},
            "passing": len(tally.passing),
            "stopped": str(tally.stopped),
        }
        if targets:
            told["targets"] = targets
        if baseline is not None and baseline.shares:
            told["shares"] = baseline.shares
        self.report.steps.append(told)

    def _progress(self, tally: Tally) -> None:
        best = tally.passing[min(tally.passing)].says if tally.passing else None
        self._tell(
            Progress(
                tried=self.report.tried + tally.tried,
                rate=round(tally.rate),
                passing=len(tally.passing),
                best=best,
            )
        )


def _all_lines(texts: Mapping[str, str]) -> Suspicion:
    return Suspicion(
        lines={
            file: dict.fromkeys(range(1, text.count("\n") + 2), 0.3 if at else 1.0)
            for at, (file, text) in enumerate(texts.items())
        }
    )
