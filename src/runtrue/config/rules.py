"""Rules for values that no type can express."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from runtrue.config.plans import PlansConfig, ValidationConfig, ValidationKind
from runtrue.config.sections import (
    RUNGS,
    STORES,
    CheckConfig,
    Config,
    EscalationConfig,
    WorkflowsConfig,
)
from runtrue.documents import (
    KeyProblem,
    Pointer,
    is_one_edit,
    problem_of_command,
    problem_of_pattern,
    suggestion,
)
from runtrue.loop import CHANNELS, PROFILES, CodeType, Condition
from runtrue.plugins import PluginGroup, find_plugins

#: Names of gates of the loop itself, which no check may have.
GATES = ("coverage", "test_kinds", "security", "independence")

#: The kinds of tests that are known. Any other word is one of the project's own.
TEST_KINDS = (
    *("happy_path", "edge_cases", "error_handling", "error_cases", "regression_test"),
    *("original_bug_reproduction", "existing_tests_pass", "integration_test", "validation_test"),
)

#: The keys of a validation that only some kinds of it read.
_ONLY_FOR: dict[str, tuple[ValidationKind, ...]] = {
    "command": tuple(kind for kind in ValidationKind if kind is not ValidationKind.CALLABLE),
    "callable": (ValidationKind.CALLABLE,),
    "minimum": (ValidationKind.COVERAGE,),
    "severity": (ValidationKind.SECURITY,),
}
_NOTHING_SET = ValidationConfig()


def problems_of(config: Config) -> Iterator[KeyProblem]:
    """Yield values that have the right type and still can never work."""
    for path, command in _commands(config):
        if problem := problem_of_command(command):
            yield path, problem
    for name, check in config.checks.items():
        yield from _problems_of_check(("checks", name), check)
    yield from _problems_of_order(config.fixers.order)
    yield from _problems_of_escalation(config.escalation)
    yield from _problems_of_plugins(config)
    yield from _problems_of_plans(config.plans)
    if config.workflows != WorkflowsConfig():
        # It may have come with the project.
        yield ("workflows",), "works only in your own ~/.runtrue/runtrue.toml; move it there"
    for code_type in CodeType:
        for word in config.coverage.of(code_type).required_tests:
            near = next((kind for kind in TEST_KINDS if is_one_edit(word, kind)), None)
            if near and word not in TEST_KINDS:
                message = f"there is no kind of test {word!r} (did you mean {near!r}?)"
                yield ("coverage", code_type.value, "required_tests"), message


def _problems_of_check(path: Pointer, check: CheckConfig) -> Iterator[KeyProblem]:
    name = path[-1]
    if name in GATES:
        message = f"a gate has this name; choose another, such as '{name}_check'"
        yield path, message
    yield from _problems_of_surroundings(path, check.env, check.directory)


def problems_of_validation(path: Pointer, validation: ValidationConfig) -> Iterator[KeyProblem]:
    """Yield what is wrong with a validation."""
    kind = validation.kind
    for key, kinds in _ONLY_FOR.items():
        if kind not in kinds and getattr(validation, key) != getattr(_NOTHING_SET, key):
            words = " or ".join(repr(str(one)) for one in kinds)
            yield (*path, key), f"a validation of kind {str(kind)!r} has none; {words} has"
    needed = str(kind)
    if needed in _ONLY_FOR and getattr(validation, needed) is None:
        yield path, f"a validation of kind {needed!r} needs a {needed}"
    if validation.callable is not None and not validation.callable.strip():
        yield (*path, "callable"), "the function name is empty"
    for key in ("command", "fix"):
        command = getattr(validation, key)
        if command is not None and (problem := problem_of_command(command)):
            yield (*path, key), problem
    for number, pattern in enumerate(validation.watches or ()):
        if problem := problem_of_pattern(pattern):
            yield (*path, "watches", number), problem
    yield from _problems_of_surroundings(path, validation.env, validation.directory)


def problem_of_profile(name: str, known: Iterable[str]) -> str | None:
    """Return why a profile cannot be used, or None."""
    known = list(known)
    if name in known:
        return None
    return f"there is no profile {name!r}{suggestion(name, known)}; available: {', '.join(known)}"


def _problems_of_plans(plans: PlansConfig) -> Iterator[KeyProblem]:
    for name, validation in plans.validations.items():
        path = ("plans", "validations", name)
        if not name.strip():
            yield path, "the name of a validation is empty"
        yield from problems_of_validation(path, validation)
    for name, profile in plans.profiles.items():
        path = ("plans", "profiles", name)
        if name in PROFILES:
            message = f"this profile is built in; give yours another name, and base = {name!r}"
            yield path, message
        if problem := problem_of_profile(profile.base, PROFILES):
            yield (*path, "base"), problem
    if problem := problem_of_profile(plans.profile, plans.all_profiles()):
        yield ("plans", "profile"), problem


def _problems_of_surroundings(
    path: Pointer, env: Mapping[str, str], directory: str
) -> Iterator[KeyProblem]:
    """Check a command's variables and its directory."""
    for variable, value in env.items():
        if not variable or "=" in variable or "\0" in variable:
            message = (
                "is not a valid variable name: it must not be empty or hold = or a null character"
            )
            yield (*path, "env", variable), message
        if "\0" in value:
            yield (*path, "env", variable), "a variable cannot contain a null character"
    place = (*path, "directory")
    if not directory.strip():
        yield place, "the directory is empty; use '.' for the project itself"
    elif "\0" in directory:
        yield place, "a directory name cannot contain a null character"
    elif Path(directory).is_absolute():
        yield place, f"{directory!r} is absolute; give a path relative to the project"
    elif Path(os.path.normpath(directory)).parts[:1] == ("..",):
        yield place, f"{directory!r} is outside the project; name one inside it"


