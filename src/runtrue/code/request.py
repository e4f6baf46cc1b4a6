"""Requests: what one run of `runtrue fix` is asked to do, settled before it begins.

The request is recorded with the run, so that a resumed run does what was asked at first, whatever
has happened to the configuration since.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from runtrue.checks import CommandCheck, detect_checks, find_program, is_shell, tool_of
from runtrue.config import AgentConfig, CheckConfig, Config
from runtrue.errors import UsageError
from runtrue.fixers import mending_command
from runtrue.loop import Mode, Policy
from runtrue.sandbox import judges_of_command, search_path


class Apply(StrEnum):
    """Whether the result is brought into the user's tree."""

    YES = "yes"
    NO = "no"
    ASK = "ask"


@dataclass(frozen=True, slots=True, kw_only=True)
class FixRequest:
    """All that a run needs to know."""

    project: str
    checks: tuple[CommandCheck, ...]
    #: The commands of the `tool` fixer, by check, and those that mend only what is safe to.
    mending: dict[str, str]
    safe: tuple[str, ...]
    judges: tuple[str, ...]
    order: tuple[str, ...]
    agent: AgentConfig
    policy: Policy
    sandbox: str | None
    pass_environment: tuple[str, ...]
    apply: Apply


def plan_fix(
    project: Path, config: Config, *, checks: Sequence[str] = (), apply: Apply = Apply.NO
) -> FixRequest:
    """Settle a request: the checks that were named, else the configured, else the detected ones."""
    chosen = _choose(project, config, checks)
    if not any(check.mode is Mode.REQUIRED for check in chosen.values()):
        raise UsageError(
            f"{project}: every check is informational, so that nothing could fail; "
            'give one of them mode = "required"'
        )
    derived = {name: mending_command(check.command) for name, check in chosen.items()}
    own = {name: check.fix for name, check in chosen.items() if check.fix}
    return FixRequest(
        project=str(project),
        checks=tuple(
            CommandCheck(name=name, command=c.command, mode=c.mode, timeout=c.timeout)
            for name, c in chosen.items()
        ),
        mending={**{name: fix for name, fix in derived.items() if fix}, **own},
        safe=tuple(name for name, fix in derived.items() if fix and name not in own),
        judges=tuple(
            pattern
            for check in chosen.values()
            for pattern in (*check.judges, *judges_of_command(check.command, project))
        ),
        order=config.fixers.order,
        agent=config.fixers.agent,
        policy=config.to_policy(),
        sandbox=config.sandbox.kind,
        pass_environment=config.sandbox.env,
        apply=apply,
    )


def _choose(project: Path, config: Config, named: Sequence[str]) -> dict[str, CheckConfig]:
    own = dict(config.checks)
    if not own:
        found = [detected.check for detected in detect_checks(project)]
        own = {check.name: CheckConfig(command=check.command) for check in found}
    if named:
        chosen: dict[str, CheckConfig] = {}
        for word in named:
            name, check = _named(word, own, project, taken=chosen)
            chosen[name] = check
        return chosen
    if not own:
        raise UsageError(
            f"no check was found in {project}: nothing there names a test framework, ruff or mypy, "
            'and there is no test file; name one with --check "COMMAND"'
        )
    return own


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
