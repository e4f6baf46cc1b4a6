"""Fixing: one climb up the ladder, and what it made of the candidate, seen from the files."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from runtrue.encoding import encoded
from runtrue.flow import emit
from runtrue.loop.bounds import Bounds
from runtrue.loop.cause import COVERAGE_UNMET, TESTS_MISSING
from runtrue.loop.comparison import is_one_of
from runtrue.loop.deadline import TIME_IS_UP, in_time
from runtrue.loop.decide import Decision
from runtrue.loop.finding import Finding
from runtrue.loop.hiding import hidden_proposal, secret_written
from runtrue.loop.history import Fix, FixPart, History, Reason, Rejection, Skip
from runtrue.loop.policy import Budget
from runtrue.loop.seams import Fixer, FixTask, Proposal, Sandbox
from runtrue.loop.workshop import Shared, Workshop, WorkshopNode, readable


@dataclass(frozen=True, slots=True)
class FixInputs:
    """The candidate to mend, and what is wrong with it."""

    base: str
    findings: tuple[Finding, ...]
    history: History
    #: Only fixers stronger than this one are asked.
    above: str | None
    bounds: Bounds | None = None
    redo: str | None = None
    #: The candidate that the whole plan began with.
    origin: str | None = None


class FixNode(WorkshopNode):
    """Climbs the ladder: each fixer, cheapest first, takes on the findings that are left."""

    def __init__(self, name: str, workshop: Workshop) -> None:
        super().__init__(name, workshop)
        self.side_effect = any(fixer.side_effect for fixer in workshop.fixers)

    def prep(self, shared: Shared) -> FixInputs:
        """The findings that the decision is about, on the best candidate so far."""
        decision: Decision = shared["decision"]
        history: History = shared["history"]
        above = history.senior.above if history.senior else None
        return FixInputs(
            base=shared["candidate"],
            findings=decision.findings,
            history=history,
            above=above,
            bounds=shared.get("bounds"),
            redo=shared.get("redo"),
            origin=shared.get("base"),
        )

    async def exec(self, inputs: FixInputs) -> Fix:
        """Let the fixers edit the candidate, and see from the files what they did."""
        await self._wait(inputs.history)
        checks = tuple(dict.fromkeys(finding.source for finding in inputs.findings))
        emit("fix_attempted", checks=checks, findings=len(inputs.findings))
        sandbox = self.workshop.sandbox
        sandbox.restore(inputs.base)
        candidate, left = inputs.base, inputs.findings
        parts: list[FixPart] = []
        skipped: list[Skip] = []
        for rung in _above(inputs.above, self.workshop.ladder):
            left_time = self._left(inputs.history, parts)
            if left_time is not None and left_time <= 0:
                break
            taken = _take_on(rung, left)
            if isinstance(taken, Skip):
                skipped.append(taken)
                continue
            fixer, mine = taken
            part, candidate = await self._climb(fixer, mine, candidate, inputs, left_time)
            parts.append(part)
            if part.files:
                left = tuple(finding for finding in left if finding not in mine)
            if not left:
                break
        added, removed = sandbox.count_lines(inputs.base, candidate)
        return Fix(
            base=inputs.base,
            candidate=candidate,
            parts=tuple(parts),
            skipped=tuple(skipped),
            checks=checks,
            added=added,
            removed=removed,
        )

    def _left(self, history: History, parts: list[FixPart]) -> float | None:
        """The seconds that are left for the next fixer, where anything bounds them."""
        used = sum(part.seconds for part in parts)
        return Budget.deadline(self.workshop.policy, history, used)

    async def _wait(self, history: History) -> None:
        since = history.since_last_answer()
        # What a person edited was no round of fixing.
        fixes = [attempt.fix for attempt in since.attempts if attempt.fix]
        rounds = sum(any(part.fixer != "human" for part in fix.parts) for fix in fixes)
        seconds = self.workshop.policy.wait(rounds + len(since.rejections))
        if seconds:
            emit("backing_off", seconds=seconds)
            await asyncio.sleep(seconds)

    async def _climb(
        self,
        fixer: Fixer,
        findings: tuple[Finding, ...],
        before: str,
        inputs: FixInputs,
        left: float | None,
    ) -> tuple[FixPart, str]:
        sandbox, history = self.workshop.sandbox, inputs.history
        emit("fixer_started", fixer=fixer.name, findings=len(findings))
        started = time.monotonic()
        sources = {finding.source for finding in findings}
        task = FixTask(
            findings=findings,
            history=history,
            commands=tuple(c.command for c in self.workshop.checks if c.name in sources),
            bounds=inputs.bounds,
            redo=inputs.redo,
        )
        proposed = await in_time(lambda: fixer.propose(task, sandbox.workplace()), left)
        proposed = proposed or Proposal(description="", failure=TIME_IS_UP)
        proposal = hidden_proposal(proposed, self.workshop.hide)
        if proposal.failure is not None or proposal.texts is not None:
            # Half-done edits of a fixer that broke prove nothing and would only mislead the next.
            sandbox.restore(before)
        if proposal.failure is None and proposal.texts:
            write_texts(proposal.texts, sandbox.workplace().root)
        after = sandbox.snapshot()
        changed = sandbox.changed(before, after)
        restored = () if fixer.trusted else self._judges(changed, history)
        if any(finding.category in (COVERAGE_UNMET, TESTS_MISSING) for finding in findings):
            # What is wanted are tests: they may be added, and none that is there may be changed.
            restored = tuple(file for file in restored if not sandbox.may_add(file, before))
        if restored:
            sandbox.put_back(restored, before)
            after = sandbox.snapshot()
        patch = sandbox.difference(before, after) if after != before else ""
        if secret := secret_written(patch, self.workshop.hide):
            proposal = replace(proposal, failure=secret)
            sandbox.restore(before)
            after = before
        outside = beyond(inputs.bounds, sandbox, before, after)
        deleted = only_deleted(inputs.bounds, outside, sandbox, after)
        if not outside and too_much(inputs.bounds, sandbox, inputs.origin, after):
            outside = sandbox.changed(before, after)
        if outside:
            # The rest of a change of which a part is missing would prove nothing.
            sandbox.restore(before)
            after = before
        if not fixer.repeatable and any(a.candidate == after for a in history.attempts):
            # It would give the same for ever, and keep the findings from the rungs above.
            sandbox.restore(before)
            after = before
        part = FixPart(
            fixer=fixer.name,
            findings=tuple(finding.fingerprint for finding in findings),
            description=proposal.description,
            files=readable(sandbox.changed(before, after)),
            restored=readable(restored),
            outside=readable(outside),
            deleted=readable(deleted),
            seconds=time.monotonic() - started,
            failure=proposal.failure,
            analysis=proposal.analysis,
            usage=proposal.usage,
            trace=proposal.trace,
        )
        emit(
            "fixer_finished",
            fixer=part.fixer,
            files=part.files,
            restored=part.restored,
            outside=part.outside,
            failure=part.failure,
            tried=part.description if part.trace else None,
        )
        return part, after

    def _judges(self, files: tuple[str, ...], history: History) -> tuple[str, ...]:
        """Those of `files` that judge: by their names, or because tests ran from them."""
        by_name = self.workshop.sandbox.protected(files)
        ran = history.test_files()
        return tuple(file for file in files if file in by_name or is_one_of(file, ran))

    def post(self, shared: Shared, inputs: FixInputs, result: Fix) -> str:
        """Hand a new candidate to the checks, or note why there is none worth running."""
        history: History = shared["history"]
        reason = self._rejected(result, inputs)
        if reason is None:
            shared["fix"], shared["candidate"] = result, result.candidate
            return "proposed"
        rejection = Rejection(after=history.latest.number, fix=result, reason=reason)
        shared["history"] = replace(history, rejections=(*history.rejections, rejection))
        return "rejected"

    def _rejected(self, fix: Fix, inputs: FixInputs) -> Reason | None:
        if fix.candidate != fix.base:
            seen = any(a.candidate == fix.candidate for a in inputs.history.attempts)
            return Reason.REPEATED if seen else None
        outside = {file for part in fix.parts for file in part.outside}
        if outside:
            deleted = {file for part in fix.parts for file in part.deleted}
            return Reason.NEEDS_APPROVAL if outside <= deleted else Reason.OUT_OF_BOUNDS
        if any(part.failure is not None for part in fix.parts):
            return Reason.FIXER_FAILED
        repeatable = {fixer.name for fixer in self.workshop.fixers if fixer.repeatable}
        if any(part.fixer in repeatable for part in fix.parts):
            return Reason.UNCHANGED
        return Reason.NO_FIXER if inputs.above is None else Reason.NOBODY_STRONGER


def write_texts(texts: Mapping[str, str], root: Path) -> None:
    """Write the texts of files, which keep their permissions."""
    for file, text in texts.items():
        (root / file).write_bytes(encoded(text))


def beyond(bounds: Bounds | None, sandbox: Sandbox, before: str, after: str) -> tuple[str, ...]:
    """The files that differ between two candidates although the bounds do not allow it."""
    if bounds is None or before == after:
        return ()
    files = sandbox.changed(before, after)
    outside = set(bounds.outside(files))
    if not bounds.deletes:
        outside |= set(sandbox.missing(files, after)) - set(bounds.deletable)
    return tuple(sorted(outside))


def only_deleted(
    bounds: Bounds | None, outside: tuple[str, ...], sandbox: Sandbox, after: str
) -> tuple[str, ...]:
    """Those of some files beyond the bounds that may be changed, and were deleted."""
    if bounds is None:
        return ()
    elsewhere = bounds.outside(outside)
    inside = tuple(file for file in outside if file not in elsewhere)
    return sandbox.missing(inside, after)


def too_much(bounds: Bounds | None, sandbox: Sandbox, origin: str | None, after: str) -> str | None:
    """How much more differs from the candidate at the beginning than the bounds allow, if so."""
    if bounds is None or origin is None:
        return None
    if bounds.max_files is not None:
        count = len(sandbox.changed(origin, after))
        if count > bounds.max_files:
            return f"{count} files would be changed, and the strategy allows {bounds.max_files}"
    if bounds.max_lines is not None:
        lines = sum(sandbox.count_lines(origin, after))
        if lines > bounds.max_lines:
            return f"{lines} lines would be changed, and the strategy allows {bounds.max_lines}"
    return None


def _above(name: str | None, ladder: tuple[Fixer | Skip, ...]) -> tuple[Fixer | Skip, ...]:
    """The rungs of the ladder, those up to a weaker fixer passed over."""
    names = [rung.fixer if isinstance(rung, Skip) else rung.name for rung in ladder]
    if name not in names:
        return ladder
    passed = names.index(name) + 1
    reason = "it has tried, and this was escalated to a stronger one"
    return (*(Skip(fixer=rung, reason=reason) for rung in names[:passed]), *ladder[passed:])


def _take_on(
    rung: Fixer | Skip, findings: tuple[Finding, ...]
) -> tuple[Fixer, tuple[Finding, ...]] | Skip:
    """The findings that a rung takes on, or why it takes none."""
    if isinstance(rung, Skip):
        return rung
    if reason := rung.unavailable():
        return Skip(fixer=rung.name, reason=reason)
    mine = tuple(finding for finding in findings if rung.accepts(finding))
    if not mine:
        return Skip(fixer=rung.name, reason="it takes none of these findings on")
    return rung, mine
