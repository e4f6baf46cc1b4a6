"""Validations that judge what was changed: coverage and security, by the gates of the code loop."""

from __future__ import annotations

from dataclasses import dataclass, replace

from runtrue.checks import CommandCheck
from runtrue.gates import CoverageGate, SecurityGate
from runtrue.loop import (
    COVERAGE_UNMET,
    CodeType,
    Finding,
    History,
    Mode,
    Trial,
    Verdict,
    Workplace,
)
from runtrue.plan.plan import Validation
from runtrue.sandbox import TreeSandbox


def command_check(validation: Validation, *, cover: bool = False) -> CommandCheck:
    """A validation that is a command, or runs one."""
    return CommandCheck(
        name=validation.name,
        command=validation.command or "",
        mode=validation.mode,
        timeout=validation.timeout,
        env=validation.env,
        directory=validation.directory,
        cover=cover,
        test_seconds=validation.test_seconds,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _GateCheck:
    validation: Validation
    sandbox: TreeSandbox

    @property
    def name(self) -> str:
        """The validation's."""
        return self.validation.name

    @property
    def mode(self) -> Mode:
        """The validation's."""
        return self.validation.mode


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageCheck(_GateCheck):
    """Runs the tests with coverage measured, and wants enough of the changed lines run."""

    @property
    def command(self) -> str:
        """What runs the tests."""
        return self.validation.command or ""

    async def run(self, workplace: Workplace) -> Verdict:
        """Measure and judge. The coverage of tests that fail means nothing: those are reported."""
        candidate = self.sandbox.snapshot()
        tests = await command_check(self.validation, cover=True).run(workplace)
        if not tests.passed:
            return replace(tests, coverage=None)
        gate = CoverageGate(
            sandbox=self.sandbox,
            changed=self.sandbox.changed_lines,
            checks=(self.name,),
            minimum=self.validation.minimum,
            code_type=CodeType.NEW_FUNCTION,
            strict=True,
            name=self.name,
            mode=self.mode,
        )
        trial = Trial(candidate=candidate, verdicts=(tests,), history=History())
        verdict = await gate.judge(workplace, trial)
        return replace(
            verdict,
            findings=tuple(map(_compared, verdict.findings)),
            cases=tests.cases,
            exit_code=tests.exit_code,
            seconds=tests.seconds,
        )


def _compared(finding: Finding) -> Finding:
    """The gate's finding, with what it compared under the names that validations use."""
    if finding.category != COVERAGE_UNMET:
        return finding
    data = finding.data
    missing = data["missing"]
    compared = {
        "paths": list(missing),
        # Of the first path; all are under `missing`.
        "lines": next(iter(missing.values()), []),
        "expected": data["required"],
        "actual": data["percent"],
    }
    return replace(finding, data=data | compared)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityCheck(_GateCheck):
    """Has a scanner look at the lines that were changed."""

    @property
    def command(self) -> str:
        """The scanner."""
        return self.validation.command or "bandit"

    async def run(self, workplace: Workplace) -> Verdict:
        """Scan. Where nothing can, that is a finding: somebody relies on its having been done."""
        validation = self.validation
        gate = SecurityGate(
            validation.command,
            validation.severity,
            self.sandbox.changed_lines,
            name=validation.name,
            mode=validation.mode,
            timeout=validation.timeout,
            strict=True,
        )
        workplace = replace(
            workplace,
            directory=workplace.directory / validation.directory,
            environment={**workplace.environment, **validation.env},
        )
        trial = Trial(candidate=self.sandbox.snapshot(), verdicts=(), history=History())
        return await gate.judge(workplace, trial)
