"""Check a candidate: every check, in the light of the baseline, then the gates."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial

from runtrue.flow import Run, emit
from runtrue.loop.attempt import Attempt
from runtrue.loop.case_names import name_as_before
from runtrue.loop.cause import RESOURCE_LIMIT, TAMPERED, TIMEOUT, Cause, cause_of
from runtrue.loop.comparison import drop_known_failures, fail_if_tests_vanished, merge_reruns
from runtrue.loop.deadline import TIME_IS_UP, in_time
from runtrue.loop.decide import Action
from runtrue.loop.events import AttemptStarted, CheckFinished, CheckRepeated, CheckStarted
from runtrue.loop.fault import Fault
from runtrue.loop.finding import Finding, Mode, Outcome, Verdict
from runtrue.loop.history import History
from runtrue.loop.known import drop_known_findings
from runtrue.loop.policy import Budget
from runtrue.loop.redact import redacted_verdict
from runtrue.loop.seams import Adjustable, Anticipating, Check, Trial, Workplace
from runtrue.loop.workshop import RepairState, Workshop


@dataclass(frozen=True, slots=True)
class CheckInputs:
    """Which candidate is checked, as which attempt, and which checks come first."""

    number: int
    candidate: str
    first: tuple[str, ...]
    baseline: tuple[Verdict, ...]
    history: History
    #: The candidate before the change that is judged: only checks that this change concerns are
    #: run. None: all of them are.
    since: str | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """What the checks said, and when they began."""

    at: float
    verdicts: tuple[Verdict, ...]
    code_hash: str | None = None


async def check_candidate(run: Run, workshop: Workshop, state: RepairState) -> None:
    """Run the checks: first what failed before, then, if that passes, every other one."""
    history = state.history
    is_first = not history.attempts
    again = not is_first and state.last_decision.action is Action.RECHECK
    number = 1 if is_first else history.latest.number + (0 if again else 1)
    inputs = CheckInputs(
        number=number,
        candidate=state.candidate,
        first=() if is_first else tuple(v.check for v in history.best.verdicts if v.blocks),
        # The first attempt, run again, is the baseline itself.
        baseline=history.baseline if is_first or number > 1 else history.before,
        history=history,
        since=state.since,
    )
    checked = await run.step("check", partial(_run_checks, workshop), inputs)
    attempt = Attempt(
        number=number,
        candidate=inputs.candidate,
        verdicts=checked.verdicts,
        fix=state.fix,
        recheck=not is_first and history.latest.number == number,
        at=checked.at,
        code_hash=checked.code_hash,
    )
    state.fix, state.history = None, history.with_attempt(attempt)


async def _run_checks(workshop: Workshop, inputs: CheckInputs) -> Checked:
    return await _Round(workshop, inputs).run()


@dataclass(frozen=True, slots=True)
class _Round:
    """One round of checks on one candidate."""

    workshop: Workshop
    inputs: CheckInputs

    async def run(self) -> Checked:
        """Run the checks on exactly this candidate, whatever was left in the sandbox."""
        inputs = self.inputs
        at = time.time()
        self.workshop.sandbox.restore(inputs.candidate)
        last = Budget.last_attempt(self.workshop.policy, inputs.history)
        limit = max(inputs.number, last)
        emit(AttemptStarted(number=inputs.number, limit=limit))
        verdicts: list[Verdict] = []
        started = time.monotonic()
        for group in self._groups():
            for check in group:
                if verdicts:
                    self._put_back_judges()
                used = time.monotonic() - started
                left = Budget.deadline(self.workshop.policy, inputs.history, used)
                found = await in_time(partial(self._verdict, check), left)
                verdict = found or self._cut_off(check, verdicts)
                emit(_check_finished(inputs.number, verdict))
                verdicts.append(verdict)
            if inputs.number > 1 and any(verdict.blocks for verdict in verdicts):
                break
        if not any(verdict.blocks for verdict in verdicts):
            for gate in self.workshop.gates:
                emit(CheckStarted(check=gate.name))
                self._put_back_judges()
                workplace = self.workshop.sandbox.workplace()
                trial = Trial(
                    candidate=inputs.candidate, verdicts=tuple(verdicts), history=inputs.history
                )
                verdict = redacted_verdict(await gate.judge(workplace, trial), self.workshop.redact)
                emit(_check_finished(inputs.number, verdict))
                verdicts.append(verdict)
        artifact, sandbox = self.workshop.artifact, self.workshop.sandbox
        code_hash = sandbox.content_hash(artifact, inputs.candidate) if artifact else None
        return Checked(at, tuple(verdicts), code_hash)

    def _cut_off(self, check: Check, before: list[Verdict]) -> Verdict:
        finding = Finding(
            source=check.name,
            category="time_spent",
            message=f"{check.command}: {TIME_IS_UP}",
            fault=Fault.ENVIRONMENT,
        )
        # All that was left: what checks do not count themselves went by as well.
        counted = sum(verdict.seconds for verdict in before)
        left = Budget.left(self.workshop.policy, self.inputs.history).seconds - counted
        return Verdict(
            check=check.name,
            mode=check.mode,
            passed=False,
            findings=(finding,),
            seconds=max(left, 0.0),
        )

    def _put_back_judges(self) -> None:
        """Undo what an earlier check did to the files that judge; what it built stays."""
        sandbox, candidate = self.workshop.sandbox, self.inputs.candidate
        judges = sandbox.protected(sandbox.changed(candidate, sandbox.snapshot()))
        if judges:
            sandbox.put_back(judges, candidate)

    async def _verdict(self, check: Check) -> Verdict:
        """Return what a check says, in the light of the baseline."""
        baseline = next((v for v in self.inputs.baseline if v.check == check.name), None)
        if baseline is not None and isinstance(check, Adjustable):
            check = check.limited_by(baseline)
        part = await self._run_part(check, baseline)
        if part is not None and part.partial:
            return part
        verdict = await self._run(check)
        if part is not None:
            verdict = replace(verdict, seconds=verdict.seconds + part.seconds)
        verdict = drop_known_failures(verdict, self.workshop.tests, baseline)
        known = self.workshop.known.get(check.name)
        if known is not None:
            verdict = drop_known_findings(verdict, baseline, known)
        if baseline is not None:
            verdict = fail_if_tests_vanished(baseline, verdict)
        return verdict

    async def _run_part(self, check: Check, baseline: Verdict | None) -> Verdict | None:
        """Run the tests that are to be fixed alone, where the others take long.

        A verdict that is `partial` refuses the candidate: all of them fail as before. Any other
        says nothing, and no part was run if there is none.
        """
        last = self.inputs.history.best.verdict(check.name) if self.inputs.number > 1 else None
        if last is None or baseline is None or baseline.seconds_passed < _WORTHWHILE:
            return None
        failing = _blamed(last)
        selected = select_cases(check, failing, self.workshop.sandbox.workplace())
        blocking = [f for f in last.findings if f.fault is Fault.CANDIDATE]
        if selected is None or len(failing) < len(blocking):
            return None
        emit(CheckStarted(check=check.name))
        sandbox = self.workshop.sandbox
        found = await selected.run(sandbox.workplace())
        sandbox.restore(self.inputs.candidate)
        verdict = redacted_verdict(found, self.workshop.redact)
        return replace(verdict, partial=not verdict.passed and failing <= _blamed(verdict))

    def _groups(self) -> list[list[Check]]:
        checks, first = self.workshop.checks, self.inputs.first
        if self.inputs.since is not None:
            files = self.workshop.sandbox.changed(self.inputs.since, self.inputs.candidate)
            concerns = self.workshop.concerns
            checks = tuple(c for c in checks if c.name in first or concerns(c, files))
        required = [c for c in checks if c.mode is Mode.REQUIRED]
        return [
            [c for c in required if c.name in first],
            [c for c in required if c.name not in first],
            [c for c in checks if c.mode is Mode.INFORMATIONAL],
        ]

    async def _run(self, check: Check) -> Verdict:
        """Run a check, and again where it failed in a way not known yet: that may be chance."""
        emit(CheckStarted(check=check.name))
        sandbox = self.workshop.sandbox
        redact = self.workshop.redact
        if self.inputs.number == 1 and self.workshop.expects_failure:
            self._anticipate(check)
        verdict = redacted_verdict(await check.run(sandbox.workplace()), redact)
        verdict = await self._with_more_time(check, verdict)
        verdict = name_as_before(verdict, self.inputs.history.case_names(check.name))
        confirmed = self.inputs.history.confirmed(check.name)
        reruns = self.workshop.policy.flaky_reruns
        if reruns and _may_be_chance(verdict, confirmed):
            more = await self._more_reruns(verdict)
            if more is None:
                alone = await self._run_alone(check, verdict)
                if alone is not None:
                    verdict = replace(verdict, seconds=verdict.seconds + alone.seconds)
                more = -1 if alone and _blamed(verdict) <= _blamed(alone) else 0
            reruns += more
        for _ in range(reruns):
            if not _may_be_chance(verdict, confirmed):
                break
            emit(CheckRepeated(check=check.name))
            sandbox.restore(self.inputs.candidate)
            again = redacted_verdict(await check.run(sandbox.workplace()), redact)
            verdict = merge_reruns(verdict, name_as_before(again, verdict.cases))
        return verdict

    def _anticipate(self, check: Check) -> None:
        """Let fixers begin, where one will be asked if the check fails."""
        for fixer in self._anticipating():
            fixer.anticipate(check.name, self.workshop.sandbox.workplace())

    async def _with_more_time(self, check: Check, verdict: Verdict) -> Verdict:
        """Return a verdict without the tests that only needed more time than they are given."""
        slower = check.with_more_time(verdict) if isinstance(check, Adjustable) else None
        if slower is None:
            return verdict
        emit(CheckRepeated(check=check.name))
        self.workshop.sandbox.restore(self.inputs.candidate)
        again = await slower.run(self.workshop.sandbox.workplace())
        passed = {case for case, outcome in again.cases.items() if outcome is Outcome.PASSED}
        left = tuple(f for f in verdict.findings if f.location.symbol not in passed)
        return replace(
            verdict,
            passed=not left,
            findings=left,
            cases={**verdict.cases, **dict.fromkeys(passed, Outcome.PASSED)},
            seconds=verdict.seconds + again.seconds,
            slowest=max(verdict.slowest, again.slowest),
        )

    async def _run_alone(self, check: Check, verdict: Verdict) -> Verdict | None:
        """Run the tests that failed once more, without the others, if they can be selected.

        What fails again is no chance. What passes may be, or may need the others to fail.
        """
        selected = select_cases(check, _blamed(verdict), self.workshop.sandbox.workplace())
        if selected is None:
            return None
        emit(CheckRepeated(check=check.name))
        self.workshop.sandbox.restore(self.inputs.candidate)
        found = await selected.run(self.workshop.sandbox.workplace())
        return redacted_verdict(found, self.workshop.redact)

    async def _more_reruns(self, verdict: Verdict) -> int | None:
        """Return how many more reruns a failed check needs, if a fixer has run its tests already.

        Where all failed again, that was one run; where some passed, they may do so by turns, which
        two runs show, and one may not.
        """
        sandbox, tests = self.workshop.sandbox, _blamed(verdict)
        for fixer in self._anticipating():
            emit(CheckRepeated(check=verdict.check))
            sandbox.restore(self.inputs.candidate)
            failed = await fixer.fails_again(verdict, tests, sandbox.workplace())
            sandbox.restore(self.inputs.candidate)
            if failed is not None:
                return -1 if failed else 1
        return None

    def _anticipating(self) -> list[Anticipating]:
        """The fixers that can begin, where one will be asked if a check fails."""
        if self.inputs.number >= Budget.last_attempt(self.workshop.policy, self.inputs.history):
            return []
        return [fixer for fixer in self.workshop.fixers if isinstance(fixer, Anticipating)]


#: The seconds that all passing tests must take for the failing ones to be run alone at first.
_WORTHWHILE = 1.5


def select_cases(check: Check, cases: Collection[str], workplace: Workplace) -> Check | None:
    """Return a check of some of its cases alone; None if they cannot be selected."""
    return check.select(cases, workplace) if cases and isinstance(check, Adjustable) else None


#: What is not run again to see whether it stays: it would take as long, or have another try.
_NO_CHANCE = (TIMEOUT, RESOURCE_LIMIT, TAMPERED)


def _may_be_chance(verdict: Verdict, confirmed: frozenset[str]) -> bool:
    """True if tests failed that were not known to, by the candidate's fault, within their time."""
    certain = any(finding.category in _NO_CHANCE for finding in verdict.findings)
    # What cannot be read cannot be read the next time either.
    blocking = [finding for finding in verdict.findings if finding.fault is Fault.CANDIDATE]
    certain = certain or all(cause_of(finding) is Cause.SYNTAX for finding in blocking)
    return verdict.blocks and not certain and not _blamed(verdict) <= confirmed


def _blamed(verdict: Verdict) -> frozenset[str]:
    """The tests that failed by the candidate's fault."""
    blamed = {f.location.symbol for f in verdict.findings if f.fault is Fault.CANDIDATE}
    bad = (Outcome.FAILED, Outcome.ERROR)
    return frozenset(case for case, o in verdict.cases.items() if o in bad and case in blamed)


#: How many findings of a verdict an event shows; all of them are in the attempt.
_SHOWN = 5


def _check_finished(number: int, verdict: Verdict) -> CheckFinished:
    bad = (Outcome.FAILED, Outcome.ERROR)
    return CheckFinished(
        number=number,
        check=verdict.check,
        mode=verdict.mode,
        passed=verdict.passed,
        findings=len(verdict.findings),
        shown=verdict.findings[:_SHOWN],
        cases=len(verdict.cases),
        flaky=tuple(finding.location.symbol for finding in verdict.flaky),
        known=len(verdict.known),
        failed_cases=sum(outcome in bad for outcome in verdict.cases.values()),
        partial=verdict.partial,
        seconds=verdict.seconds,
    )
