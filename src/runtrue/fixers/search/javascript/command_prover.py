"""Prove candidates by the project's own command, each run on a copy of the project."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from runtrue.checks import CommandCheck
from runtrue.fixers.search.evidence import Baseline, MeasuredTest
from runtrue.fixers.search.javascript.project_copy import ProjectCopy, TooLarge
from runtrue.fixers.search.javascript.warm_prover import failure_of, mark_of
from runtrue.fixers.search.servers import TrialLimits, Unprovable
from runtrue.fixers.search.trial import End, ProofResult
from runtrue.loop import Outcome, Verdict, Workplace
from runtrue.process import temporary_directory

_TIMES, _LEAST = 3.0, 5.0


class CommandProver:
    """Tries candidates by running the command on each. One passes when its tests do."""

    def __init__(
        self, check: CommandCheck, places: Sequence[tuple[ProjectCopy, Workplace]]
    ) -> None:
        self._check = replace(check, cover=False)
        self._idle: asyncio.Queue[tuple[ProjectCopy, Workplace]] = asyncio.Queue()
        for place in places:
            self._idle.put_nowait(place)
        self._seconds = _LEAST
        self._failing: frozenset[str] = frozenset()

    @classmethod
    @contextlib.asynccontextmanager
    async def open(
        cls, check: CommandCheck, workplace: Workplace, limits: TrialLimits
    ) -> AsyncIterator[CommandProver]:
        """Make a copy of the project for each job. Raises Unprovable."""
        with contextlib.ExitStack() as stack:
            places = []
            for _ in range(max(1, limits.jobs)):
                directory = stack.enter_context(temporary_directory("rt-"))
                try:
                    copy = ProjectCopy(workplace.root, directory)
                except TooLarge as error:
                    raise Unprovable(str(error)) from error
                places.append((copy, _workplace(copy, workplace, directory)))
            yield cls(check, places)

    async def measure(self, seconds: float) -> Baseline:
        """Run the command on the program as it is."""
        copy, workplace = await self._idle.get()
        try:
            verdict = await replace(self._check, timeout=max(seconds, _LEAST)).run(workplace)
        finally:
            self._idle.put_nowait((copy, workplace))
        if verdict.passed:
            raise Unprovable("the command passes on a copy of the project")
        self._seconds = max(_LEAST, _TIMES * verdict.seconds)
        self._failing = _failing(verdict)
        cases = [self._failed(name, verdict, copy.root) for name in sorted(self._failing)]
        passed = (name for name, end in verdict.cases.items() if end is Outcome.PASSED)
        cases += [MeasuredTest(test=name, passed=True, seconds=0.0, lines=None) for name in passed]
        tests = {name.partition("::")[0] for name in verdict.cases if "::" in name}
        return Baseline(cases=tuple(cases), tests=tuple(sorted(tests)))

    async def prove(
        self,
        texts: Mapping[str, str],
        *,
        only: Sequence[str] | None = None,
        whole: bool = False,
        patience: float = 1.0,
    ) -> ProofResult:
        """Run the command on a candidate."""
        check = replace(self._check, timeout=self._seconds * patience, fail_fast=not whole)
        copy, workplace = await self._idle.get()
        if only is not None and (selected := check.select(only, workplace)) is not None:
            check = selected
        began = time.monotonic()
        try:
            with copy.with_texts(texts):
                verdict = await check.run(workplace)
        finally:
            self._idle.put_nowait((copy, workplace))
        seconds = time.monotonic() - began
        wanted = list(only) if only is not None else sorted(verdict.cases)
        failing = _failing(verdict)
        fixed = tuple(one for one in wanted if one in self._failing and one not in failing)
        # Those that fail anyhow do not count, if they are not asked for.
        bad = failing - (self._failing - set(wanted))
        if verdict.passed or (verdict.cases and not bad and not verdict.cut_short):
            return ProofResult(end=End.PASSED, fixed=fixed, seconds=seconds)
        end = End.TIMEOUT if verdict.exit_code is None else End.FAILED
        killer = min(bad, default=self._check.name)
        finding = next((f for f in verdict.findings if f.location.symbol == killer), None)
        text = finding.message if finding else verdict.output
        return ProofResult(
            end=end,
            killer=killer,
            fixed=() if verdict.cut_short else fixed,
            seconds=seconds,
            detail=finding.category if finding else "",
            mark=mark_of(text),
        )

    def _failed(self, name: str, verdict: Verdict, root: Path) -> MeasuredTest:
        finding = next((f for f in verdict.findings if f.location.symbol == name), None)
        error = {
            "type": finding.category if finding else "Failed",
            "message": finding.message if finding else verdict.output,
            "stack": (finding.data.get("stack_trace") or finding.sample or "") if finding else "",
        }
        error["stack"] = f"{error['stack']}\n{'' if finding else verdict.output}"
        return MeasuredTest(
            test=name,
            passed=False,
            seconds=verdict.seconds,
            lines=None,
            failure=failure_of(name, error, root, verdict.exit_code is None),
            mark=mark_of(error["message"]),
        )


def _failing(verdict: Verdict) -> frozenset[str]:
    bad = {name for name, end in verdict.cases.items() if end in (Outcome.FAILED, Outcome.ERROR)}
    named = {finding.location.symbol for finding in verdict.findings if finding.location.symbol}
    return frozenset(bad or named or ({verdict.check} if not verdict.passed else ()))


def _workplace(copy: ProjectCopy, workplace: Workplace, directory: Path) -> Workplace:
    scratch = directory / "scratch"
    scratch.mkdir()
    confinement = workplace.confinement
    return replace(
        workplace,
        root=copy.root,
        directory=copy.root / workplace.directory.resolve().relative_to(workplace.root.resolve()),
        scratch=scratch,
        confinement=confinement.also(write=[directory]) if confinement else None,
    )
