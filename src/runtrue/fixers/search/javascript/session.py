"""Session: from failing JavaScript tests to the edits under which they pass.

    warm runner ─▶ measure ─▶ a file does not parse? ─▶ token repairs ─┬─▶ choose
                           └▶ singles, slow ones, pairs ───────────────┘

Where no runner can be kept warm, the command itself is run on each candidate.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from runtrue.fixers.search.budget import WAITING, Allowance, SearchBudget
from runtrue.fixers.search.compare import discovery_of
from runtrue.fixers.search.edit_search import EditTrials, Search, SearchTally, where_to_look
from runtrue.fixers.search.evidence import Baseline, Failure
from runtrue.fixers.search.javascript.clues import clues_of, suspicion_by_name
from runtrue.fixers.search.javascript.command_prover import CommandProver
from runtrue.fixers.search.javascript.damage import repairs
from runtrue.fixers.search.javascript.proposals import JavascriptProposals
from runtrue.fixers.search.javascript.runner import runners_of
from runtrue.fixers.search.javascript.syntax_tree import SUFFIXES, JavascriptProgram, parses
from runtrue.fixers.search.javascript.warm_prover import WarmProver
from runtrue.fixers.search.javascript.weights import Weights
from runtrue.fixers.search.localise import suspicion
from runtrue.fixers.search.offers import text_digest
from runtrue.fixers.search.proposals import EditSet
from runtrue.fixers.search.rank import RankedEdits, rank_edits
from runtrue.fixers.search.report import Searching, SearchReport, SearchScope, Solution, Stopped
from runtrue.fixers.search.servers import TrialLimits, Unprovable
from runtrue.fixers.sources import imported_by, read_text, sources_below

#: Of the time that is left, the share for running the tests as they are, and for token repairs.
_MEASURING, _READING = 0.4, 0.6
_TOKEN_REPAIRS, _SECOND_THOUGHTS = 80, 8
#: Test files besides the failing ones that candidates have to pass, and files that are edited.
_MOST_TESTS, _MOST_FILES = 30, 25
#: The bounds of how many candidates are tried after the first that passes.
_MORE = 100, 800
#: Longer lines were not written by people.
_LONGEST_LINE = 4_000
#: The most confidence in an edit: those that pass are not compared on inputs besides the tests'.
_MOST = 0.85
#: Seconds that a search may go on beyond its time, to choose.
_CHOOSING = 3.0


@dataclass(kw_only=True)
class JavascriptSession:
    """One search for a fix. It may use a share of what is left of a budget."""

    scope: SearchScope
    budget: SearchBudget
    share: float = 1.0
    limits: TrialLimits
    #: The number of verified fixes, by cause and kind of edit.
    held: Mapping[tuple[str, str], int]
    emit: Callable[[Searching], None]
    report: SearchReport = field(default_factory=SearchReport)
    _until: float = 0.0

    def __post_init__(self) -> None:
        self._candidates = math.ceil(self.budget.candidates * self.share)

    async def run(self) -> SearchReport:
        """Search. Raises Unprovable where the tests cannot be run in any way."""
        started = time.monotonic()
        self.budget.begin()
        seconds = self.budget.left * self.share
        # Each process may use as much as one of them would by the clock of a quiet machine.
        self._until = self.budget.clock() + seconds * max(1, self.limits.jobs)
        try:
            async with asyncio.timeout(WAITING * (seconds + _CHOOSING)):
                await self._search()
        except TimeoutError:
            self.report.stopped = Stopped.TIME
        finally:
            self.report.seconds = time.monotonic() - started
        return self.report

    async def _search(self) -> None:
        scope = self.scope
        for runner in runners_of(scope.check, scope.workplace.directory):
            try:
                async with WarmProver.open(
                    scope.check, scope.workplace, runner, self.limits
                ) as prover:
                    files = self._test_files() or self._named(runner.files, runner.directory)
                    seconds = self._left * _MEASURING
                    failing = sorted(scope.outcome.failing)
                    baseline = await prover.measure(files, failing, seconds)
                    self.report.steps.append({"step": "warm", "runner": runner.name})
                    await self._from(prover, baseline)
                    return
            except Unprovable as error:
                if self.report.tried:
                    raise
                self.report.steps.append({"step": "fresh", "why": str(error)})
        async with CommandProver.open(scope.check, scope.workplace, self.limits) as command:
            baseline = await command.measure(self._left * _MEASURING)
            await self._from(command, baseline)

    async def _from(self, prover: WarmProver | CommandProver, baseline: Baseline) -> None:
        targets = self._targets(baseline)
        if not targets:
            raise Unprovable("the failing tests pass when they are run warm")
        leads = self._editable(self._leads(baseline, targets), baseline)
        broken = [file for file in leads if not parses(file, self._read(file))]
        if broken and await self._fix_syntax(prover, baseline, broken, targets):
            return
        search = self._edit_search(prover, baseline, targets)
        if search is None:
            return
        try:
            found = await search.run()
        finally:
            self._note("search", search.tally, targets)
        if found:
            self._choose(found, baseline, targets, search)

    # -- what fails, and where to look ------------------------------------------------------------

    def _targets(self, baseline: Baseline) -> list[str]:
        excused = self.scope.excused
        failing = [case.test for case in baseline.failing if case.test not in excused]
        known = {name for name in self.scope.outcome.failing if "::" in name}
        # Tests that fail only here say more about us than about the program.
        wanted = [test for test in failing if test in known]
        files = {name.partition("::")[0] for name in known}
        return wanted or [test for test in failing if not files or test in files] or failing

    def _test_files(self) -> list[str]:
        outcome = self.scope.outcome
        failing = dict.fromkeys(sorted(_files_of(outcome.failing)))
        passing = [file for file in sorted(_files_of(outcome.passing)) if file not in failing]
        every = [*failing, *passing[:_MOST_TESTS]]
        # A file that cannot be loaded is named in place of the tests that need it.
        may_edit, root = self.scope.may_edit, self.scope.workplace.root
        return [file for file in every if (root / file).is_file() and not may_edit(file)]

    def _named(self, files: Sequence[str], directory: Path) -> list[str]:
        root = self.scope.workplace.root.resolve()
        return [(directory.resolve() / file).relative_to(root).as_posix() for file in files]

    def _leads(self, baseline: Baseline, targets: Sequence[str]) -> list[str]:
        wanted = set(targets)
        failures = [case.failure for case in baseline.cases if case.test in wanted]
        frames = [f.file for one in failures if one for f in reversed(one.frames)]
        ran = [f for case in baseline.cases if case.test in wanted for f in case.lines or ()]
        # A file that cannot be loaded has run nothing; what its tests import may be to blame.
        root = self.scope.workplace.root
        listed = () if ran else sources_below(root)
        imported = [
            f for test in sorted(_files_of(targets)) for f in imported_by(test, root, listed)
        ]
        return [*frames, *ran, *self.scope.leads, *imported]

    def _editable(self, files: Iterable[str], baseline: Baseline) -> list[str]:
        tests = set(baseline.tests)
        found = []
        for file in dict.fromkeys(files):
            path = self.scope.workplace.root / file
            if file in tests or PurePosixPath(file).suffix not in SUFFIXES:
                continue
            if self.scope.may_edit(file) and path.is_file():
                found.append(file)
        return found[:_MOST_FILES]

    def _edit_search(
        self, prover: WarmProver | CommandProver, baseline: Baseline, targets: list[str]
    ) -> Search | None:
        failures = _failures(baseline, targets)
        files = self._editable(self._leads(baseline, targets), baseline)
        texts = {file: self._read(file) for file in files}
        texts = {file: text for file, text in texts.items() if _is_readable(file, text)}
        outside = {
            file: JavascriptProgram(file, text).lines_outside_functions
            for file, text in texts.items()
        }
        suspect = suspicion(baseline, targets, [*texts], outside)
        sources = [self._read(file) for file in sorted(_files_of(targets)) or baseline.tests]
        clues = clues_of(targets, sources, failures)
        if not any(suspect.lines.values()) or not any(
            case.lines for case in baseline.cases if case.test in set(targets)
        ):
            suspect = suspicion_by_name(texts, clues, suspect)
        self.report.suspects = where_to_look(suspect)
        base = {file: texts[file] for file in suspect.files}
        self.report.tests = tuple(sorted(self.scope.outcome.failing))
        self.report.files = {file: text_digest(text) for file, text in base.items()}
        weights = Weights(failures, self.held)
        self.report.causes = tuple(map(str, weights.causes))
        proposals = JavascriptProposals(base, suspect, clues, weights)
        search = Search(
            prover,
            baseline,
            base,
            proposals,  # type: ignore[arg-type]
            self._allowance(),
            targets=targets,
            report=self._progress,
        )
        search.more = _MORE
        return search

    # -- files that do not parse ------------------------------------------------------------------

    async def _fix_syntax(
        self,
        prover: WarmProver | CommandProver,
        baseline: Baseline,
        broken: Sequence[str],
        targets: Sequence[str],
    ) -> bool:
        """Try token repairs; True if one passes."""
        file = broken[0]
        text = self._read(file)
        passing = [case.test for case in baseline.cases if case.passed]
        allowance = self._allowance(_READING)
        trying = EditTrials(
            prover,
            {file: text},
            allowance,
            only=[*dict.fromkeys((*targets, *passing))],
            more=(_SECOND_THOUGHTS, _SECOND_THOUGHTS),
            report=self._progress,
        )
        edits = repairs(file, text, limit=_TOKEN_REPAIRS, seconds=allowance.seconds)
        try:
            found = await trying.all(
                EditSet(edits=(one,), cost=math.log(max(one.unlikely, 0.1))) for one in edits
            )
        finally:
            self._note("tokens", trying.tally, [])
        if found:
            self._choose(found, baseline, targets)
        return bool(found)

    # -- the result -------------------------------------------------------------------------------

    def _choose(
        self,
        found: list[EditSet],
        baseline: Baseline,
        targets: Sequence[str],
        search: Search | None = None,
    ) -> None:
        """Report what passes, best first; `search` is None where tokens were repaired."""
        failures = _failures(baseline, targets)
        choices = rank_edits(
            found,
            [None] * len(found),
            tests=len(baseline.cases),
            failing=len(targets),
            cut_off=self.report.stopped in (Stopped.TIME, Stopped.CANDIDATES),
            discoveries=[
                # What an edit dodges is not looked at in JavaScript.
                discovery_of(one, search, failures, dodges=False)
                for one in found
                if search is not None
            ],
            tokens=search is None,
        )
        self.report.solutions = [self._solution(one) for one in choices]
        self.report.steps.append({"step": "choose", "passing": len(found)})

    def _solution(self, choice: RankedEdits) -> Solution:
        candidate = choice.candidate
        base = {edit.file: self._read(edit.file) for edit in candidate.edits}
        return Solution(
            texts=candidate.texts(base),
            says="; ".join(f"{edit.says} in {edit.file}:{edit.line}" for edit in candidate.edits),
            kinds=tuple(edit.kind for edit in candidate.edits),
            confidence=min(_MOST, choice.confidence),
            doubt=candidate.doubt,
            alike=choice.alike,
            signs=choice.signs,
        )

    @property
    def _left(self) -> float:
        return self._until - self.budget.clock()

    def _allowance(self, share: float = 1.0) -> Allowance:
        return Allowance(
            until=self.budget.clock() + self._left * share,
            candidates=max(0, self._candidates - self.report.tried),
            jobs=self.limits.jobs,
            clock=self.budget.clock,
        )

    def _read(self, file: str) -> str:
        return read_text(self.scope.workplace.root / file) or ""

    def _note(self, step: str, tally: SearchTally, targets: list[str]) -> None:
        self.report.tried += tally.tried
        self.budget.candidates -= tally.tried
        self.report.stopped = tally.stopped
        entry: dict[str, Any] = {
            "step": step,
            "candidates": tally.tried,
            "kinds": dict(tally.kinds.most_common()),
            "ends": {str(end): count for end, count in tally.ends.items()},
            "passing": len(tally.passing),
            "stopped": str(tally.stopped),
        }
        self.report.steps.append(entry | ({"targets": targets} if targets else {}))

    def _progress(self, tally: SearchTally) -> None:
        best = tally.passing[min(tally.passing)].says if tally.passing else None
        self.emit(
            Searching(
                tried=self.report.tried + tally.tried,
                rate=round(tally.rate),
                passing=len(tally.passing),
                best=best,
            )
        )


def _files_of(tests: Iterable[str]) -> set[str]:
    return {name.partition("::")[0] for name in tests if "::" in name or _is_file(name)}


def _is_file(name: str) -> bool:
    return PurePosixPath(name).suffix in SUFFIXES


def _failures(baseline: Baseline, targets: Sequence[str]) -> list[Failure]:
    wanted = set(targets)
    return [c.failure for c in baseline.cases if c.failure and c.test in wanted]


def _is_readable(file: str, text: str) -> bool:
    return max(map(len, text.split("\n")), default=0) <= _LONGEST_LINE and parses(file, text)
