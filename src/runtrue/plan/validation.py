"""Validations: the checks that a plan is held to, none of which changes what it looks at."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath

from runtrue.checks import CommandCheck, detect_checks, tool_of
from runtrue.errors import UsageError
from runtrue.flow import emit
from runtrue.loop import (
    Check,
    CheckStarted,
    Finding,
    Mode,
    Verdict,
    Workplace,
    in_time,
    matches,
    readable,
    redacted_verdict,
)
from runtrue.plan.events import BaselineFinished, BaselineStarted
from runtrue.plan.plan import PlanRequest, Validation, ValidationKind
from runtrue.plan.validation_callable import CallableCheck
from runtrue.plan.validation_gates import CoverageCheck, SecurityCheck, command_check
from runtrue.redaction import Redactor
from runtrue.sandbox import JudgeSearch, TreeSandbox, UsersTree

#: Compares a verdict with what was before the plan.
Compare = Callable[[Verdict, Workplace], Verdict]
#: What a project has of its own, by the tool; all other checks that it has run tests.
_KINDS = {"ruff": ValidationKind.LINT, "mypy": ValidationKind.TYPES}
#: What is looked for, for those that need no command of their own.
_LOOKED_FOR = {
    ValidationKind.TESTS: ValidationKind.TESTS,
    ValidationKind.COVERAGE: ValidationKind.TESTS,
    ValidationKind.LINT: ValidationKind.LINT,
    ValidationKind.TYPES: ValidationKind.TYPES,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineVerdicts:
    """What the validations said before the first step, and how long that took."""

    verdicts: tuple[Verdict, ...]
    seconds: float


def checks_of(
    request: PlanRequest, sandbox: TreeSandbox, compare: Compare | None = None
) -> tuple[Check, ...]:
    """The validations of a plan, each of which leaves the candidate as it was."""
    project = Path(request.project)
    return tuple(
        ReadOnly(
            check=_check(settled(validation, project), sandbox), sandbox=sandbox, compare=compare
        )
        for validation in request.validations
    )


async def baseline_verdicts(
    request: PlanRequest,
    sandbox: TreeSandbox,
    redact: Redactor,
    candidate: str,
    alone: bool = False,
) -> BaselineVerdicts:
    """Run the required validations without the plan's change, for at most half of its time.

    That is before the first step, or on the user's files `alone` when the plan is applied. What is
    cut off then says nothing about what was before.
    """
    checks = [check for check in checks_of(request, sandbox) if check.mode is Mode.REQUIRED]
    emit(BaselineStarted(validations=tuple(check.name for check in checks), alone=alone))
    verdicts, cut_off = [], []
    started = time.monotonic()
    for check in checks:
        sandbox.restore(candidate)
        emit(CheckStarted(check=check.name))
        left = request.profile.max_time / 2 - (time.monotonic() - started)
        verdict = await in_time(partial(check.run, sandbox.workplace()), left)
        if verdict is None:
            cut_off.append(check.name)
        else:
            verdicts.append(redacted_verdict(verdict, redact))
    failed = {v.check: len(v.findings) for v in verdicts if not v.passed}
    emit(BaselineFinished(failed=failed, cut_off=tuple(cut_off), alone=alone))
    return BaselineVerdicts(verdicts=tuple(verdicts), seconds=time.monotonic() - started)


def test_checks(request: PlanRequest) -> tuple[CommandCheck, ...]:
    """The validations that are commands, tests as a rule, as they are run to try edits."""
    project = Path(request.project)
    kinds = (ValidationKind.COMMAND, ValidationKind.TESTS)
    return tuple(
        command_check(settled(validation, project))
        for validation in request.validations
        if validation.kind in kinds and validation.mode is Mode.REQUIRED
    )


def concerns(
    request: PlanRequest, sandbox: TreeSandbox
) -> Callable[[Check, tuple[str, ...]], bool]:
    """True if a validation watches any of some changed files, as seen from the root."""
    watches = {validation.name: validation.watches for validation in request.validations}

    def concern(check: Check, files: tuple[str, ...]) -> bool:
        patterns = watches.get(check.name)
        if patterns is None:
            return True
        rooted = [sandbox.rooted(pattern) for pattern in patterns]
        return any(matches(file, pattern) for file in files for pattern in rooted)

    return concern


def settled(validation: Validation, project: Path) -> Validation:
    """The same, with the command that it comes to in a project; refused where there is none."""
    wanted = _LOOKED_FOR.get(validation.kind)
    if wanted and validation.command is None:
        check = _found(validation, wanted, project)
        return replace(
            validation,
            command=check.command,
            env={**check.env, **validation.env},
            directory=(PurePosixPath(validation.directory) / check.directory).as_posix(),
        )
    if validation.kind is ValidationKind.COMMAND and validation.command is None:
        raise UsageError(f"the validation {validation.name} has no `command`; give it one")
    if validation.kind is ValidationKind.CALLABLE and validation.callable is None:
        raise UsageError(
            f"the validation {validation.name} has no `callable`; name an entry point, or "
            "module:function"
        )
    return validation


def judges_of(validation: Validation, project: Path, search: JudgeSearch) -> tuple[str, ...]:
    """Patterns for the project's files that a validation judges by, which no fixer may change."""
    module, is_own, _ = (validation.callable or "").partition(":")
    path = module.replace(".", "/")
    ends = (".py", "/__init__.py") if is_own else ()
    inside = "" if validation.directory == "." else f"{validation.directory.strip('/')}/"
    named = search.of_command(validation.command or "", project / validation.directory)
    return (
        *validation.judges,
        *(f"{inside}{pattern}" for pattern in named),
        *(f"{place}{path}{end}" for place in ("", "*/") for end in ends),
    )


