"""Fix a candidate: one climb up the ladder of fixers."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from functools import partial

from runtrue.flow import Run, emit
from runtrue.loop.attempt import Fix, FixPart, Reason, Rejection, Skip
from runtrue.loop.bounds import Bounds
from runtrue.loop.cause import COVERAGE_UNMET, TESTS_MISSING
from runtrue.loop.deadline import TIME_IS_UP, in_time
from runtrue.loop.edit import EditResult, EditRules, Refused, guard_edit
from runtrue.loop.events import BackingOff, FixAttempted, FixerFinished, FixerStarted
from runtrue.loop.finding import Finding
from runtrue.loop.history import History
from runtrue.loop.known import Known
from runtrue.loop.policy import Budget
from runtrue.loop.redact import redacted_proposal
from runtrue.loop.seams import Fixer, FixTask, Proposal
from runtrue.loop.suspicious import suspicious_signs
from runtrue.loop.workshop import RepairState, Workshop, readable

#: How many files the reason of a refusal names.
_NAMED = 5
#: How many files of an edit, and of tests, are looked at for what is suspicious.
_MOST_READ = 20


@dataclass(frozen=True, slots=True)
class FixInputs:
    """The candidate to fix, and what is wrong with it."""

    base: str
    findings: tuple[Finding, ...]
    history: History
    #: Only fixers stronger than this one are asked.
    above: str | None
    bounds: Bounds | None = None
    redo: str | None = None
    #: The candidate that the whole plan began with.
    origin: str | None = None


async def fix_candidate(run: Run, workshop: Workshop, state: RepairState) -> bool:
    """Climb the ladder once: each fixer, cheapest first, works on the findings that are left.

    True if there is a new candidate to check; why there is none is in the history.
    """
    history = state.history
    inputs = FixInputs(
        base=state.candidate,
        findings=state.last_decision.findings,
        history=history,
        above=history.senior.above if history.senior else None,
        bounds=state.bounds,
        redo=state.redo,
        origin=state.origin,
    )
    fix = await run.step(
        "fix",
        partial(climb_ladder, workshop),
        inputs,
        side_effect=any(fixer.side_effect for fixer in workshop.fixers),
    )
    reason = _rejected(fix, inputs, workshop)
    if reason is not None:
        rejection = Rejection(after=history.latest.number, fix=fix, reason=reason)
        state.history = history.with_rejection(rejection)
        return False
    state.fix, state.candidate = fix, fix.candidate
    return True


#: The fixer that is the command of the step itself.
_DOER = "command"


async def climb_ladder(workshop: Workshop, inputs: FixInputs) -> Fix:
    """Let each fixer in turn edit the candidate, and return what they made of it."""
    return await _Climb(workshop, inputs).run()


@dataclass(frozen=True, slots=True)
class _Climb:
    """One climb up the ladder."""

    workshop: Workshop
    inputs: FixInputs

    async def run(self) -> Fix:
        """Let the fixers edit the candidate, and see from the files what they did."""
        inputs = self.inputs
        waited = await self._wait()
        checks = tuple(dict.fromkeys(finding.source for finding in inputs.findings))
        emit(FixAttempted(checks=checks, findings=len(inputs.findings)))
        sandbox = self.workshop.sandbox
        sandbox.restore(inputs.base)
        candidate, left = inputs.base, inputs.findings
        parts: list[FixPart] = []
        skipped: list[Skip] = []
        for rung in _above(inputs.above, self.workshop.ladder):
            left_time = self._left(parts)
            if left_time is not None and left_time <= 0:
                break
            taken = _take_on(rung, left)
            if isinstance(taken, Skip):
                skipped.append(taken)
                continue
            fixer, mine = taken
            part, candidate = await self._climb(fixer, mine, candidate, left_time)
            parts.append(part)
            if part.outside and fixer.name == _DOER:
                # Who did the step says what it needs: others would get around that.
                break
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
            waited=waited,
        )

    def _left(self, parts: list[FixPart]) -> float | None:
        """The seconds that are left for the next fixer, where anything bounds them."""
        used = sum(part.seconds for part in parts)
        return Budget.deadline(self.workshop.policy, self.inputs.history, used)

    async def _wait(self) -> float:
        """Wait as the policy says, or as long as a fixer that failed asks; return the seconds."""
        since = self.inputs.history.since_last_answer()
        # What a person edited was no round of fixing.
        fixes = [attempt.fix for attempt in since.attempts if attempt.fix]
        rounds = sum(any(part.fixer != "human" for part in fix.parts) for fix in fixes)
        policy = self.workshop.policy
        seconds, why = policy.wait(rounds + len(since.rejections)), None
        last = since.rejections[-1] if since.rejections else None
        if last is not None and last.reason is Reason.FIXER_FAILED:
            asked = {part.retry_after or 0.0: part.failure for part in last.fix.parts}
            if max(asked) > seconds:
                seconds, why = max(asked), asked[max(asked)]
        seconds = min(seconds, Budget.left(policy, self.inputs.history).seconds)
        if seconds > 0:
            emit(BackingOff(seconds=seconds, why=why))
            await asyncio.sleep(seconds)
        return max(seconds, 0.0)

    async def _climb(
        self,
        fixer: Fixer,
        findings: tuple[Finding, ...],
        before: str,
        left: float | None,
    ) -> tuple[FixPart, str]:
        inputs, sandbox, history = self.inputs, self.workshop.sandbox, self.inputs.history
        emit(FixerStarted(fixer=fixer.name, findings=len(findings)))
        started = time.monotonic()
        sources = {finding.source for finding in findings}
        task = FixTask(
            findings=findings,
            history=history,
            candidate=before,
            commands=tuple(c.command for c in self.workshop.checks if c.name in sources),
            bounds=inputs.bounds,
            redo=inputs.redo,
            requirement=self.workshop.requirement,
            documents=self.workshop.documents,
            difference=sandbox.difference,
        )
        proposed = await in_time(lambda: fixer.propose(task, sandbox.workplace()), left)
        proposed = proposed or Proposal(description="", failure=TIME_IS_UP)
        proposal = redacted_proposal(proposed, self.workshop.redact)
        rules = self._rules(fixer, findings, before)
        edit = guard_edit(sandbox, before, rules, texts=proposal.texts, failure=proposal.failure)
        is_failure = edit.refused in (Refused.FAILED, Refused.SECRET)
        outside = edit.edited if edit.refused is Refused.TOO_MUCH else edit.outside
        part = FixPart(
            fixer=fixer.name,
            findings=tuple(finding.fingerprint for finding in findings),
            description=proposal.description,
            files=readable(edit.files),
            restored=readable(edit.restored),
            outside=readable(outside),
            deleted=readable(edit.deleted),
            seconds=time.monotonic() - started,
            failure=edit.reason if is_failure else None,
            transient=proposal.transient,
            retry_after=proposal.retry_after,
            refused=None if is_failure else proposal.refused or self._refusal(edit),
            said=proposal.said,
            analysis=proposal.analysis,
            usage=proposal.usage,
            trace=proposal.trace,
            confidence=proposal.confidence,
            candidate=edit.candidate,
            alternatives=proposal.alternatives,
            signs=() if fixer.trusted else self._signs(edit, before, findings),
        )
        emit(
            FixerFinished(
                fixer=part.fixer,
                files=part.files,
                restored=part.restored,
                outside=part.outside,
                failure=part.failure,
                tried=part.description if part.trace else None,
                refused=part.refused,
                said=part.said,
            )
        )
        return part, edit.candidate

    def _signs(
        self, edit: EditResult, before: str, findings: tuple[Finding, ...]
    ) -> tuple[str, ...]:
        """Return what is suspicious about an edit, in the light of the tests that failed."""
        cases = [f for f in findings if "::" in (f.location.symbol or "")]
        named = {finding.location.file for finding in cases}
        named |= {(finding.location.symbol or "").partition("::")[0] for finding in cases}
        tests = sorted(filter(None, named))[:_MOST_READ]
        # A test may well hold what a program must not.
        judges = self.workshop.sandbox.protected(edit.files)
        edited = [file for file in edit.files if file not in judges][:_MOST_READ]
        signs = suspicious_signs(
            {file: self._text(file, before) for file in edited},
            {file: self._text(file, edit.candidate) for file in edited},
            [self._text(file, before) for file in tests],
        )
        return tuple(map(self.workshop.redact, readable(signs)))

    def _text(self, file: str, candidate: str) -> str:
        content = self.workshop.sandbox.read(file, candidate) or b""
        return "" if b"\0" in content else content.decode(errors="replace")

    def _ignores_old(self, check: str) -> bool:
        return self.workshop.known.get(check) is Known.IGNORE

    def _refusal(self, edit: EditResult) -> str | None:
        """Return why an edit was not kept, or will not be run."""
        if edit.refused:
            return edit.reason
        if edit.files:
            attempts = self.inputs.history.attempts
            is_known = any(attempt.candidate == edit.candidate for attempt in attempts)
            return "it was tried before, and failed" if is_known else None
        if not edit.restored:
            return None
        verb = "judges" if len(edit.restored) == 1 else "judge"
        return f"edits {', '.join(readable(edit.restored[:_NAMED]))}, which {verb} the result"

    def _rules(self, fixer: Fixer, findings: tuple[Finding, ...], before: str) -> EditRules:
        inputs = self.inputs
        wants_tests = any(f.category in (COVERAGE_UNMET, TESTS_MISSING) for f in findings)
        # It would give the same forever, and keep the findings from the rungs above.
        tried = () if fixer.repeatable else (a.candidate for a in inputs.history.attempts)
        return EditRules(
            bounds=inputs.bounds,
            origin=inputs.origin,
            redactor=self.workshop.redact,
            # A tool may format tests, where somebody asked for its check.
            trusted=fixer.trusted and not any(self._ignores_old(f.source) for f in findings),
            judges=inputs.history.test_files(),
            new_tests_since=before if wants_tests else None,
            tried=frozenset(tried),
        )


def _rejected(fix: Fix, inputs: FixInputs, workshop: Workshop) -> Reason | None:
    if fix.candidate != fix.base:
        seen = any(a.candidate == fix.candidate for a in inputs.history.attempts)
        return Reason.REPEATED if seen else None
    outside = {file for part in fix.parts for file in part.outside}
    if outside:
        deleted = {file for part in fix.parts for file in part.deleted}
        return Reason.NEEDS_APPROVAL if outside <= deleted else Reason.OUT_OF_BOUNDS
    failed = [part for part in fix.parts if part.failure is not None]
    if any(part.transient for part in failed):
        return Reason.FIXER_FAILED
    repeatable = {fixer.name for fixer in workshop.fixers if fixer.repeatable}
    if any(part.fixer in repeatable for part in fix.parts if part not in failed):
        return Reason.UNCHANGED
    if failed:
        return Reason.FIXER_FAILED
    return Reason.NO_FIXER if inputs.above is None else Reason.NOBODY_STRONGER


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
        return Skip(fixer=rung.name, reason="has nothing for these findings")
    return rung, mine
