"""The gate `independence`: what passed must pass also where the tests that were added are not.

A test file is a program: one that is added may change the code under test, or the test runner, and
so turn other tests green. Without it they tell the truth.
"""

from __future__ import annotations

from runtrue.checks import load_cases
from runtrue.code.context import CodeContext
from runtrue.code.proof import file_of
from runtrue.loop import (
    Fault,
    Finding,
    Location,
    Mode,
    Outcome,
    Trial,
    Verdict,
    Workplace,
    may_be_one_of,
)
from runtrue.sandbox import is_test

NAME = "independence"
CATEGORY = "depends_on_added_tests"
_MOST = 10


class IndependenceGate:
    """Runs the tests that were there before once more, by themselves, where others were added."""

    name = NAME
    mode = Mode.REQUIRED

    def __init__(self, context: CodeContext) -> None:
        self._context = context

    async def judge(self, workplace: Workplace, trial: Trial) -> Verdict:
        """Compare how they end with and without the added tests."""
        added = self._added(trial)
        check = self._context.request.tests
        verdict = next((v for v in trial.verdicts if v.check == check.name), None)
        infos = load_cases(workplace.scratch, check.name)
        older = [
            case
            for case, outcome in (verdict.cases if verdict else {}).items()
            if outcome is Outcome.PASSED and not may_be_one_of(file_of(case, infos), added)
        ]
        if not added or not older:
            return self._verdict((), "no tests were added")
        try:
            for file in added:
                (workplace.root / file).unlink(missing_ok=True)
            alone = await check.run(workplace)
        finally:
            self._context.sandbox.restore(trial.candidate)
        broken = [case for case in older if alone.cases.get(case) is not Outcome.PASSED]
        return self._verdict(
            tuple(self._finding(case, added) for case in broken[:_MOST]),
            f"{len(older) - len(broken)} of {len(older)} existing tests pass without the "
            "added ones",
            alone.seconds,
        )

    def _added(self, trial: Trial) -> tuple[str, ...]:
        changed = (file for file in self._context.changed(trial.candidate) if is_test(file))
        return tuple(file for file in changed if self._context.original(file) is None)

    def _finding(self, case: str, added: tuple[str, ...]) -> Finding:
        return Finding(
            source=self.name,
            category=CATEGORY,
            message=f"passes only together with the added tests: {', '.join(added)}",
            fault=Fault.CANDIDATE,
            location=Location(file=added[0], symbol=case),
            attempted=added,
        )

    def _verdict(self, findings: tuple[Finding, ...], said: str, seconds: float = 0.0) -> Verdict:
        return Verdict(
            check=self.name,
            mode=self.mode,
            passed=not findings,
            findings=findings,
            output=said,
            seconds=seconds,
        )
