"""Configuration: `runtrue.toml`, or `[tool.runtrue]` in `pyproject.toml`, as typed data.

Every mistake is one sentence with file, line and key, and with what would have been right.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from runtrue.errors import ConfigError
from runtrue.loop import (
    Backoff,
    Condition,
    Item,
    Limits,
    Mode,
    Notification,
    Policy,
    Requirements,
    Response,
    Trigger,
)

#: All rungs of the ladder, cheapest first. `human` is only climbed to when it is asked for.
RUNGS = ("memory", "tool", "search", "model", "agent", "human")

_CHOICES: dict[str, list[str]] = {
    "mode": [mode.value for mode in Mode],
    "kind": ["worktree", "copy"],
    "backoff": [backoff.value for backoff in Backoff],
    "condition": [condition.value for condition in Condition],
    "action": [response.value for response in Response],
    "include_in_report": [item.value for item in Item],
    "channel": ["cli", "issue_comment", "slack", "email"],
    "smtp_encryption": ["starttls", "tls", "none"],
    "severity": ["low", "medium", "high"],
}

_T = TypeVar("_T")

Seconds = Annotated[float, Meta(gt=0, le=86_400)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckConfig:
    """`[checks.NAME]`."""

    command: Annotated[str, Meta(min_length=1)]
    mode: Mode = Mode.REQUIRED
    timeout: Seconds = 300.0
    #: The command that mends what this check finds, for the `tool` fixer.
    fix: str | None = None
    #: Further files, as patterns, that judge the candidate and are put back before each verdict.
    judges: tuple[str, ...] = ()
    #: Variables that the command gets, over those of the sandbox.
    env: dict[str, str] = field(default_factory=dict)
    #: Where it is run, as seen from the project.
    directory: str = "."
    #: Stop at the first test that fails.
    fail_fast: bool = False
    #: Have the failures told in full.
    verbose: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """`[fixers.agent]`: any command line; gets a prompt, edits files."""

    command: str | None = None
    timeout: Seconds = 900.0
    #: Variables of the user's environment that the agent gets to see, its key for one.
    env: tuple[str, ...] = ()
    #: It acts outside of the sandbox: after a crash inside it, it is not fired again unasked.
    once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FixersConfig:
    """`[fixers]`: the ladder."""

    order: tuple[str, ...] = RUNGS[:-1]
    agent: AgentConfig = AgentConfig()


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxConfig:
    """`[sandbox]`."""

    kind: Literal["worktree", "copy"] | None = None
    #: Further variables of the user's environment that checks and fixers get to see.
    env: tuple[str, ...] = ()


_NOTIFICATION = Notification()


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationConfig:
    """`[escalation]`: when to turn to somebody else, and how they are told."""

    #: None: those that the loop has by itself.
    triggers: tuple[Trigger, ...] | None = None
    notification: Notification = _NOTIFICATION


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityConfig:
    """`[security]`: the scanner of what was changed."""

    #: `{files}` in it are the changed files; it prints SARIF, or JSON as bandit does.
    command: str | None = None
    severity: Literal["low", "medium", "high"] = "medium"


Days = Annotated[int, Meta(ge=1, le=36_500)]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryConfig:
    """`[memory]`: for how many days failures and fixes are kept."""

    days: Days = 30
    #: Those that something was learned from.
    learning_days: Days = 60
    #: Those that were escalated.
    escalated_days: Days = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class GateConfig:
    """`[gate]`."""

    #: Whether `--skip REASON` is heard.
    allow_skip: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RalphConfig:
    """`[ralph]`: how a run takes part in a loop around it."""

    require_passing_tests: bool = True
    #: Keep a file of the debug memory for each iteration.
    persist_per_iteration: bool = True
    #: Tell the generator what earlier iterations learned.
    cross_iteration_learning: bool = True
    #: Count the rate of passing tests as progress, with this weight.
    include_test_pass_rate: bool = True
    weight: Annotated[float, Meta(ge=0, le=1)] = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """`[model]`."""

    #: `provider:name`; RUNTRUE_MODEL overrides it.
    name: str | None = None


_LIMITS = Limits()
_REQUIREMENTS = Requirements()


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that can be configured, with the defaults filled in."""

    checks: dict[str, CheckConfig] = field(default_factory=dict)
    fixers: FixersConfig = FixersConfig()
    policy: Limits = _LIMITS
    sandbox: SandboxConfig = SandboxConfig()
    model: ModelConfig = ModelConfig()
    coverage: Requirements = _REQUIREMENTS
    escalation: EscalationConfig = EscalationConfig()
    security: SecurityConfig = SecurityConfig()
    memory: MemoryConfig = MemoryConfig()
    gate: GateConfig = GateConfig()
    ralph: RalphConfig = RalphConfig()

    def to_policy(self, triggers: tuple[Trigger, ...] = ()) -> Policy:
        """The loop's policy; a ladder that ends at a person asks before it gives up.

        `triggers` are those of the loop, for a configuration that has none of its own.
        """
        own = self.escalation.triggers
        return Policy(
            **{f.name: getattr(self.policy, f.name) for f in dataclasses.fields(self.policy)},
            ask_human="human" in self.fixers.order,
            triggers=triggers if own is None else own,
            rungs=self.fixers.order,
        )


def load_config(project: Path) -> Config:
    """The configuration of the project in a directory; defaults where it has none."""
    own = project / "runtrue.toml"
    # Also when it is something else than a file: then it is a mistake, not an absence.
    if os.path.lexists(own):
        return _read(own, prefix=())
    shared = project / "pyproject.toml"
    return _read(shared, prefix=("tool", "runtrue")) if shared.is_file() else Config()


