"""Reduce a fix: drop each place that it changes and that no failing test needs.

Of search, memory and tools the smaller fix is taken; of agents, models and people it is offered.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from runtrue.flow import Run
from runtrue.loop.alternatives import Replacement, replaced, replacements
from runtrue.loop.attempt import Attempt, Fix, Hunk
from runtrue.loop.check_candidate import select_cases
from runtrue.loop.edit import EditRules, guard_edit
from runtrue.loop.evidence import turned_green
from runtrue.loop.finding import Outcome, Verdict
from runtrue.loop.history import History
from runtrue.loop.lineage import lineage
from runtrue.loop.policy import Budget
from runtrue.loop.redact import redacted_verdict
from runtrue.loop.seams import Check
from runtrue.loop.workshop import RepairState, Workshop

#: Fixers whose fix is replaced by the smaller one.
_REPLACED = frozenset({"memory", "tool", "search"})
#: Runs of the failing checks at most, and seconds for all of them.
_MOST_RUNS, _MOST_SECONDS = 8, 60.0
#: Files whose places are looked at; those of further ones are all kept.
_MOST_FILES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """The places that a fix changes, and the candidate without those that nothing needs."""

    hunks: tuple[Hunk, ...] = ()
    #: None where every place is needed, or where that could not be found out.
    candidate: str | None = None
    verdicts: tuple[Verdict, ...] = ()
    added: int = 0
    removed: int = 0
    #: The diff of a smaller fix that is only offered, and the file of its patch.
    diff: str = ""
    patch: str | None = None


async def reduce_fix(run: Run, workshop: Workshop, state: RepairState) -> None:
    """Find out which places of a fix that passes are needed, and drop or offer to drop the rest."""
    history = state.history
    latest = history.latest
    parts = _parts(history, latest)
    fix = latest.fix
    if not (latest.passed and fix and parts) or not _may_be_several(fix):
        return
    # No test can judge what no test was needed for; and without a sandbox nothing can be tried.
    if not turned_green(history, latest) or not workshop.policy.keep_best:
        return
    found = await run.step("reduce", partial(_reduce, workshop), history)
    if not found.hunks:
        return
    fix = replace(fix, hunks=found.hunks, reduced=found.diff, reduced_patch=found.patch)
    attempt = replace(latest, fix=fix)
    if found.candidate is not None and not found.diff:
        fix = replace(fix, candidate=found.candidate, added=found.added, removed=found.removed)
        attempt = replace(latest, candidate=found.candidate, verdicts=found.verdicts, fix=fix)
        state.candidate = found.candidate
    state.history = replace(history, attempts=(*history.attempts[:-1], attempt))


def _may_be_several(fix: Fix) -> bool:
    """True unless a fix changes one line at most, and so one place."""
    return len(fix.files) > 1 or fix.added > 1 or fix.removed > 1


def _parts(history: History, attempt: Attempt) -> list[tuple[str, str]]:
    """Return who edited a candidate, first to last, with the candidate after each."""
    chain = [one.fix for one in lineage(history, attempt.candidate) if one.fix]
    parts = [part for fix in reversed(chain) for part in fix.parts if part.files]
    return [(part.fixer, part.candidate) for part in parts]


async def _reduce(workshop: Workshop, history: History) -> Reduction:
    return await _Reducing(workshop, history).run()


@dataclass(slots=True)
class _Reducing:
    workshop: Workshop
    history: History
    _needed_by: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _until: float = 0.0

    async def run(self) -> Reduction:
        """Try the fix without each place in turn, or without several where there are many."""
        latest, sandbox = self.history.latest, self.workshop.sandbox
        chain = list(lineage(self.history, latest.candidate))
        base = chain[-1].fix.base if chain[-1].fix else latest.candidate
        old, new = self._texts(base, latest.candidate)
        places = [place for file in new for place in replacements(file, old[file], new[file])]
        if len(places) < 2:
            return Reduction()
        left = min(Budget.left(self.workshop.policy, self.history).seconds, _MOST_SECONDS)
        # One more run, of all checks, proves what is left.
        left -= sum(verdict.seconds for verdict in latest.verdicts)
        runs = min(_MOST_RUNS, int(left / max(self._seconds_of_trial(), 0.01)))
        if runs < 2:
            return Reduction()
        self._until = time.monotonic() + left
        dropped = await self._droppable(places, old, latest.candidate, runs)
        hunks = tuple(self._hunks(places, old, dropped))
        if not dropped:
            sandbox.restore(latest.candidate)
            return Reduction(hunks=hunks)
        kept = [place for at, place in enumerate(places) if at not in dropped]
        candidate = self._candidate(latest.candidate, old, kept, places)
        verdicts = await self._proof(candidate)
        sandbox.restore(latest.candidate)
        if verdicts is None:
            return Reduction(hunks=tuple(replace(hunk, needed=True) for hunk in hunks))
        added, removed = sandbox.count_lines(base, candidate)
        is_replaced = {fixer for fixer, _ in _parts(self.history, latest)} <= _REPLACED
        diff, patch = ("", None) if is_replaced else self._offer(base, candidate)
        return Reduction(
            hunks=hunks,
            candidate=candidate,
            verdicts=verdicts,
            added=added,
            removed=removed,
            diff=diff,
            patch=patch,
        )

    def _texts(self, base: str, candidate: str) -> tuple[dict[str, str], dict[str, str]]:
        """Return the text files that are there before and after, as they were and as they are."""
        sandbox, old, new = self.workshop.sandbox, {}, {}
        for file in sandbox.changed(base, candidate)[:_MOST_FILES]:
            was, now = sandbox.read(file, base), sandbox.read(file, candidate)
            try:
                if was is not None and now is not None and b"\0" not in was + now:
                    old[file], new[file] = was.decode(), now.decode()
            except UnicodeDecodeError:
                continue
        return old, new

    async def _droppable(
        self, places: Sequence[Replacement], old: Mapping[str, str], candidate: str, runs: int
    ) -> set[int]:
        size = math.ceil(len(places) / runs)
        dropped: set[int] = set()
        for first in range(0, len(places), size):
            group = set(range(first, min(first + size, len(places))))
            kept = [p for at, p in enumerate(places) if at not in dropped | group]
            if not kept or time.monotonic() > self._until:
                break
            missed = await self._missed(self._candidate(candidate, old, kept, places))
            if missed:
                self._needed_by |= dict.fromkeys(group, missed)
            else:
                dropped |= group
        return dropped

    async def _missed(self, candidate: str) -> tuple[str, ...]:
        """Return what the fix turned green and fails without some places: tests, else checks."""
        self.workshop.sandbox.restore(candidate)
        missed: list[str] = []
        for check, tests in self._failing_checks():
            verdict = await check.run(self.workshop.sandbox.workplace())
            lost = [test for test in tests if verdict.cases.get(test) is not Outcome.PASSED]
            missed += lost or ([check.name] if verdict.blocks else [])
        return tuple(missed)

    def _failing_checks(self) -> Iterator[tuple[Check, list[str]]]:
        """Yield the checks that failed before, of the tests that the fix turned green if it can."""
        green = set(turned_green(self.history, self.history.latest))
        workplace = self.workshop.sandbox.workplace()
        for check in self.workshop.checks:
            before = next((v for v in self.history.baseline if v.check == check.name), None)
            if before is not None and before.blocks:
                tests = sorted(green & before.cases.keys())
                yield select_cases(check, tests, workplace) or check, tests

    def _seconds_of_trial(self) -> float:
        """Return how long the checks of one trial are likely to take."""
        whole = {check.name: check for check in self.workshop.checks}
        seconds = 0.0
        for check, _ in self._failing_checks():
            if last := self.history.latest.verdict(check.name):
                is_part = check is not whole[check.name]
                seconds += last.seconds - (last.seconds_passed if is_part else 0.0)
        return seconds

    async def _proof(self, candidate: str) -> tuple[Verdict, ...] | None:
        """Return what all checks say of a smaller fix; None if it is worse than the whole one."""
        latest = self.history.latest
        verdicts: list[Verdict] = []
        checks = {check.name: check for check in self.workshop.checks}
        for whole in latest.verdicts:
            if whole.check not in checks:
                # A gate has judged the whole fix, and nothing but a new attempt asks it again.
                return None
            self.workshop.sandbox.restore(candidate)
            verdict = await checks[whole.check].run(self.workshop.sandbox.workplace())
            passed = [case for case, outcome in whole.cases.items() if outcome is Outcome.PASSED]
            if verdict.blocks or any(verdict.cases.get(c) is not Outcome.PASSED for c in passed):
                return None
            verdicts.append(redacted_verdict(verdict, self.workshop.redact))
        return tuple(verdicts)

    def _candidate(
        self,
        candidate: str,
        old: Mapping[str, str],
        kept: Sequence[Replacement],
        places: Sequence[Replacement],
    ) -> str:
        """Return the candidate with only some places of the fix."""
        texts = {
            file: replaced(old[file], [place for place in kept if place.file == file])
            for file in {place.file for place in places}
        }
        sandbox = self.workshop.sandbox
        sandbox.restore(candidate)
        rules = EditRules(trusted=True)
        return guard_edit(sandbox, candidate, rules, texts={**texts}).candidate

    def _hunks(
        self, places: Sequence[Replacement], old: Mapping[str, str], dropped: set[int]
    ) -> Iterator[Hunk]:
        shift: dict[str, int] = {}
        for at, place in enumerate(places):
            lines = old[place.file].splitlines(keepends=True)[place.start : place.end]
            added = len(place.text.splitlines())
            yield Hunk(
                file=place.file,
                line=place.start + 1 + shift.get(place.file, 0),
                removed=len(lines),
                added=added,
                fixer=self._origin(place, "".join(lines)),
                tests=self._needed_by.get(at, ()),
                needed=at not in dropped,
            )
            shift[place.file] = shift.get(place.file, 0) + added - len(lines)

    def _origin(self, place: Replacement, old: str) -> str:
        """Return the first fixer after whose edit a place was as it is now."""
        parts = _parts(self.history, self.history.latest)
        for fixer, candidate in parts:
            content = self.workshop.sandbox.read(place.file, candidate) or b""
            text = content.decode(errors="replace")
            if place.text in text if place.text else old not in text:
                return fixer
        return parts[-1][0]

    def _offer(self, base: str, candidate: str) -> tuple[str, str | None]:
        sandbox, patch = self.workshop.sandbox, self.workshop.patch
        diff = self.workshop.redact(sandbox.difference(base, candidate))
        if patch is None:
            return diff, None
        smaller = patch.with_suffix(".reduced.patch")
        sandbox.settle(candidate, smaller)
        return diff, str(smaller)
