"""The repair cycle: check, decide, fix, check again. Written once, for every loop that repairs.

    check ──▶ decide ── fix ────▶ fix ── proposed ─▶ check
                ▲   │              └──── rejected ─▶ decide
                │   ├── recheck ▶ check
                │   ├── ask ────▶ hand_over ─▶ ask ─▶ take_back ─▶ check
                │   └── accept, stop ─▶ where the loop that configured the cycle goes on

All that happened is in `shared["history"]`, which `decide` turns into `shared["decision"]`. The
loop that uses the cycle puts the candidate to begin with into `shared["candidate"]`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from runtrue.flow import emit
from runtrue.loop.decide import Action, decide
from runtrue.loop.finding import Finding, Mode, Outcome, Verdict
from runtrue.loop.handover import AskNode, HandOverNode, TakeBackNode
from runtrue.loop.history import (
    Attempt,
    Fix,
    FixPart,
    History,
    Reason,
    Rejection,
    Skip,
    still_judged,
)
from runtrue.loop.seams import Check, Fixer, FixTask
from runtrue.loop.workshop import Shared, Workshop, WorkshopNode, readable


def repair_cycle(workshop: Workshop) -> tuple[CheckNode, DecideNode]:
    """The cycle's way in and its way out; `accept` and `stop` of the latter are left to wire."""
    check = CheckNode("check", workshop)
    decision = DecideNode("decide", workshop)
    fix = FixNode("fix", workshop)
    hand_over = HandOverNode("hand_over", workshop)
    ask = AskNode("ask")
    take_back = TakeBackNode("take_back", workshop)
    check >> decision
    decision - Action.FIX >> fix
    decision - Action.RECHECK >> check
    decision - Action.ASK >> hand_over >> ask >> take_back >> check
    fix - "proposed" >> check
    fix - "rejected" >> decision
    return check, decision


# -- check --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CheckInputs:
    """Which candidate is checked, as which attempt, and which checks come first."""

    number: int
    candidate: str
    first: tuple[str, ...]
    baseline: tuple[Verdict, ...]


class CheckNode(WorkshopNode):
    """Runs the checks: first what failed before, then, if that passes, every other one."""

    def prep(self, shared: Shared) -> CheckInputs:
        """Find out what failed on the candidate that this one was made from."""
        history: History = shared.get("history", History())
        if not history.attempts:
            return CheckInputs(1, shared["candidate"], (), ())
        repeated = shared["decision"].action is Action.RECHECK
        number = history.latest.number + (0 if repeated else 1)
        return CheckInputs(
            number=number,
            candidate=shared["candidate"],
            first=tuple(v.check for v in history.best.verdicts if v.blocks),
            # The first attempt, run again, is the baseline itself.
            baseline=history.baseline if number > 1 else (),
        )

    async def exec(self, inputs: CheckInputs) -> tuple[Verdict, ...]:
        """Run the checks on exactly this candidate, whatever was left in the sandbox."""
        self.workshop.sandbox.restore(inputs.candidate)
        limit = self.workshop.policy.max_attempts
        emit("attempt_started", number=inputs.number, limit=limit)
        baseline = {verdict.check: verdict for verdict in inputs.baseline}
        verdicts: list[Verdict] = []
        for group in self._groups(inputs.first):
            for check in group:
                verdict = await self._run(check)
                if check.name in baseline:
                    verdict = still_judged(baseline[check.name], verdict)
                emit("check_finished", number=inputs.number, **_summary(verdict))
                verdicts.append(verdict)
            if inputs.baseline and any(verdict.blocks for verdict in verdicts):
                break
        return tuple(verdicts)

    def _groups(self, first: tuple[str, ...]) -> list[list[Check]]:
        checks = self.workshop.checks
        required = [c for c in checks if c.mode is Mode.REQUIRED]
        return [
            [c for c in required if c.name in first],
            [c for c in required if c.name not in first],
            [c for c in checks if c.mode is Mode.INFORMATIONAL],
        ]

    async def _run(self, check: Check) -> Verdict:
        emit("check_started", check=check.name)
        return await check.run(self.workshop.sandbox.workplace())

    def post(self, shared: Shared, inputs: CheckInputs, result: tuple[Verdict, ...]) -> None:
        """Add the attempt to the history."""
        history: History = shared.get("history", History())
        again = bool(history.attempts) and history.latest.number == inputs.number
        attempt = Attempt(
            number=inputs.number,
            candidate=inputs.candidate,
            verdicts=result,
            fix=shared.pop("fix", None),
            recheck=again,
        )
        shared["history"] = replace(history, attempts=(*history.attempts, attempt))


#: How many findings of a verdict an event shows; all of them are in the attempt.
_SHOWN = 5


