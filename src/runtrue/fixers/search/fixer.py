"""The `search` fixer: fixes code without a model, by trying small edits and running the tests."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from runtrue.checks import CommandCheck, Language, is_installed, language_of, reach_of
from runtrue.config import SearchConfig
from runtrue.encoding import decoded
from runtrue.fixers.search.budget import SearchBudget
from runtrue.fixers.search.early_servers import EarlyServers
from runtrue.fixers.search.offers import NAME, Offers, digest_of
from runtrue.fixers.search.report import Stopped
from runtrue.fixers.sources import leads_of
from runtrue.flow import emit
from runtrue.loop import (
    TIMEOUT,
    Alternative,
    Analysis,
    Bounds,
    Confidence,
    Fault,
    Finding,
    FixTask,
    Outcome,
    Proposal,
    Verdict,
    Workplace,
    is_one_of,
    replacements,
    unified_diff,
)
from runtrue.sandbox import is_judge

if TYPE_CHECKING:
    from runtrue.fixers.search.measurement import CheckOutcome
    from runtrue.fixers.search.report import SearchReport, Solution
    from runtrue.fixers.search.servers import TrialLimits

#: Seconds for a test where some test does not end.
_HANGS = 2.0
#: The share of a check's time for edits within a strategy's bounds, if it has some.
_INSIDE = 0.75
#: The least time, in seconds, that is worth starting a search.
_WORTHWHILE = 1.0
#: The share of the time for running the tests as they are; those that fail are always run.
_MEASURING = 0.4
_REPEATED = "did not search again: the failing tests and the files are those of the last search"
#: How many other edits a person chooses from.
_ALTERNATIVES = 3
_SCRIPTS = (Language.JAVASCRIPT, Language.TYPESCRIPT)
#: JavaScript's test runners, and the programs that start them.
_RUNNERS = frozenset({"jest", "vitest", "mocha", "ava", "tap", "tape", "node_test"})
_STARTERS = frozenset({"npm", "npx", "yarn", "pnpm", "bun", "node", "tsx"})


class _CheckTask(NamedTuple):
    """One check that is to pass, and the budget for it."""

    check: CommandCheck
    task: FixTask
    workplace: Workplace
    budget: SearchBudget
    offers: Offers


class SearchFixer:
    """Proposes the edit under which the tests pass and that is likeliest to be right.

    `held` returns the number of verified fixes by cause and kind of edit. Where there is a
    `stronger` fixer, an unsure edit is left to it, and proposed when this one is asked again.
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
        self._checks = {
            check.name: check for check in checks if runs_python(check) or runs_javascript(check)
        }
        self._config = config
        self._judges = tuple(judges)
        self._held = held
        self._has_stronger = stronger
        # Processes started early; they only save time.
        self._early: EarlyServers | None = None

    def unavailable(self) -> str | None:
        """Return why it cannot be used, or None."""
        if not self._config.seconds:
            return "it is given no time ([fixers.search] seconds, or RUNTRUE_SEARCH_SECONDS)"
        return None if self._checks else "no check here runs Python or JavaScript tests"

    def accepts(self, finding: Finding) -> bool:
        """Return whether the program is at fault, and tests that it can run say so."""
        return finding.source in self._checks and finding.fault is Fault.CANDIDATE

    def anticipate(self, check: str, workplace: Workplace) -> None:
        """Start the tests of a check, short of running the project, for one search."""
        command = self._checks.get(check)
        if command is None or command.tool != "pytest" or not self._config.seconds:
            return
        if self._early is not None and self._early.fits(command, workplace):
            return
        if self._early is not None:
            self._early.abandon()
        self._early = EarlyServers(command, workplace, self._limits())

    async def fails_again(
        self, verdict: Verdict, tests: Set[str], workplace: Workplace
    ) -> bool | None:
        """Return whether all these tests fail in the process that a search would start from."""
        self.anticipate(verdict.check, workplace)
        check, early = self._checks.get(verdict.check), self._early
        if check is None or early is None or not early.fits(check, workplace):
            return None
        failing = await early.failing(_longest(verdict), _outcome(verdict, tests))
        return None if failing is None else tests <= failing

    async def propose(self, task: FixTask, workplace: Workplace) -> Proposal:
        """Search for each check in turn, until one has an edit under which its tests pass."""
        offers = Offers.of(task.history)
        was_deferred = offers.deferred
        proposal = await self._propose(task, workplace, offers)
        if offers.deferred == was_deferred:
            return proposal
        # Recorded, whichever search of this proposal it was, for when this fixer is asked again.
        return replace(proposal, trace={**(proposal.trace or {}), "deferred": True})

    async def _propose(self, task: FixTask, workplace: Workplace, offers: Offers) -> Proposal:
        descriptions: list[str] = []
        trace: dict[str, Any] | None = None
        names = list(dict.fromkeys(finding.source for finding in task.findings))
        budget = SearchBudget(self._config.seconds, self._config.candidates)
        for at, name in enumerate(names):
            # Each leaves its rest to those that follow.
            share = 1 / (len(names) - at)
            work = _CheckTask(self._checks[name], task, workplace, budget, offers)
            proposal = await self._search(work, share)
            if proposal.texts:
                return proposal
            descriptions.append(proposal.description)
            trace = proposal.trace or trace
            if not _is_worthwhile(budget):
                break
        return Proposal(description="; ".join(descriptions), texts={}, trace=trace)

    async def _search(self, work: _CheckTask, share: float) -> Proposal:
        bounds = work.task.bounds
        if bounds is None or bounds.paths is None:
            return await self._within(bounds, work, share)
        found = await self._within(bounds, work, share * _INSIDE)
        if found.texts or not _is_worthwhile(work.budget):
            return found
        # An edit outside of the bounds is not kept, but it shows what the strategy lacks.
        rest = share * (1 - _INSIDE) / (1 - share * _INSIDE)
        elsewhere = await self._within(None, work, rest)
        return elsewhere if elsewhere.texts else found

    async def _within(self, bounds: Bounds | None, work: _CheckTask, share: float) -> Proposal:
        # Most runs need none of this.
        from runtrue.fixers.search.forked_prover import Unprovable
        from runtrue.fixers.search.javascript import JavascriptSession
        from runtrue.fixers.search.report import SearchReport, SearchScope
        from runtrue.fixers.search.session import SearchSession, read_text

        check, task, workplace, budget, offers = work
        findings = [finding for finding in task.findings if finding.source == check.name]
        verdict = task.history.latest.verdict(check.name)
        outcome = _outcome(verdict, (f.location.symbol for f in findings))

        def read(file: str) -> str:
            return read_text(workplace.root / file)

        languages = (Language.PYTHON,) if runs_python(check) else _SCRIPTS
        leads = tuple(
            lead.file
            for lead in leads_of(findings, workplace)
            if language_of(lead.file) in languages
        )
        tests = task.history.test_files()

        def may_edit(file: str) -> bool:
            judges = is_judge(file, self._judges) or is_one_of(file, tests)
            own = language_of(file) in languages and _is_own(file) and not file.endswith(".pyi")
            return not judges and own and _is_within(bounds, file)

        for earlier in offers.searches:
            if earlier.would_repeat(outcome.failing, read):
                if earlier.found_nothing:
                    return Proposal(description=_REPEATED, texts={}, trace={"repeated": True})
                # What a check refused was only the best of them.
                solutions = earlier.solutions(read)
                if solutions and all(may_edit(file) for one in solutions for file in one.texts):
                    again = SearchReport.recorded(earlier.trace, solutions)
                    return self._proposal(again, offers, workplace.root)
        scope = SearchScope(
            check=check,
            workplace=workplace,
            may_edit=may_edit,
            leads=leads,
            outcome=outcome,
            excused=_excused(verdict),
        )
        limits = replace(self._limits(), longest=_longest(verdict))
        session: SearchSession | JavascriptSession
        if runs_python(check):
            session = SearchSession(
                scope=scope,
                budget=budget,
                share=share,
                seed=self._config.seed,
                limits=limits,
                held=self._held(),
                emit=emit,
                early=early if (early := self._early) and early.fits(check, workplace) else None,
            )
        else:
            session = JavascriptSession(
                scope=scope,
                budget=budget,
                share=share,
                limits=limits,
                held=self._held(),
                emit=emit,
            )
        try:
            report = await session.run()
        except Unprovable as error:
            return Proposal(description=f"tried no edit: {error}", texts={})
        return self._proposal(report, offers, workplace.root)

    def _limits(self) -> TrialLimits:
        from runtrue.fixers.search.servers import TrialLimits

        return TrialLimits(
            memory=self._config.memory * 1024 * 1024,
            jobs=self._config.jobs or os.cpu_count() or 1,
            measuring=self._config.seconds * _MEASURING,
        )

    def _proposal(self, report: SearchReport, offers: Offers, root: Path) -> Proposal:
        """Propose the best new solution, or say what was tried and where to look."""
        trace = report.to_dict(lambda file: _read(root / file))
        for at, one in enumerate(report.solutions):
            digest = digest_of(one.texts)
            if digest in offers.edits:
                continue
            is_sure = one.confidence >= self._config.confidence
            if self._has_stronger and not is_sure and not offers.deferred:
                offers.deferred = True
                return Proposal(description=_deferral_text(report, one), texts={}, trace=trace)
            trace |= {"chosen": at, "offered": digest}
            return Proposal(
                description=_proposal_text(report, one),
                texts=one.texts,
                analysis=Analysis(
                    root_cause=f"found by trying: {one.says}",
                    fix_strategy=one.says,
                    confidence=one.confidence,
                    patterns_matched=tuple(dict.fromkeys(one.kinds)),
                ),
                trace=trace,
                confidence=Confidence(value=one.confidence, reason=_reason(report, one)),
                # The examples compare with the best.
                alternatives=() if at else tuple(_alternatives(report, root)),
            )
        return Proposal(description=_failure_text(report), texts={}, trace=trace)


