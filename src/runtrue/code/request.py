"""Requests: what one run of the code loop is asked to do, settled before it begins.

The request is recorded with the run, so that a resumed run does what was asked at first, whatever
has happened to the configuration since.
"""

from __future__ import annotations

import os
import shlex
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Protocol, TypeVar

from runtrue.checks import (
    CommandCheck,
    Framework,
    find_program,
    framework_of,
    is_linter,
    is_shell,
    language_of,
    own_checks,
    tool_of,
)
from runtrue.code.suites import default_command, test_files_for
from runtrue.code.task import CodeTask, Iteration, Stop
from runtrue.config import (
    AgentConfig,
    CheckConfig,
    Config,
    GateConfig,
    IsolationConfig,
    MemoryConfig,
    SearchConfig,
    SecurityConfig,
)
from runtrue.errors import UsageError
from runtrue.fixers import AutofixCommands
from runtrue.loop import (
    CodeType,
    Condition,
    Known,
    Mode,
    Notification,
    Policy,
    Requirement,
    Response,
    Trigger,
)
from runtrue.record_format import RECORD_FORMAT
from runtrue.sandbox import Isolation, JudgeSearch, repository_of, search_path

#: Seconds for a test command that nobody gave a limit to, and what a limit may be.
TIMEOUT = 120
SHORTEST, LONGEST = 5, 600
#: Of any other check, and the processor time of one test: where the baseline takes longer, more.
_TIMEOUT, _TEST_SECONDS = 300.0, 10.0

#: What the code loop does where nobody says otherwise.
TRIGGERS = (
    Trigger(condition=Condition.REGRESSION_DETECTED, action=Response.ABORT_WITH_REPORT),
    Trigger(condition=Condition.SECURITY_ISSUE_FOUND, action=Response.HUMAN_REVIEW),
    Trigger(condition=Condition.MAX_ATTEMPTS_REACHED, action=Response.HUMAN_REVIEW),
    Trigger(condition=Condition.COVERAGE_THRESHOLD_UNMET, action=Response.HUMAN_REVIEW),
    Trigger(condition=Condition.TIMEOUT_EXCEEDED, action=Response.FLAG_AND_CONTINUE),
    Trigger(condition=Condition.UNKNOWN_ERROR_TYPE, action=Response.FLAG_AND_CONTINUE),
)
_SEARCH = SearchConfig()
_GATE = GateConfig()
_ISOLATION = IsolationConfig()


class Apply(StrEnum):
    """Whether the result is brought into the user's tree."""

    YES = "yes"
    NO = "no"
    ASK = "ask"


class Kind(StrEnum):
    """What a run is for, by the name of its command and in the journal."""

    FIX = "fix"
    CODE = "code"
    GATE = "gate"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRequest:
    """All that a run needs to know."""

    kind: Kind
    workflow_id: str
    project: str
    checks: tuple[CommandCheck, ...]
    #: The commands of the `tool` fixer, by check, and those that fix only what is safe to fix.
    autofix: dict[str, str]
    safe: tuple[str, ...]
    judges: tuple[str, ...]
    order: tuple[str, ...]
    agent: AgentConfig
    model: str | None
    policy: Policy
    sandbox: str | None
    pass_environment: tuple[str, ...]
    apply: Apply
    notification: Notification
    retention: MemoryConfig
    search: SearchConfig = _SEARCH
    #: With the level that was found to be the strongest here.
    isolation: IsolationConfig = _ISOLATION
    task: CodeTask | None = None
    requirement: Requirement | None = None
    security: SecurityConfig | None = None
    gate: GateConfig = _GATE
    #: Who writes code and tests at first: `model`, `agent`, or nobody.
    generator: str | None = None
    iteration: Iteration | None = None
    #: The commands of the `tool` fixer that fix the rest as well, of checks that were asked for.
    unsafe: dict[str, str] = field(default_factory=dict)
    #: What a gate judges: the changed lines by file, and the revision they are changed from.
    changes: dict[str, tuple[int, ...]] | None = None
    against: str | None = None
    #: Checks of directories in which nothing was changed, which a gate does not run.
    unconcerned: tuple[str, ...] = ()
    #: The tree that is judged, where that is not the files as they are: what is staged.
    staged: str | None = None
    #: What kind of change it is, where that was said, and who waits for the verdict.
    code_type: CodeType | None = None
    stop: Stop | None = None
    #: Files that run by themselves may be applied without a question.
    allow_self_running: bool = False
    #: The form in which the steps are recorded.
    record_format: int = RECORD_FORMAT

    @property
    def tests(self) -> CommandCheck:
        """The check that runs the tests; the first one, where none is known to.

        Of several packages, it is that of the package in which the task's file is.
        """
        directory = Path(self.project)
        runs_tests = [
            check
            for check in self.checks
            if framework_of(check.command, directory / check.directory) is not Framework.OTHER
        ]
        path = directory / (self.task.path if self.task else ".")

        def depth(check: CommandCheck) -> int:
            place = directory / check.directory
            return len(place.parts) if path.is_relative_to(place) else 0

        return max(runs_tests, key=depth, default=self.checks[0])

    def concerned(self, changed: Collection[str]) -> CodeRequest | None:
        """Return the request with the checks that changed files concern; None if there are none.

        Files are seen from the top of the repository, or from the project where there is none.
        """
        project = Path(self.project)
        top = repository_of(project) or project
        prefix = PurePosixPath(project.resolve().relative_to(top.resolve()).as_posix())
        found = concerned_checks({check.name: check for check in self.checks}, changed, prefix)
        if not any(check.mode is Mode.REQUIRED for check in found.values()):
            return None
        return replace(self, checks=tuple(found.values()))