def _summary(verdict: Verdict) -> dict[str, Any]:
    bad = (Outcome.FAILED, Outcome.ERROR)
    return {
        "check": verdict.check,
        "mode": verdict.mode,
        "passed": verdict.passed,
        "findings": len(verdict.findings),
        "shown": verdict.findings[:_SHOWN],
        "cases": len(verdict.cases),
        "failed_cases": sum(outcome in bad for outcome in verdict.cases.values()),
        "seconds": verdict.seconds,
    }


# -- decide -------------------------------------------------------------------------------------


class DecideNode(WorkshopNode):
    """Asks `decide` what comes next. Nothing is executed, so nothing can differ on replay."""

    def post(self, shared: Shared, inputs: None, result: None) -> str:
        """Go where the decision says, on the candidate it is about."""
        history: History = shared["history"]
        decision = shared["decision"] = decide(self.workshop.policy, history)
        about_latest = decision.action in (Action.ACCEPT, Action.RECHECK)
        shared["candidate"] = (history.latest if about_latest else history.best).candidate
        return decision.action


# -- fix ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FixInputs:
    """The candidate to mend, and what is wrong with it."""

    base: str
    findings: tuple[Finding, ...]
    history: History


class FixNode(WorkshopNode):
    """Climbs the ladder: each fixer, cheapest first, takes on the findings that are left."""

    def __init__(self, name: str, workshop: Workshop) -> None:
        super().__init__(name, workshop)
        self.side_effect = any(fixer.side_effect for fixer in workshop.fixers)

    def prep(self, shared: Shared) -> FixInputs:
        """The findings that the decision is about, on the best candidate so far."""
        return FixInputs(shared["candidate"], shared["decision"].findings, shared["history"])

    async def exec(self, inputs: FixInputs) -> Fix:
        """Let the fixers edit the candidate, and see from the files what they did."""
        sandbox = self.workshop.sandbox
        sandbox.restore(inputs.base)
        candidate, left = inputs.base, inputs.findings
        parts: list[FixPart] = []
        skipped: list[Skip] = []
        for rung in self.workshop.ladder:
            taken = _take_on(rung, left)
            if isinstance(taken, Skip):
                skipped.append(taken)
                continue
            fixer, mine = taken
            part, candidate = await self._climb(fixer, mine, candidate, inputs.history)
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
            added=added,
            removed=removed,
        )

    async def _climb(
        self, fixer: Fixer, findings: tuple[Finding, ...], before: str, history: History
    ) -> tuple[FixPart, str]:
        sandbox = self.workshop.sandbox
        emit("fixer_started", fixer=fixer.name, findings=len(findings))
        started = time.monotonic()
        sources = {finding.source for finding in findings}
        task = FixTask(
            findings=findings,
            history=history,
            commands=tuple(c.command for c in self.workshop.checks if c.name in sources),
        )
        proposal = await fixer.propose(task, sandbox.workplace())
        if proposal.failure is not None:
            # Half-done edits of a fixer that broke prove nothing and would only mislead the next.
            sandbox.restore(before)
        after = sandbox.snapshot()
        restored = () if fixer.trusted else self._judges(sandbox.changed(before, after), history)
        if restored:
            sandbox.put_back(restored, before)
            after = sandbox.snapshot()
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
            seconds=time.monotonic() - started,
            failure=proposal.failure,
        )
        emit(
            "fixer_finished",
            fixer=part.fixer,
            files=part.files,
            restored=part.restored,
            failure=part.failure,
        )
        return part, after

    def _judges(self, files: tuple[str, ...], history: History) -> tuple[str, ...]:
        """Those of `files` that judge: by their names, or because tests ran from them."""
        by_name = self.workshop.sandbox.protected(files)
        ran = history.test_files()
        return tuple(file for file in files if file in by_name or _is_one_of(file, ran))

    def post(self, shared: Shared, inputs: FixInputs, result: Fix) -> str:
        """Hand a new candidate to the checks, or note why there is none worth running."""
        history: History = shared["history"]
        reason = self._rejected(result, history)
        if reason is None:
            shared["fix"], shared["candidate"] = result, result.candidate
            return "proposed"
        rejection = Rejection(after=history.latest.number, fix=result, reason=reason)
        shared["history"] = replace(history, rejections=(*history.rejections, rejection))
        return "rejected"

    def _rejected(self, fix: Fix, history: History) -> Reason | None:
        if fix.candidate != fix.base:
            seen = any(attempt.candidate == fix.candidate for attempt in history.attempts)
            return Reason.REPEATED if seen else None
        if any(part.failure is not None for part in fix.parts):
            return Reason.FIXER_FAILED
        repeatable = {fixer.name for fixer in self.workshop.fixers if fixer.repeatable}
        if any(part.fixer in repeatable for part in fix.parts):
            return Reason.UNCHANGED
        return Reason.NO_FIXER


def _is_one_of(file: str, names: tuple[str, ...]) -> bool:
    """Whether a file, named from the sandbox's root, is one that is named from somewhere in it."""
    return any(file == name or file.endswith(f"/{name}") for name in names)


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