def _read(path: Path) -> str:
    """Return the text of a file; nothing where there is none."""
    return decoded(path.read_bytes()) if path.is_file() else ""


def runs_python(check: CommandCheck) -> bool:
    """Return whether a check runs Python tests: pytest in any way, or a Python program."""
    if check.tool is not None:
        return check.tool == "pytest"
    names = [PurePosixPath(word).name for word in check.argv[:3]]
    return any(re.fullmatch(r"python[\d.]*", name) for name in names)


def runs_javascript(check: CommandCheck) -> bool:
    """Return whether a check runs JavaScript tests: by a runner, a package manager or node."""
    reach = reach_of(check.command, None)
    if reach is not None:
        return reach.tool in _RUNNERS
    names = [PurePosixPath(word).name for word in check.argv[:3]]
    return any(name in _STARTERS for name in names)


def _is_worthwhile(budget: SearchBudget) -> bool:
    return budget.left > _WORTHWHILE and budget.candidates > 0


def _excused(verdict: Verdict | None) -> frozenset[str]:
    """Return the tests that no edit is expected to fix: flaky, known, or failing from outside."""
    if verdict is None:
        return frozenset()
    outside = [finding for finding in verdict.findings if finding.fault is not Fault.CANDIDATE]
    every = (*outside, *verdict.flaky, *verdict.known)
    return frozenset(finding.location.symbol for finding in every if finding.location.symbol)


