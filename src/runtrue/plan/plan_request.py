"""Making plans: everything that a plan needs to know is settled before it begins."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from runtrue.checks import Framework, files_named, framework_of, own_checks, tool_of
from runtrue.config import (
    CheckConfig,
    Config,
    IsolationConfig,
    PlansConfig,
    Validation,
    ValidationConfig,
    ValidationKind,
    problem_of_profile,
)
from runtrue.errors import UsageError
from runtrue.fixers import AutofixCommands
from runtrue.loop import AutomationProfile, Mode
from runtrue.models import BadCredentials, ModelUnavailable, has_known_price
from runtrue.plan.execute_step import STEP
from runtrue.plan.plan import PlanRequest
from runtrue.plan.plan_file import PlanFile, load_plan_file
from runtrue.plan.strategy import Actor, Strategy
from runtrue.plan.validation import judges_of, settled
from runtrue.sandbox import Isolation, JudgeSearch, repository_of

_SUFFIXES = (".yaml", ".yml", ".json")
#: What tells that a configured check is of a kind, apart from a framework that runs tests.
_TOOLS = {ValidationKind.LINT: "ruff", ValidationKind.TYPES: "mypy"}

_T = TypeVar("_T")


def plan_use(
    project: Path,
    config: Config,
    what: str,
    *,
    profile: str | None = None,
    model: str | None = None,
    agent: str | None = None,
) -> PlanRequest:
    """Settle a plan: `what` is the path of a plan file, or an instruction.

    What was named on the command line comes before what the file says, the file before `[plans]`,
    and that before the profile. Raises UsageError for a plan that could never end.
    """
    profiles = config.plans.all_profiles()
    if profile is not None and (problem := problem_of_profile(profile, profiles)):
        raise UsageError(problem)
    source = _file(what)
    file = load_plan_file(source, profiles=profiles) if source else _instruction(what)
    strategist = config.fixers.writer(model=model, agent=agent)
    if file.strategy is None and strategist is None:
        raise UsageError(
            "nothing can write a strategy: put one in the plan file, or set a model "
            "with RUNTRUE_MODEL or [model] name, or a coding agent with --agent"
        )
    name = profile or file.profile_name or config.plans.profile
    own = file.profile if file.profile and not profile else profiles[name]
    # What the file says of its profile is said by the file.
    flags = file.flags if own is file.profile else frozenset()
    configured = config.plans
    if "validation_retry_limit" in flags:
        configured = replace(configured, validation_retry_limit=None)
    if "answer_within" in flags:
        configured = replace(configured, answer_within=None)
    used = _limited(own, file, configured)
    is_asked = strategist == "model" or "model" in config.fixers.order or _has_model(file.strategy)
    if used.max_cost is not None and model is not None and is_asked:
        _demand_price(model, used.max_cost)
    validations = _validations(project, config, file)
    commands = {each.name: (each.command, each.fix) for each in validations}
    directories = {each.name: each.directory for each in validations}
    autofix = AutofixCommands.of(commands).in_directories(directories)
    search = JudgeSearch()
    return PlanRequest(
        project=str(project),
        instruction=file.instruction,
        source=str(source.absolute()) if source else None,
        strategy=file.strategy,
        strategist=strategist,
        validations=validations,
        profile=used,
        profile_name=name,
        validation_retry_limit=_over(
            file.validation_retry_limit, configured.validation_retry_limit
        ),
        sandbox=_sandbox(project, config, file, name, used, profiles),
        order=config.fixers.order,
        search=config.fixers.search,
        isolation=_isolation(config, file.strategy),
        agent=replace(config.fixers.agent, command=agent or config.fixers.agent.command),
        model=model,
        autofix=autofix.commands,
        safe=autofix.safe,
        judges=tuple(
            pattern for each in validations for pattern in judges_of(each, project, search)
        ),
        pass_environment=config.sandbox.env,
        limits=config.policy,
    )


def _has_model(strategy: Strategy | None) -> bool:
    steps = strategy.leaves() if strategy else ()
    return any(step.actor is Actor.MODEL for step, _ in steps)


def _demand_price(model: str, max_cost: float) -> None:
    """Raise UsageError where nobody knows what the model costs: the limit would be void."""
    try:
        is_known = has_known_price(model, os.environ)
    except BadCredentials:
        return  # it cannot be asked, and costs nothing; that is said when it is
    except ModelUnavailable as error:
        raise UsageError(str(error)) from error
    if not is_known:
        raise UsageError(
            f"no price of {model} is known, so that max_cost = {max_cost:g} could not hold: set "
            "RUNTRUE_MODEL_PRICE to what a million tokens cost in US dollars, PROMPT/ANSWER, such "
            "as 0.5/1.5, or leave max_cost out"
        )


def _isolation(config: Config, strategy: Strategy | None) -> IsolationConfig:
    """Return how steps and validations are confined; they see files that a person's steps name."""
    isolation = Isolation.of(config.isolation).config
    steps = [step for _, step in strategy.all_steps()] if strategy else []
    named = (str(file) for step in steps for file in files_named(step.command or ""))
    return replace(isolation, read=(*isolation.read, *named))