def plan_fix(
    project: Path,
    config: Config,
    *,
    checks: Sequence[str] = (),
    apply: Apply = Apply.NO,
    model: str | None = None,
) -> CodeRequest:
    """Settle a request: the checks that were named, else the configured, else the detected ones."""
    chosen = _choose(project, config, checks)
    if checks and all(is_linter(check.command) for check in chosen.values()):
        # What a linter's own fixes do to the program, only its tests can tell.
        chosen = _guards(project, config) | chosen
    request = _plan(Kind.FIX, project, config, chosen, apply, model)
    # The seed's rule, to stop at the first regression, is about code that was asked for.
    return replace(request, policy=replace(request.policy, retries_regressions=True))


def plan_code(
    project: Path,
    config: Config,
    task: CodeTask,
    *,
    checks: Sequence[str] = (),
    apply: Apply = Apply.NO,
    model: str | None = None,
    agent: str | None = None,
) -> CodeRequest:
    """Settle a request for code: the same, with a task, a generator, and what is required."""
    generator = config.fixers.writer(model=model, agent=agent)
    if generator is None and not (project / task.path).is_file():
        raise UsageError(
            f"there is no {task.path} in {project}, and nothing to write it with: name a model "
            "with RUNTRUE_MODEL or [model] name, or a coding agent with --agent"
        )
    absent = [test for test in task.tests if not (project / test).is_file()]
    if generator is None and absent:
        raise UsageError(
            f"there is no {absent[0]} in {project}, and nothing to write it with: name a test that "
            "is there, or a model with RUNTRUE_MODEL, or a coding agent with --agent"
        )
    language = language_of(task.path)
    chosen = _choose(project, config, checks, otherwise=default_command(language, project))
    request = _plan(Kind.CODE, project, config, chosen, apply, model, TRIGGERS)
    own = request.checks if config.checks else [replace(c, timeout=TIMEOUT) for c in request.checks]
    request = replace(request, task=task)
    requirement = config.coverage.of(task.code_type)
    framework = framework_of(request.tests.command, project / request.tests.directory)
    found = task.tests or test_files_for(project, task.path, language, framework)
    return replace(
        request,
        task=replace(task, tests=found),
        requirement=requirement,
        security=config.security,
        gate=config.gate,
        generator=generator,
        agent=replace(request.agent, command=agent or request.agent.command),
        checks=measuring(own),
    )


def plan_gate(
    project: Path,
    config: Config,
    *,
    changes: dict[str, tuple[int, ...]],
    prefix: PurePosixPath,
    against: str,
    staged: str | None = None,
    code_type: CodeType | None = None,
    checks: Sequence[str] = (),
) -> CodeRequest:
    """Settle a request for a verdict on what was changed, with no fix at all.

    `changes` are the changed lines by file, and `prefix` the project, as seen from the repository's
    top. Of checks that nobody named, those of directories without a change are not run.
    """
    chosen = _choose(project, config, checks)
    concerned = chosen if checks else concerned_checks(chosen, changes, prefix)
    request = _plan(Kind.GATE, project, config, concerned, Apply.NO, None)
    of_type = config.coverage.of(code_type or CodeType.NEW_FUNCTION)
    return replace(
        request,
        order=(),
        policy=replace(request.policy, max_attempts=1, ask_human=False, triggers=()),
        # Which kinds of tests there must be is known only of a type that was named.
        requirement=of_type if code_type else replace(of_type, required_tests=()),
        security=config.security,
        gate=config.gate,
        checks=measuring(request.checks),
        changes=changes,
        unconcerned=tuple(name for name in chosen if name not in concerned),
        against=against,
        staged=staged,
        sandbox="worktree" if staged else request.sandbox,
        code_type=code_type,
    )


class _Placed(Protocol):
    """What has a directory, as seen from the project."""

    @property
    def directory(self) -> str: ...


_P = TypeVar("_P", bound=_Placed)


def concerned_checks(
    checks: dict[str, _P], changes: Collection[str], prefix: PurePosixPath
) -> dict[str, _P]:
    """Return the checks of directories with a change, and those of the whole project.

    All of them, where something was changed that is in none of these directories.
    """
    places = {name: prefix / check.directory for name, check in checks.items()}
    below = {
        name: any(PurePosixPath(file).is_relative_to(place) for file in changes)
        for name, place in places.items()
    }
    packages = [place for place in places.values() if place != prefix]
    shared = any(
        not any(PurePosixPath(file).is_relative_to(place) for place in packages) for file in changes
    )
    return checks if shared else {name: checks[name] for name in checks if below[name]}