def _outcome(verdict: Verdict | None, tests: Iterable[str | None]) -> CheckOutcome:
    """Return what a check has shown of these tests, which failed."""
    from runtrue.fixers.search.measurement import CheckOutcome

    cases = verdict.cases if verdict else {}
    return CheckOutcome(
        failing=frozenset(filter(None, tests)),
        passing=frozenset(test for test, end in cases.items() if end is Outcome.PASSED),
        seconds=verdict.seconds if verdict else None,
    )


def _longest(verdict: Verdict | None) -> float:
    """Return the seconds after which a test counts as hanging, by how long all of them took."""
    hangs = verdict is None or any(finding.category == TIMEOUT for finding in verdict.findings)
    return _HANGS if hangs or verdict is None else min(10.0, max(_HANGS, 2 * verdict.seconds))


def _is_own(file: str) -> bool:
    return not is_installed(file)


def _is_within(bounds: Bounds | None, file: str) -> bool:
    return bounds is None or not bounds.outside([file])


def _proposal_text(report: SearchReport, solution: Solution) -> str:
    others = len(report.solutions) - 1
    facts = [f"{report.tried:,} edits tried"]
    if others:
        facts.append(f"{others} more would pass")
    facts.append(f"confidence {solution.confidence:.2f}")
    if solution.left:
        left = len(solution.left)
        facts.append(f"{left} test still fails" if left == 1 else f"{left} tests still fail")
    if solution.twins:
        facts.append(f"the same is written in {', '.join(solution.twins[:3])}")
    if solution.doubt:
        facts.append(f"look at it closely: it {solution.doubt}")
    return f"{solution.says} ({'; '.join(facts)})"


