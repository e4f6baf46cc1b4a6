"""Session: from failing tests to the edits under which they pass, or to what was tried.

    baseline ─▶ a file does not parse? ─▶ token repairs ─┬─▶ choose
             └▶ singles, slow ones, pairs ───────────────┘
    none passes: go on from the one that fixes the most tests, as long as there is budget

The session and the tests may change files of the workplace; the session restores what it wrote.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import math
import re
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from runtrue.encoding import decoded
from runtrue.fixers.search.budget import WAITING, Allowance, SearchBudget
from runtrue.fixers.search.compare import compared
from runtrue.fixers.search.early_servers import EarlyServers
from runtrue.fixers.search.edit import Edit, parsed
from runtrue.fixers.search.edit_search import (
    EditTrials,
    Search,
    SearchTally,
    where_to_look,
)
from runtrue.fixers.search.evidence import Baseline, Failure
from runtrue.fixers.search.forked_prover import Prover, TrialLimits, Unprovable
from runtrue.fixers.search.fresh_prover import FreshProver
from runtrue.fixers.search.localise import Suspicion, suspicion
from runtrue.fixers.search.offers import text_digest
from runtrue.fixers.search.priors import Priors
from runtrue.fixers.search.program import Program
from runtrue.fixers.search.proposals import EditSet, Proposals
from runtrue.fixers.search.rank import (
    Behaviour,
    RankedEdits,
    rank_edits,
    shortest_difference,
)
from runtrue.fixers.search.report import Searching, SearchReport, SearchScope, Solution, Stopped
from runtrue.fixers.search.syntax import SyntaxFix, parses, repairs
from runtrue.loop import write_texts

#: Token repairs that are tried for a file.
_TOKEN_REPAIRS = 120
#: How often a session goes on from a candidate that fixes some of the tests.
_STEPS = 3
#: Of the time that is left, the share for token repairs; how many are tried after one that passes.
_READING, _SECOND_THOUGHTS = 0.5, 8
#: Token repairs that only get rid of what is in the way.
_DROPS = dict.fromkeys(
    ("commented out", "comment mark", "prose", "dropped line", "dropped token", "body"),
    "drops code",
)
#: Edits of names that are nowhere: where one is written again, that is wrong as well.
_MISSPELT = frozenset(("missing_attribute", "name", "undefined", "key"))
#: Longer strings of tests are no names.
_LONGEST_NAME = 40
#: The share of the time for one edit that fixes all failing tests, where they fail in several ways.
_TOGETHER = 0.6
#: The least time, in seconds, that is worth beginning something with.
_WORTHWHILE = 0.5
#: Seconds for comparing what passes, at least: a choice that is better is worth them.
_CHOOSING = 3.0


@dataclass(kw_only=True)
class SearchSession:
    """One search for a fix. It may use a share of what is left of a budget."""

    scope: SearchScope
    budget: SearchBudget
    share: float = 1.0
    seed: int
    limits: TrialLimits
    #: The number of verified fixes, by cause and kind of edit.
    held: Mapping[tuple[str, str], int]
    emit: Callable[[Searching], None]
    early: EarlyServers | None = None
    report: SearchReport = field(default_factory=SearchReport)
    _until: float = 0.0
    #: The files that were written to go on from, with their old and their new texts.
    _before: dict[str, str] = field(default_factory=dict)
    _changed: dict[str, str] = field(default_factory=dict)
    #: The edits that were made in them.
    _made: tuple[Edit, ...] = ()
    #: The least confidence in those that fix some of the tests.
    _sure: float = 1.0

    def __post_init__(self) -> None:
        self._candidates = math.ceil(self.budget.candidates * self.share)

    async def run(self) -> SearchReport:
        """Search. Raises Unprovable where the tests cannot be run in any way."""
        started = time.monotonic()
        early = self.early.prover if self.early else None
        self.budget.begin(early.spent if early else 0.0)
        self._until = self.budget.clock() + self.budget.left * self.share
        try:
            for step in range(_STEPS):
                async with asyncio.timeout(WAITING * (self._left + _CHOOSING)):
                    if not await self._step(last=step == _STEPS - 1):
                        break
        except TimeoutError:
            self.report.stopped = Stopped.TIME
        except Unprovable as error:
            if not self.report.tried:
                raise
            self.report.stopped = Stopped.UNPROVABLE
            self.report.steps.append({"step": "stopped", "why": str(error)})
        finally:
            self.report.seconds = time.monotonic() - started
            write_texts(self._before, self.scope.workplace.root)
        return self.report

    async def _step(self, *, last: bool) -> bool:
        """Search from the present program; True if a candidate was written to go on from."""
        async with self._prover() as prover:
            baseline = await prover.baseline()
            targets = self._targets(baseline)
            if not targets:
                self.report.steps.append({"step": "nothing", "why": "no test fails as it now is"})
                return False
            broken = [f for f in self._leads(baseline) if parses(self._read(f)) is not None]
            if broken:
                return await self._fix_syntax(prover, baseline, broken[0]) and not last
            parts = [] if last else _by_failure(baseline, targets)
            share = _TOGETHER if len(parts) > 1 else 1.0
            search, found = await self._run_search(prover, baseline, targets, share)
            if found:
                choices = await self._choose(prover, found, search, targets)
                self._add_solutions(prover, choices)
                return False
            part = None if last or len(targets) < 2 else await search.best_part()
            choice = None
            if part is not None:
                choices = await self._choose(prover, [part[0]], search, list(part[1]))
                choice = choices[0]
            for at, some in enumerate(parts if part is None and len(parts) > 1 else ()):
                # One hard test must not keep an easy one from being fixed.
                search, found = await self._run_search(
                    prover, baseline, some, 1 / (len(parts) - at)
                )
                if found:
                    choices = await self._choose(prover, found, search, some)
                    choice, part = choices[0], (choices[0].candidate, tuple(some))
                    break
        if part is None or choice is None:
            return False
        candidate, fixed = part
        left = tuple(test for test in targets if test not in fixed)
        self._go_on_from(candidate)
        self._sure = min(self._sure, choice.confidence)
        self.report.steps.append({"step": "part", "says": candidate.says, "left": list(left)})
        if not candidate.doubt:
            self.report.solutions = [self._solution(choice, left)]
        return self._left > _WORTHWHILE

    async def _run_search(
        self,
        prover: Prover | FreshProver,
        baseline: Baseline,
        targets: list[str],
        share: float,
    ) -> tuple[Search, list[EditSet]]:
        """Search for edits that fix these tests, in a share of the time that is left."""
        search = self._search(prover, baseline, targets, share)
        try:
            return search, await search.run()
        finally:
            self._note("search", search.tally, targets, baseline)

    # -- the prover -------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _prover(self) -> AsyncIterator[Prover | FreshProver]:
        """Open forks of one preloaded run, if that fails as the check did; else fresh processes."""
        scope = self.scope
        stack = contextlib.AsyncExitStack()
        try:
            prover: Prover | FreshProver
            try:
                if scope.check.tool != "pytest":
                    raise Unprovable("the tests are not run by pytest")
                early, self.early = self.early, None
                prover = await stack.enter_async_context(
                    Prover.open(scope.check, scope.workplace, self.limits, early, scope.outcome)
                )
                failing = {case.test for case in (await prover.baseline()).failing}
                if not self._changed and scope.outcome.failing and not failing:
                    raise Unprovable("preloaded tests pass that fail when run by themselves")
            except Unprovable as error:
                await stack.aclose()
                self.report.steps.append({"step": "fresh", "why": str(error)})
                prover = await stack.enter_async_context(
                    FreshProver.open(scope.check, scope.workplace, self.limits)
                )
            yield prover
        finally:
            await stack.aclose()

    def _targets(self, baseline: Baseline) -> list[str]:
        excused = self.scope.excused
        return [case.test for case in baseline.failing if case.test not in excused]

    # -- ordinary edits -------------------------------------------------------------------------

    def _search(
        self, prover: Prover | FreshProver, baseline: Baseline, targets: list[str], share: float
    ) -> Search:
        failures = self._failures(baseline, targets)
        files = [file for file in self._files(baseline) if parses(self._read(file)) is None]
        suspect = suspicion(baseline, targets, files, self._imports(baseline, targets, files))
        if not any(suspect.lines.values()):
            # Nothing was measured: every line of what the findings lead to is equally suspect.
            suspect = _all_lines({file: self._read(file) for file in files})
        self.report.suspects = where_to_look(suspect)
        base = {file: self._read(file) for file in suspect.files}
        if not self._changed:
            self.report.tests = tuple(sorted(self.scope.outcome.failing))
            self.report.files = {file: text_digest(text) for file, text in base.items()}
        priors = Priors.for_(failures, self.held)
        self.report.causes = tuple(map(str, priors.causes))
        return Search(
            prover,
            baseline,
            base,
            Proposals(base, suspect, failures, priors, strings=self._short_strings(baseline)),
            self._allowance(share),
            targets=targets,
            report=self._progress,
        )

    def _imports(
        self, baseline: Baseline, targets: Collection[str], files: Iterable[str]
    ) -> dict[str, frozenset[int]]:
        """Return the lines outside of functions, of the files that the target tests ran."""
        ran = {f for c in baseline.cases if c.test in targets for f in c.lines or ()}
        return {
            file: Program(file, self._read(file)).lines_outside_functions
            for file in files
            if file in ran
        }

    def _short_strings(self, baseline: Baseline) -> list[str]:
        found: dict[str, None] = {}
        for file in baseline.tests:
            with contextlib.suppress(SyntaxError, ValueError, RecursionError):
                for node in ast.walk(parsed(self._read(file))):
                    if isinstance(node, ast.Constant) and isinstance(node.value, str):
                        found.setdefault(node.value)
        return [text for text in found if 1 < len(text) < _LONGEST_NAME]

    def _failures(self, baseline: Baseline, targets: list[str]) -> list[Failure]:
        wanted = set(targets)
        return [c.failure for c in baseline.cases if c.failure and c.test in wanted]

    def _files(self, baseline: Baseline) -> list[str]:
        """Return the files that may be edited and that something ran, or the findings lead to."""
        seen = dict.fromkeys(self._leads(baseline))
        for case in baseline.cases:
            seen |= dict.fromkeys(case.lines or ())
        seen |= dict.fromkeys(baseline.imported)
        return self._editable(seen, baseline)

    def _leads(self, baseline: Baseline) -> list[str]:
        frames = [
            frame.file
            for case in baseline.failing
            if case.failure
            for frame in reversed(case.failure.frames)
        ]
        return self._editable([*frames, *self.scope.leads], baseline)

    def _editable(self, files: Iterable[str], baseline: Baseline) -> list[str]:
        tests = set(baseline.tests)
        return [
            file
            for file in dict.fromkeys(files)
            if file not in tests and self.scope.may_edit(file) and self._is_there(file)
        ]

    def _allowance(self, share: float = 1.0) -> Allowance:
        return Allowance(
            until=self.budget.clock() + self._left * share,
            candidates=max(0, self._candidates - self.report.tried),
            jobs=self.limits.jobs,
            clock=self.budget.clock,
        )

    async def _choose(
        self,
        prover: Prover | FreshProver,
        found: Sequence[EditSet],
        search: Search,
        some: Sequence[str],
    ) -> list[RankedEdits]:
        seconds = max(_CHOOSING, self._left)
        passing = await compared(prover, found, search, some, seed=self.seed, seconds=seconds)
        self.report.passing = passing
        return passing.ranked()

    def _add_solutions(self, prover: Prover | FreshProver, choices: Sequence[RankedEdits]) -> None:
        """Report what passes, each with an input on which it differs from the best."""
        seen: set[Behaviour | None] = {choices[0].behaviour}
        for choice in choices:
            solution = self._solution(choice)
            if choice.behaviour not in seen:
                seen.add(choice.behaviour)
                best = choices[0].behaviour
                example = shortest_difference(best, choice.behaviour, prover.calls)
                solution = replace(solution, example=example)
            self.report.solutions.append(solution)
        self.report.steps.append({"step": "choose", "passing": len(choices)})

    # -- programs that do not parse -------------------------------------------------------------

    async def _fix_syntax(
        self, prover: Prover | FreshProver, baseline: Baseline, file: str
    ) -> bool:
        """Try token repairs of a file; True to go on from the best that does not pass."""
        text = self._read(file)
        only = [case.test for case in baseline.cases if case.test not in self.scope.excused]
        allowance = self._allowance(_READING)
        trying = EditTrials(
            prover,
            {file: text},
            allowance,
            only=only if self.scope.excused else None,
            more=(_SECOND_THOUGHTS, _SECOND_THOUGHTS),
            report=self._progress,
        )
        readings = repairs(text, limit=_TOKEN_REPAIRS, seconds=allowance.seconds)
        try:
            found = await trying.all(_as_candidate(file, one) for one in readings)
        finally:
            self._note("tokens", trying.tally, [], None)
        if found:
            choices = rank_edits(found, [None] * len(found), tests=len(baseline.cases), tokens=True)
            self.report.solutions = [self._solution(one) for one in choices]
            return False
        best = trying.furthest()
        if best is None or self._left < _WORTHWHILE:
            return False
        self.report.steps.append({"step": "parsed", "says": best.says})
        self._go_on_from(best)
        return True

    # -- state ----------------------------------------------------------------------------------

    @property
    def _left(self) -> float:
        return self._until - self.budget.clock()

    def _read(self, file: str) -> str:
        changed = self._changed.get(file)
        return read_text(self._path(file)) if changed is None else changed

    def _is_there(self, file: str) -> bool:
        return self._path(file).is_file()

    def _path(self, file: str) -> Path:
        return self.scope.workplace.root / file

    def _base_of(self, candidate: EditSet) -> dict[str, str]:
        return {edit.file: self._read(edit.file) for edit in candidate.edits}

    def _go_on_from(self, candidate: EditSet) -> None:
        texts = candidate.texts(self._base_of(candidate))
        for file in texts:
            self._before.setdefault(file, self._read(file))
        self._changed |= texts
        write_texts(texts, self.scope.workplace.root)
        self._made = (*self._made, *candidate.edits)

    def _solution(self, choice: RankedEdits, left: Sequence[str] = ()) -> Solution:
        candidate = choice.candidate
        is_part = bool(left)
        edits = self._made if is_part else (*self._made, *candidate.edits)
        texts = {} if is_part else candidate.texts(self._base_of(candidate))
        return Solution(
            texts={**self._changed, **texts},
            says="; ".join(f"{edit.says} in {edit.file}:{edit.line}" for edit in edits),
            kinds=tuple(edit.kind for edit in edits),
            confidence=min(choice.confidence, self._sure),
            doubt=next((edit.doubt for edit in edits if edit.doubt), None),
            alike=choice.alike,
            left=tuple(left),
            twins=tuple(twin for edit in edits for twin in self._twins(edit)),
            signs=choice.signs,
        )

    def _twins(self, edit: Edit) -> list[str]:
        """Return the other lines of a file in which a name that was replaced is written."""
        before = self._before.get(edit.file) or self._read(edit.file)
        olds = {before[one.start : one.end].rpartition(".")[2] for one in edit.splices}
        if edit.kind not in _MISSPELT or len(olds) != 1 or not (old := olds.pop()).isidentifier():
            return []
        if re.search(rf"(\.{old}\s*=[^=]|\b(def|class) {old}\b|^{old}\s*=)", before, re.MULTILINE):
            return []  # it is somebody's name after all
        changed = {before.count("\n", 0, one.start) + 1 for one in edit.splices}
        word = re.compile(rf"\b{old}\b")
        return [
            f"{edit.file}:{number}"
            for number, line in enumerate(before.split("\n"), 1)
            if number not in changed and word.search(line)
        ]

    def _note(
        self, step: str, tally: SearchTally, targets: list[str], baseline: Baseline | None
    ) -> None:
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
        if targets:
            entry["targets"] = targets
        if baseline is not None and baseline.shares:
            entry["shares"] = baseline.shares
        self.report.steps.append(entry)

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


def read_text(path: Path) -> str:
    """Return the text of a file; nothing where it cannot be read."""
    try:
        return decoded(path.read_bytes())
    except (OSError, UnicodeDecodeError):
        return ""


def _as_candidate(file: str, reading: SyntaxFix) -> EditSet:
    edit = Edit(
        file=file,
        splices=reading.splices,
        kind=reading.kind,
        line=reading.line,
        says=reading.says,
        unlikely=reading.unlikely,
        doubt=_DROPS.get(reading.kind),
    )
    return EditSet(edits=(edit,), cost=math.log(max(reading.unlikely, 0.1)))


def _by_failure(baseline: Baseline, targets: Collection[str]) -> list[list[str]]:
    """Return the tests in groups that fail in the same place with the same exception."""
    found: dict[object, list[str]] = {}
    for case in baseline.cases:
        if case.test in targets:
            failure = case.failure
            at = failure.frames[-1] if failure and failure.frames else None
            key: object = case.test
            if failure and at and at.file not in baseline.tests:
                key = failure.exception, at.file, at.function
            found.setdefault(key, []).append(case.test)
    return list(found.values())


def _all_lines(texts: Mapping[str, str]) -> Suspicion:
    return Suspicion(
        lines={
            file: dict.fromkeys(range(1, text.count("\n") + 2), 0.3 if at else 1.0)
            for at, (file, text) in enumerate(texts.items())
        }
    )