def _found(validation: Validation, wanted: ValidationKind, project: Path) -> CommandCheck:
    """The one check of that kind which a project already has."""
    directory = project / validation.directory
    checks = [found.check for found in detect_checks(directory)]
    fitting = [
        check
        for check in checks
        if _KINDS.get(
            tool_of(check.command, directory / check.directory) or "", ValidationKind.TESTS
        )
        is wanted
    ]
    if len(fitting) == 1:
        return fitting[0]
    name, kind = validation.name, validation.kind
    if fitting:
        raise UsageError(
            f"the validation {name} of kind {kind} could be any of these in {directory}: "
            f"{', '.join(map(_shown, fitting))}; say which with `command`"
        )
    raise UsageError(
        f"the validation {name} of kind {kind} finds no command for {wanted} in {directory} "
        f"(available: {', '.join(map(_shown, checks)) or 'none'}); give it one with "
        "`command`"
    )


def _shown(check: CommandCheck) -> str:
    return check.command + ("" if check.directory == "." else f" (in {check.directory})")


def _check(validation: Validation, sandbox: TreeSandbox) -> Check:
    match validation.kind:
        case ValidationKind.CALLABLE:
            return CallableCheck(
                name=validation.name,
                callable=validation.callable or "",
                mode=validation.mode,
                timeout=validation.timeout,
                env=validation.env,
                directory=validation.directory,
            )
        case ValidationKind.SECURITY:
            return SecurityCheck(validation=validation, sandbox=sandbox)
        case ValidationKind.COVERAGE:
            return CoverageCheck(validation=validation, sandbox=sandbox)
        case _:
            return command_check(validation)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOnly:
    """A check that leaves the candidate as it was, whatever it does to it.

    What it writes is named in its verdict and put back; not so in the user's own tree, where
    nothing ever is.
    """

    check: Check
    sandbox: TreeSandbox
    compare: Compare | None = None

    @property
    def name(self) -> str:
        """The validation's."""
        return self.check.name

    @property
    def mode(self) -> Mode:
        """The validation's."""
        return self.check.mode

    @property
    def command(self) -> str:
        """The validation's."""
        return self.check.command

    async def run(self, workplace: Workplace) -> Verdict:
        """Run the check, then undo what it did."""
        before = self.sandbox.snapshot()
        verdict = await self.check.run(workplace)
        wrote = self.sandbox.changed(before, self.sandbox.snapshot())
        if not isinstance(self.sandbox, UsersTree):
            # Also what is no part of a candidate: nothing is to be left for the next one.
            self.sandbox.restore(before)
        findings = tuple(_told(finding, verdict) for finding in verdict.findings)
        verdict = replace(verdict, findings=findings, wrote=readable(wrote))
        return self.compare(verdict, workplace) if self.compare else verdict


def _told(finding: Finding, verdict: Verdict) -> Finding:
    """A finding whose data says where it is, and what was expected, as far as that is known."""
    data = dict(finding.data)
    if finding.location.file:
        data.setdefault("paths", [finding.location.file])
        if finding.location.line:
            data.setdefault("lines", [finding.location.line])
    if finding.category == "exit_code":
        data |= {"expected": 0, "actual": verdict.exit_code}
    return replace(finding, data=data)
