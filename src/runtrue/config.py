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
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from runtrue.errors import ConfigError
from runtrue.loop import (
    Backoff,
    CodeType,
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

#: What the loop itself judges by these names; no check can be told apart from them.
_GATES = ("coverage", "test_kinds", "security", "independence")

#: The kinds of tests that are known. Any other word is one of the project's own.
_TEST_KINDS = (
    *("happy_path", "edge_cases", "error_handling", "error_cases", "regression_test"),
    *("original_bug_reproduction", "existing_tests_pass", "integration_test", "validation_test"),
)

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

#: What the types are called to people who write TOML.
_TYPES = {
    "object": "a table",
    "array": "a list",
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "datetime": "a date with a time",
    "date": "a date",
    "time": "a time",
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
        path = (*prefix, "checks", name)
        env = check.get("env") if isinstance(check, dict) else None
        for variable, value in env.items() if isinstance(env, dict) else ():
            _convert(value, str, (*path, "env", variable), file, text)
        _convert(check, CheckConfig, path, file, text)
    config = _convert(_with_requirements(data), Config, prefix, file, text)
    for place, problem in _problems(config):
        raise _error(file, text, (*prefix, *place), problem)
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
        # What is in a list is called after the list.
        name = next((part for part in reversed(path) if not part.isdigit()), "")
        if name in _CHOICES and message.startswith("Invalid enum value"):
            choices = _CHOICES[name]
            word = message.partition("'")[2].rstrip("'")
            message += f"{_suggestion(word, choices)}; there are: {', '.join(choices)}"
        raise _error(file, text, path, _lower_first(_in_plain_words(message))) from error


def _in_plain_words(message: str) -> str:
    """A complaint about a type, with the types as people call them."""
    if message.startswith("Expected "):
        return re.sub(r"`(\w+)(?: \| null)?`", lambda t: _TYPES.get(t[1], t[0]), message)
    return re.sub("^Object missing", "table missing", message)


#: Where something is set, and what is wrong with it.
_Problem = tuple[tuple[str, ...], str]


def _problems(config: Config) -> Iterator[_Problem]:
    """What no type can tell: values that have the right one and still can never work."""
    for path, command in _commands(config):
        if problem := _unusable(command):
            yield path, problem
    for name, check in config.checks.items():
        yield from _problems_of_check(("checks", name), check)
    yield from _problems_of_order(config.fixers.order)
    yield from _problems_of_escalation(config.escalation)
    for code_type in CodeType:
        for word in config.coverage.of(code_type).required_tests:
            near = next((kind for kind in _TEST_KINDS if _is_one_edit(word, kind)), None)
            if near and word not in _TEST_KINDS:
                message = f"there is no kind of test {word!r} (did you mean {near!r}?)"
                yield ("coverage", code_type.value, "required_tests"), message


def _problems_of_check(path: tuple[str, ...], check: CheckConfig) -> Iterator[_Problem]:
    name = path[-1]
    if name in _GATES:
        message = f"a gate has this name; call the check something else, such as '{name}_check'"
        yield path, message
    for variable, value in check.env.items():
        if not variable or "=" in variable or "\0" in variable:
            message = "is no name of a variable: one is not empty, and holds no = or null character"
            yield (*path, "env", variable), message
        if "\0" in value:
            yield (*path, "env", variable), "a variable cannot hold a null character"
    place = (*path, "directory")
    if not check.directory.strip():
        yield place, "the directory is empty; the project itself is '.'"
    elif "\0" in check.directory:
        yield place, "the name of a directory cannot hold a null character"
    elif Path(check.directory).is_absolute():
        yield place, f"{check.directory!r} is absolute; name it as seen from the project"
    elif Path(os.path.normpath(check.directory)).parts[:1] == ("..",):
        yield place, f"{check.directory!r} is outside of the project; name one inside of it"


def _problems_of_order(order: tuple[str, ...]) -> Iterator[_Problem]:
    place = ("fixers", "order")
    for rung in order:
        if rung not in RUNGS:
            hint = _suggestion(rung, RUNGS)
            yield place, f"there is no fixer {rung!r}{hint}; the ladder has: {', '.join(RUNGS)}"
    for rung, count in Counter(order).items():
        if count > 1:
            yield place, f"{rung!r} is there {count} times; name each fixer once"


def _problems_of_escalation(escalation: EscalationConfig) -> Iterator[_Problem]:
    seen: set[Condition] = set()
    for number, trigger in enumerate(escalation.triggers or ()):
        if trigger.condition in seen:
            message = f"{trigger.condition.value!r} has a trigger already; keep one of them"
            yield ("escalation", "triggers", str(number), "condition"), message
        seen.add(trigger.condition)
    notification = escalation.notification
    needed = ("smtp_host", "email_from", "email_to")
    missing = [name for name in needed if not getattr(notification, name)]
    if notification.channel == "email" and missing:
        message = f"'email' needs {' and '.join(missing)} in [escalation.notification]"
        yield ("escalation", "notification", "channel"), message


def _commands(config: Config) -> Iterator[tuple[tuple[str, ...], str]]:
    """The commands that will be started, and where they are set."""
    for name, check in config.checks.items():
        yield ("checks", name, "command"), check.command
        if check.fix is not None:
            yield ("checks", name, "fix"), check.fix
    if config.fixers.agent.command is not None:
        yield ("fixers", "agent", "command"), config.fixers.agent.command
    if config.security.command is not None:
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
            for number, trigger in enumerate(value):
                _check_keys(trigger, Trigger, (*path, key, str(number)), file, text, prefix)
        elif dataclasses.is_dataclass(fields[key].default):
            below = type(fields[key].default)
            _check_keys(value, below, (*path, key), file, text, prefix)


def _error(file: Path, text: str, path: tuple[str, ...], message: str) -> ConfigError:
    key = ".".join(part or '""' for part in path)
    return ConfigError(f"{file}:{_line_of(text, path)}: {_printable(f'{key}: {message}')}")


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


#: A part of a key in TOML, and a whole one.
_PART = r"""(?:[\w-]+|"(?:\\.|[^"\\])*"|'[^']*')"""
_KEY = rf"\s*{_PART}(?:\s*\.\s*{_PART})*\s*"


def _line_of(text: str, path: tuple[str, ...]) -> int:
    """The line on which a key is set, or else the nearest table around it begins."""
    table: tuple[str, ...] = ()
    lists: Counter[tuple[str, ...]] = Counter()
    best, best_depth = 1, 0
    for number, line in enumerate(text.split("\n"), start=1):
        if header := re.match(rf"\s*\[(\[)?({_KEY})\]", line):
            table = here = _dotted(header[2])
            if header[1]:
                lists[here] += 1
                table = here = (*here, str(lists[here] - 1))
        elif key := re.match(rf"({_KEY})=", line):
            here = (*table, *_dotted(key[1]))
        else:
            continue
        depth = len(here)
        if here == path[:depth] and depth > best_depth:
            best, best_depth = number, depth
    return best


def _dotted(key: str) -> tuple[str, ...]:
    return tuple(_unquoted(part) for part in re.findall(_PART, key))


def _unquoted(part: str) -> str:
    if not part.startswith('"'):
        return part.strip("'")
    try:
        return str(tomllib.loads(f"key = {part}")["key"])
    except tomllib.TOMLDecodeError:  # a line inside of a text only looks like a key
        return part


def _suggestion(word: str, known: Any) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _is_one_edit(word: str, other: str) -> bool:
    """Whether one letter more, less or other, or two that are swapped, make a word another."""
    pairs = enumerate(zip(word, other, strict=False))
    start = next((n for n, (a, b) in pairs if a != b), min(len(word), len(other)))
    a, b = word[start:], other[start:]
    swapped = a[:2] == b[:2][::-1] and a[2:] == b[2:]
    return word != other and (a[1:] == b[1:] or a[1:] == b or a == b[1:] or swapped)


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