def _reason(report: SearchReport, solution: Solution) -> str:
    """Return what the confidence in a solution rests on."""
    if solution.doubt:
        return f"the edit {solution.doubt}"
    others = len(report.solutions) - 1
    if not others:
        return "no other small edit that was tried passes the tests"
    alike = solution.alike or 0
    same = f", {alike} of them with the same effect" if alike else ""
    return f"{others} other edit{'' if others == 1 else 's'} would pass the tests{same}"


def _alternatives(report: SearchReport, root: Path) -> Iterator[Alternative]:
    """Yield the likeliest solutions that behave otherwise than the best."""
    others = [one for one in report.solutions if one.example and not one.doubt]
    for one in others[:_ALTERNATIVES]:
        before = {file: decoded((root / file).read_bytes()) for file in one.texts}
        pairs = [(file, before[file], text) for file, text in one.texts.items()]
        if one.example is not None:
            yield Alternative(
                says=one.says,
                confidence=one.confidence,
                diff="".join(unified_diff(*pair) for pair in pairs),
                edits=tuple(edit for pair in pairs for edit in replacements(*pair)),
                example=one.example,
            )


def _deferral_text(report: SearchReport, solution: Solution) -> str:
    count = len(report.solutions)
    would = "1 edit would pass" if count == 1 else f"{count} edits would pass"
    return (
        f"{would}, but none is sure; the likeliest: {solution.says} "
        f"(confidence {solution.confidence:.2f})"
    )


def _failure_text(report: SearchReport) -> str:
    if report.solutions:
        return "all edits that pass the tests have been proposed"
    if any(step["step"] == "nothing" for step in report.steps):
        return "no test fails any more"
    if not report.tried and report.stopped is Stopped.TIME:
        return "tried no edit: the time ran out before the first ([fixers.search] seconds)"
    where = f". Most suspicious: {', '.join(report.suspects[:3])}" if report.suspects else ""
    if not report.tried:
        why = "no known kind of edit fits" if where else "the failing tests ran no editable file"
        return f"tried no edit: {why}{where}"
    match report.stopped:
        case Stopped.TIME:
            why = "time limit: [fixers.search] seconds"
        case Stopped.CANDIDATES:
            why = "limit: [fixers.search] candidates"
        case Stopped.UNPROVABLE:
            why = f"stopped early: {report.steps[-1]['why']}"
        case _:
            why = "no other known kind of edit fits"
    return f"tried {report.tried:,} edits in {report.seconds:.0f} s; none passed ({why}){where}"