def _problems_of_order(order: tuple[str, ...]) -> Iterator[KeyProblem]:
    place = ("fixers", "order")
    yield from _unknown(order, RUNGS, PluginGroup.FIXERS, place, "fixer", "the ladder has")
    for rung, count in Counter(order).items():
        if count > 1:
            yield place, f"{rung!r} is there {count} times; name each fixer once"


def _unknown(
    names: Iterable[str],
    built_in: tuple[str, ...],
    group: PluginGroup,
    place: Pointer,
    noun: str,
    available: str,
) -> Iterator[KeyProblem]:
    """Yield a problem for each name that neither runtrue nor a plugin has."""
    for name in names:
        if name not in built_in and name not in (plugins := find_plugins(group)):
            known = (*built_in, *plugins)
            hint = suggestion(name, known)
            yield place, f"there is no {noun} {name!r}{hint}; {available}: {', '.join(known)}"


def _problems_of_plugins(config: Config) -> Iterator[KeyProblem]:
    """Yield the names of gates, stores and channels that nobody brings."""
    yield from _unknown(
        config.gate.plugins, (), PluginGroup.GATES, ("gate", "plugins"), "gate", "plugins have"
    )
    stores = config.secrets.stores
    yield from _unknown(
        stores, STORES, PluginGroup.SECRETS, ("secrets", "stores"), "store", "available"
    )
    if (channel := config.escalation.notification.channel) is not None:
        place = ("escalation", "notification", "channel")
        yield from _unknown([channel], CHANNELS, PluginGroup.NOTIFIERS, place, "channel", "known")


def _problems_of_escalation(escalation: EscalationConfig) -> Iterator[KeyProblem]:
    seen: set[Condition] = set()
    for number, trigger in enumerate(escalation.triggers or ()):
        if trigger.condition in seen:
            message = f"{trigger.condition.value!r} already has a trigger; keep one of them"
            yield ("escalation", "triggers", number, "condition"), message
        seen.add(trigger.condition)
    notification = escalation.notification
    needed = ("smtp_host", "email_from", "email_to")
    missing = [name for name in needed if not getattr(notification, name)]
    if notification.channel == "email" and missing:
        message = f"'email' needs {' and '.join(missing)} in [escalation.notification]"
        yield ("escalation", "notification", "channel"), message


def _commands(config: Config) -> Iterator[tuple[Pointer, str]]:
    for name, check in config.checks.items():
        yield ("checks", name, "command"), check.command
        if check.fix is not None:
            yield ("checks", name, "fix"), check.fix
    if config.fixers.agent.command is not None:
        yield ("fixers", "agent", "command"), config.fixers.agent.command
    if config.security.command is not None:
        yield ("security", "command"), config.security.command
