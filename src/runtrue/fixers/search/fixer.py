"""The `search` fixer: model-free repair of Python, by trying small edits and running the tests."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from runtrue.checks import CommandCheck, Language, language_of
from runtrue.config import SearchConfig
from runtrue.fixers.search.ahead import Ahead
from runtrue.fixers.search.budget import Budget
from runtrue.fixers.search.offers import NAME, Offers, digest_of
from runtrue.fixers.search.stopped import Stopped
from runtrue.fixers.sources import leads_of
from runtrue.flow import emit
from runtrue.loop import (
    TIMEOUT,
    Analysis,
    Bounds,
    Fault,
    Finding,
    FixTask,
    Proposal,
    Verdict,
    Workplace,
    is_one_of,
)
from runtrue.sandbox import is_judge

if TYPE_CHECKING:
    from runtrue.fixers.search.report import Report, Solution
    from runtrue.fixers.search.servers import Limits

#: Seconds that a test is waited for where some test does not end.
_HANGS = 2.0
#: Of the time for a check, the share for edits within a strategy's bounds, if it has some.
_INSIDE = 0.75
#: The least time, in seconds, that is worth beginning a search with.
_WORTHWHILE = 1.0
_INSTALLED = frozenset({"site-packages", "node_modules", ".venv", "venv", ".tox", ".nox"})


class _Errand(NamedTuple):
    """One check that is to pass, and what there is to be spent on it."""

    check: CommandCheck
    task: FixTask
    workplace: Workplace
    budget: Budget
    offers: Offers


class SearchFixer:
    """Proposes the edit under which the tests pass and that is likeliest to be right.

    `held` gives the number of verified fixes by cause and kind of edit. Where there is a `stronger`
    fixer, what is not sure enough is left to it, and proposed when this one is asked again.
    """

    name = NAME
    trusted = False
    # Asked again, it has its next best, or nothing.
    repeatable = False
    side_effect = False

    def __init__(
        self,
        checks: Sequence[CommandCheck],
        config: SearchConfig,
        *,
        judges: Sequence[str] = (),
        held: Callable[[], Mapping[tuple[str, str], int]] = dict,
        stronger: bool = False,
    ) -> None:
        self._checks = {check.name: check for check in checks if runs_python(check)}
        self._config = config
        self._judges = tuple(judges)
        self._held = held
        self._has_stronger = stronger
        # Processes started early; they only save time.
        self._ahead: Ahead | None = None

    def unavailable(self) -> str | None:
        """Why it cannot be used at all: it has no time, or no check runs Python tests."""
        if not self._config.seconds:
            return "it is given no time ([fixers.search] seconds, or RUNTRUE_SEARCH_SECONDS)"
        return None if self._checks else "no check here runs Python tests"

    def accepts(self, finding: Finding) -> bool:
        """Whether the program is at fault, and tests that can be run again say so."""
        return finding.source in self._checks and finding.fault is Fault.CANDIDATE

    def anticipate(self, check: str, workplace: Workplace) -> None:
        """Start the tests of a check as far as nothing of the project is run, for one search."""
        command = self._checks.get(check)
        if command is None or command.tool != "pytest" or not self._config.seconds:
            return
        if self._ahead is not None and self._ahead.fits(command, workplace):
            return
        if self._ahead is not None:
            self._ahead.abandon()
        self._ahead = Ahead(command, workplace, self._limits())

    async def fails_again(
        self, verdict: Verdict, tests: Set[str], workplace: Workplace
    ) -> bool | None:
        """Whether all of these tests fail in the process that a search would begin with."""
        self.anticipate(verdict.check, workplace)
        check, ahead = self._checks.get(verdict.check), self._ahead
        if check is None or ahead is None or not ahead.fits(check, workplace):
            return None
        failing = await ahead.failing(_longest(verdict))
        return None if failing is None else tests <= failing

    async def propose(self, task: FixTask, workplace: Workplace) -> Proposal:
        """Search for each check in turn, until one has an edit under which its tests pass."""
        offers = Offers.of(task.history)
        was_deferred = offers.deferred
        proposal = await self._propose(task, workplace, offers)
        if offers.deferred == was_deferred:
            return proposal
        # Said in the record, whichever search of this proposal it was: that is all there is to
        # know it by when this fixer is asked again.
        return replace(proposal, trace={**(proposal.trace or {}), "deferred": True})

    async def _propose(self, task: FixTask, workplace: Workplace, offers: Offers) -> Proposal:
        told: list[str] = []
        trace: dict[str, Any] | None = None
        names = list(dict.fromkeys(finding.source for finding in task.findings))
        budget = Budget(self._config.seconds, self._config.candidates)
        for at, name in enumerate(names):
            # What one of them leaves is for those that follow.
            share = 1 / (len(names) - at)
            errand = _Errand(self._checks[name], task, workplace, budget, offers)
            proposal = await self._search(errand, share)
            if proposal.texts:
                return proposal
            told.append(proposal.description)
            trace = proposal.trace or trace
            if not _is_worthwhile(budget):
                break
        return Proposal(description="; ".join(told), texts={}, trace=trace)

    async def _search(self, errand: _Errand, share: float) -> Proposal:
        bounds = errand.task.bounds
        if bounds is None or bounds.paths is None:
            return await self._within(bounds, errand, share)
        found = await self._within(bounds, errand, share * _INSIDE)
        if found.texts or not _is_worthwhile(errand.budget):
            return found
        # What would do outside of the bounds is not kept, but it tells what the strategy lacks.
        rest = share * (1 - _INSIDE) / (1 - share * _INSIDE)
        elsewhere = await self._within(None, errand, rest)
        return elsewhere if elsewhere.texts else found

    async def _within(self, bounds: Bounds | None, errand: _Errand, share: float) -> Proposal:
        # Most runs need none of this.
        from runtrue.fixers.search.proving import Unprovable
        from runtrue.fixers.search.repair import Repair
        from runtrue.fixers.search.report import Scope

        check, task, workplace, budget, offers = errand
        findings = [finding for finding in task.findings if finding.source == check.name]
        verdict = task.history.latest.verdict(check.name)
        leads = tuple(
            lead.file
            for lead in leads_of(findings, workplace)
            if language_of(lead.file) is Language.PYTHON
        )
        tests = task.history.test_files()

        def may_edit(file: str) -> bool:
            judges = is_judge(file, self._judges) or is_one_of(file, tests)
            return not judges and _is_own(file) and _is_within(bounds, file)

        repair = Repair(
            Scope(
                check=check,
                workplace=workplace,
                may_edit=may_edit,
                leads=leads,
                failing=frozenset(f.location.symbol for f in findings if f.location.symbol),
                excused=_excused(verdict),
            ),
            budget=budget,
            share=share,
            seed=self._config.seed,
            limits=replace(self._limits(), longest=_longest(verdict)),
            held=self._held(),
            tell=emit,
            ahead=ahead if (ahead := self._ahead) and ahead.fits(check, workplace) else None,
        )
        try:
            report = await repair.run()
        except Unprovable as error:
            return Proposal(description=f"nothing was tried: {error}", texts={})
        return self._proposal(report, offers)

    def _limits(self) -> Limits:
        from runtrue.fixers.search.servers import Limits

        return Limits(
            memory=self._config.memory * 1024 * 1024,
            jobs=self._config.jobs or os.cpu_count() or 1,
        )

    def _proposal(self, report: Report, offers: Offers) -> Proposal:
        """The best solution that was not offered before, or what was tried and where to look."""
        trace = report.to_dict()
        for at, one in enumerate(report.solutions):
            digest = digest_of(one.texts)
            if digest in offers.edits:
                continue
            is_sure = one.confidence >= self._config.confidence
            if self._has_stronger and not is_sure and not offers.deferred:
                offers.deferred = True
                return Proposal(description=_left(report, one), texts={}, trace=trace)
            trace |= {"chosen": at, "offered": digest}
            return Proposal(
                description=_told(report, one),
                texts=one.texts,
                analysis=Analysis(
                    root_cause=f"found by trying: {one.says}",
                    fix_strategy=one.says,
                    confidence=one.confidence,
                    patterns_matched=tuple(dict.fromkeys(one.kinds)),
                ),
                trace=trace,
            )
        return Proposal(description=_told_in_vain(report), texts={}, trace=trace)


def runs_python(check: CommandCheck) -> bool:
    """Whether a check runs Python tests: pytest in any way, or a Python program itself."""
    if check.tool is not None:
        return check.tool == "pytest"
    names = [PurePosixPath(word).name for word in check.argv[:3]]
    return any(re.fullmatch(r"python[\d.]*", name) for name in names)


def _is_worthwhile(budget: Budget) -> bool:
    return budget.left > _WORTHWHILE and budget.candidates > 0


def _excused(verdict: Verdict | None) -> frozenset[str]:
    """The tests that no edit can be expected to mend: flaky, known, or failing from outside."""
    if verdict is None:
        return frozenset()
    outside = [finding for finding in verdict.findings if finding.fault is not Fault.CANDIDATE]
    every = (*outside, *verdict.flaky, *verdict.known)
    return frozenset(finding.location.symbol for finding in every if finding.location.symbol)


def _longest(verdict: Verdict | None) -> float:
    """Seconds after which a test is one that does not end, going by how long all of them took."""
    hangs = verdict is None or any(finding.category == TIMEOUT for finding in verdict.findings)
    return _HANGS if hangs or verdict is None else min(10.0, max(_HANGS, 2 * verdict.seconds))


def _is_own(file: str) -> bool:
    return file.endswith(".py") and not _INSTALLED & set(PurePosixPath(file).parts)


def _is_within(bounds: Bounds | None, file: str) -> bool:
    return bounds is None or not bounds.outside([file])


def _told(report: Report, solution: Solution) -> str:
    others = len(report.solutions) - 1
    facts = [f"{report.tried:,} edits tried"]
    if others:
        facts.append(f"{others} more would pass")
    facts.append(f"confidence {solution.confidence:.2f}")
    if solution.left:
        facts.append(f"{len(solution.left)} tests still fail")
    if solution.doubt:
        facts.append(f"look at it closely: it {solution.doubt}")
    return f"{solution.says} ({'; '.join(facts)})"


def _left(report: Report, solution: Solution) -> str:
    count = len(report.solutions)
    would = "1 edit would pass" if count == 1 else f"{count} edits would pass"
    return (
        f"{would}, and none of them is sure; the likeliest: {solution.says} "
        f"(confidence {solution.confidence:.2f})"
    )


def _told_in_vain(report: Report) -> str:
    if report.solutions:
        return "every edit under which the tests pass has been proposed"
    if any(step["step"] == "nothing" for step in report.steps):
        return "no test fails any more"
    if not report.tried and report.stopped is Stopped.TIME:
        return "the time was up before an edit could be tried ([fixers.search] seconds)"
    look = f"; look first at {', '.join(report.suspects[:3])}" if report.suspects else ""
    if not report.tried and report.suspects:
        return f"nothing could be tried: no edit of the kinds it knows fits{look}"
    if not report.tried:
        return "nothing could be tried: no file that may be edited was run by the failing tests"
    why = {
        Stopped.TIME: "then the time was up ([fixers.search] seconds)",
        Stopped.CANDIDATES: "then the limit was reached ([fixers.search] candidates)",
    }
    tried = f"{report.tried:,} edits were tried, and none passes"
    if report.stopped is Stopped.UNPROVABLE:
        why[Stopped.UNPROVABLE] = f"then it broke off, for {report.steps[-1]['why']}"
    ended = why.get(report.stopped, "there are no others of the kinds it knows")
    return f"{tried}: {ended}{look}"