def measuring(checks: Sequence[CommandCheck]) -> tuple[CommandCheck, ...]:
    """Return the same checks, those that run tests also measuring coverage."""
    return tuple(replace(check, cover=not is_linter(check.command)) for check in checks)


def _plan(
    kind: Kind,
    project: Path,
    config: Config,
    chosen: dict[str, CheckConfig],
    apply: Apply,
    model: str | None,
    triggers: tuple[Trigger, ...] = (),
) -> CodeRequest:
    if not any(check.mode is Mode.REQUIRED for check in chosen.values()):
        raise UsageError(
            f"{project}: every check is informational, so nothing could fail; "
            'give one of them mode = "required"'
        )
    autofix = AutofixCommands.of(
        {name: (check.command, check.fix) for name, check in chosen.items()},
        asked=[name for name, check in chosen.items() if check.known is Known.FIX],
    ).in_directories({name: check.directory for name, check in chosen.items()})
    search = JudgeSearch()
    return CodeRequest(
        kind=kind,
        workflow_id=str(uuid.uuid4()),
        project=str(project),
        checks=tuple(_check(name, check, project) for name, check in chosen.items()),
        autofix=autofix.commands,
        safe=autofix.safe,
        unsafe=autofix.unsafe,
        judges=tuple(
            pattern
            for check in chosen.values()
            for pattern in (*check.judges, *_judges(check, project, search))
        ),
        order=config.fixers.order,
        search=config.fixers.search,
        isolation=Isolation.of(config.isolation).config,
        agent=config.fixers.agent,
        model=model,
        policy=config.to_policy(triggers),
        sandbox=config.sandbox.kind,
        pass_environment=config.sandbox.env,
        apply=apply,
        notification=config.escalation.notification.resolved(os.environ),
        retention=config.memory,
    )


def _judges(check: CheckConfig, project: Path, search: JudgeSearch) -> tuple[str, ...]:
    """Return patterns, from the project's top, for what a check's command is judged by."""
    patterns = search.of_command(check.command, project / check.directory)
    inside = "" if check.directory == "." else f"{check.directory.strip('/')}/"
    return tuple(f"{inside}{pattern}" for pattern in patterns)


def _check(name: str, check: CheckConfig, project: Path) -> CommandCheck:
    if not (project / check.directory).is_dir():
        raise UsageError(f"the check {name} is to run in {check.directory}, which {project} lacks")
    return CommandCheck(
        name=name,
        command=check.command,
        mode=check.mode,
        known=check.known or (Known.IGNORE if is_linter(check.command) else Known.FIX),
        timeout=check.timeout or _TIMEOUT,
        env=check.env,
        directory=check.directory,
        fail_fast=check.fail_fast,
        verbose=check.verbose,
        test_seconds=_TEST_SECONDS if check.test_seconds is None else check.test_seconds,
        derived=tuple(x for x in ("timeout", "test_seconds") if getattr(check, x) is None),
    )


def _choose(
    project: Path, config: Config, named: Sequence[str], *, otherwise: str | None = None
) -> dict[str, CheckConfig]:
    own = own_checks(project, config)
    if named:
        chosen: dict[str, CheckConfig] = {}
        for word in named:
            name, check = _named(word, own, project, taken=chosen)
            chosen[name] = replace(check, known=Known.FIX)
        return chosen
    if otherwise and all(is_linter(check.command) for check in own.values()):
        name = tool_of(otherwise, project) or "tests"
        own = {name: CheckConfig(command=otherwise), **own}
    if not own:
        raise UsageError(
            f"no check was found in {project}: no file there says how to run tests, ruff or mypy, "
            'and there is no test file; name one with --check "COMMAND"'
        )
    return own


def _guards(project: Path, config: Config) -> dict[str, CheckConfig]:
    """The project's required checks that run its code: they must go on as they do now."""
    return {
        name: replace(check, known=Known.IGNORE)
        for name, check in own_checks(project, config).items()
        if check.mode is Mode.REQUIRED and not is_linter(check.command)
    }


def _named(
    word: str, own: dict[str, CheckConfig], project: Path, *, taken: dict[str, CheckConfig]
) -> tuple[str, CheckConfig]:
    """A check given on the command line: the name of one the project has, or a command."""
    if word in own:
        return word, own[word]
    if not is_shell(word):
        try:
            words = shlex.split(word)
        except ValueError as error:
            raise UsageError(f"the check {word!r} cannot be read: {error}") from error
        path = search_path(project, os.environ.get("PATH", os.defpath))
        if not words or not (find_program(words[0], path) or (project / words[0]).is_file()):
            known = ", ".join(own) or "none"
            raise UsageError(
                f"unknown check {word!r}: neither a check of {project} (it has: {known}) "
                "nor a command whose program can be found"
            )
    name = tool_of(word) or Path(word.split(maxsplit=1)[0]).name
    number = sum(other.rstrip("0123456789-") == name for other in taken) + 1
    return (name if number == 1 else f"{name}-{number}"), CheckConfig(command=word)