def _read(file: Path, prefix: tuple[str, ...]) -> Config:
    text, data = _parse(file)
    for part in prefix:
        data = data.get(part, {}) if isinstance(data, dict) else {}
    _check_keys(data, Config, (), file, text, prefix)
    checks = data.get("checks") if isinstance(data, dict) else None
    for name, check in checks.items() if isinstance(checks, dict) else ():
        # Each by itself: an error in the whole does not say in which of them it is.
        _convert(check, CheckConfig, (*prefix, "checks", name), file, text)
    config = _convert(_with_requirements(data), Config, prefix, file, text)
    for path, command in _commands(config):
        if problem := _unusable(command):
            raise _error(file, text, (*prefix, *path), problem)
    for rung in config.fixers.order:
        if rung not in RUNGS:
            hint = _suggestion(rung, RUNGS)
            message = f"there is no fixer {rung!r}{hint}; the ladder has: {', '.join(RUNGS)}"
            raise _error(file, text, (*prefix, "fixers", "order"), message)
    return config


def _with_requirements(data: Any) -> Any:
    """What is set of a requirement leaves the rest of it as it is by default."""
    coverage = data.get("coverage") if isinstance(data, dict) else None
    if not isinstance(coverage, dict):
        return data
    defaults = msgspec.to_builtins(_REQUIREMENTS)
    filled = {
        name: {**defaults.get(name, {}), **table} if isinstance(table, dict) else table
        for name, table in coverage.items()
    }
    return {**data, "coverage": filled}


def _parse(file: Path) -> tuple[str, Any]:
    """The file's text and data.

    A broken pyproject.toml is refused as well: it might hold our settings, and going on without
    them would be a guess.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
    try:
        text = content.decode()
        return text, tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{file}:{line}: is not text in UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        message, _, place = str(error).rpartition(" (at ")
        at = re.match(r"line (\d+), column \d+\)", place)
        line = int(at[1]) if at else content.rstrip().count(b"\n") + 1
        raise ConfigError(f"{file}:{line}: {_lower_first(message)}") from error
    except RecursionError as error:
        raise ConfigError(f"{file}: cannot be read: it is nested too deeply") from error


def _convert(data: Any, kind: type[_T], path: tuple[str, ...], file: Path, text: str) -> _T:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$")
        path = (*path, *re.findall(r"[\w-]+", place))
        if path[-1] in _CHOICES and message.startswith("Invalid enum value"):
            choices = _CHOICES[path[-1]]
            word = message.partition("'")[2].rstrip("'")
            message += f"{_suggestion(word, choices)}; there are: {', '.join(choices)}"
        raise _error(file, text, path, _lower_first(message)) from error


def _commands(config: Config) -> Iterator[tuple[tuple[str, ...], str]]:
    """The commands that will be started, and where they are set."""
    for name, check in config.checks.items():
        yield ("checks", name, "command"), check.command
    if config.fixers.agent.command:
        yield ("fixers", "agent", "command"), config.fixers.agent.command
    if config.security.command:
        yield ("security", "command"), config.security.command


def _unusable(command: str) -> str | None:
    """Why a command can never be started, if so."""
    if "\0" in command:
        return "a command cannot hold a null character"
    try:
        words = shlex.split(command)
    except ValueError as error:
        return f"the command cannot be read: {_lower_first(str(error))}"
    return None if words else "the command is empty"


def _check_keys(
    data: Any, kind: Any, path: tuple[str, ...], file: Path, text: str, prefix: tuple[str, ...]
) -> None:
    """Refuse keys that nothing reads, here and in the tables below."""
    if not isinstance(data, dict):
        return
    fields = {f.name: f for f in dataclasses.fields(kind)}
    for key, value in data.items():
        if key not in fields:
            hint = _suggestion(key, fields)
            message = f"unknown key{hint}; known here: {', '.join(fields)}"
            raise _error(file, text, (*prefix, *path, key), message)
        if kind is Config and key == "checks" and isinstance(value, dict):
            for name, check in value.items():
                _check_keys(check, CheckConfig, (*path, key, name), file, text, prefix)
        elif kind is EscalationConfig and key == "triggers" and isinstance(value, list):
            for trigger in value:
                _check_keys(trigger, Trigger, (*path, key), file, text, prefix)
        elif dataclasses.is_dataclass(fields[key].default):
            below = type(fields[key].default)
            _check_keys(value, below, (*path, key), file, text, prefix)


def _error(file: Path, text: str, path: tuple[str, ...], message: str) -> ConfigError:
    return ConfigError(f"{file}:{_line_of(text, path)}: {'.'.join(path)}: {message}")


#: A part of a key in TOML, and a whole one.
_PART = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_KEY = rf"\s*{_PART}(?:\s*\.\s*{_PART})*\s*"


def _line_of(text: str, path: tuple[str, ...]) -> int:
    """The line on which a key is set, or else the nearest table around it begins."""
    table: tuple[str, ...] = ()
    best, best_depth = 1, 0
    for number, line in enumerate(text.split("\n"), start=1):
        if header := re.match(rf"\s*\[\[?({_KEY})\]", line):
            table = here = _dotted(header[1])
        elif key := re.match(rf"({_KEY})=", line):
            here = (*table, *_dotted(key[1]))
        else:
            continue
        depth = len(here)
        if here == path[:depth] and depth > best_depth:
            best, best_depth = number, depth
    return best


def _dotted(key: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_PART, key))


def _suggestion(word: str, known: Any) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