def _file(what: str) -> Path | None:
    """The plan file that is meant, if it is one: a file that is there, or a name like one."""
    is_name = what.endswith(_SUFFIXES) and not any(c.isspace() for c in what)
    return Path(what) if is_name or os.path.isfile(what) else None  # noqa: PTH113 (any text at all)


def _instruction(what: str) -> PlanFile:
    if not what.strip():
        raise UsageError("the instruction is empty; say what to do, or name a plan file")
    return PlanFile(instruction=what.strip())


def _limited(profile: AutomationProfile, file: PlanFile, plans: PlansConfig) -> AutomationProfile:
    """A profile with the limits that stand over its own."""
    # One that waits for nobody does so in every project.
    configured = plans.answer_within if profile.answer_within else None
    return replace(
        profile,
        answer_within=_over(file.answer_within, _over(configured, profile.answer_within)),
        max_cost=_over(file.max_cost, profile.max_cost),
        max_time=_over(file.max_time, profile.max_time),
    )


def _sandbox(
    project: Path,
    config: Config,
    file: PlanFile,
    name: str,
    profile: AutomationProfile,
    profiles: Mapping[str, AutomationProfile],
) -> str | None:
    kind = file.sandbox or config.plans.sandbox or config.sandbox.kind
    if kind == "none" and profile.require_sandbox:
        allowing = [other for other, flags in profiles.items() if not flags.require_sandbox]
        raise UsageError(
            f"a plan with `sandbox: none` changes your own files directly, and the profile "
            f"{name!r} "
            f"requires a sandbox; use one that does not: {', '.join(allowing)}"
        )
    if kind == "worktree" and repository_of(project) is None:
        raise UsageError(
            f"{project} is not in a git repository, so `sandbox: worktree` cannot work; "
            "use `sandbox: copy`"
        )
    return kind


def _validations(project: Path, config: Config, file: PlanFile) -> tuple[Validation, ...]:
    """The plan's own and those of the project; where there are none at all, its checks."""
    own = {validation.name: validation for validation in file.validations}
    shared = {name: each.named(name) for name, each in config.plans.validations.items()}
    if STEP in {**shared, **own}:
        raise UsageError(f"no validation can be called {STEP!r}: steps have that name in reports")
    every = {**shared, **own} or {
        name: _of_check(name, check) for name, check in own_checks(project, config).items()
    }
    if not every:
        raise UsageError(
            f"this plan has no validation: no check was found in {project}; give the plan "
            "file validations, or the configuration a table [plans.validations.NAME]"
        )
    if not any(validation.mode is Mode.REQUIRED for validation in every.values()):
        raise UsageError(
            f"every validation ({', '.join(every)}) is informational, so nothing could fail; "
            "give one of them the mode 'required'"
        )
    found = tuple(_settled(each, config, project) for each in every.values())
    for validation in found:
        if not (project / validation.directory).is_dir():
            raise UsageError(
                f"the validation {validation.name} is to run in {validation.directory}, "
                f"which {project} lacks"
            )
    return found


def _of_check(name: str, check: CheckConfig) -> Validation:
    default = ValidationConfig()
    return ValidationConfig(
        mode=check.mode,
        command=check.command,
        timeout=_over(check.timeout, default.timeout),
        test_seconds=_over(check.test_seconds, default.test_seconds),
        fix=check.fix,
        judges=check.judges,
        env=check.env,
        directory=check.directory,
    ).named(name)


def _settled(validation: Validation, config: Config, project: Path) -> Validation:
    """A validation with its command, where that is what the project has of its kind."""
    if validation.command is not None:
        return validation
    if validation.kind is ValidationKind.SECURITY:
        return replace(validation, command=config.security.command)
    of_kind = (c for c in config.checks.values() if _is_of(validation.kind, c, project))
    check = next(of_kind, None)
    if check is None:
        return settled(validation, project)
    own = validation.directory
    return replace(
        validation,
        command=check.command,
        fix=validation.fix or check.fix,
        judges=(*check.judges, *validation.judges),
        env={**check.env, **validation.env},
        directory=check.directory if own == "." else own,
    )


def _is_of(kind: ValidationKind, check: CheckConfig, project: Path) -> bool:
    directory = project / check.directory
    if kind in (ValidationKind.TESTS, ValidationKind.COVERAGE):
        return framework_of(check.command, directory) is not Framework.OTHER
    return kind in _TOOLS and tool_of(check.command, directory) == _TOOLS[kind]


def _over(value: _T | None, otherwise: _T) -> _T:
    return otherwise if value is None else value
