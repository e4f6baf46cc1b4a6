"""The user's own settings: what nobody else may decide, wherever a project comes from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runtrue.addresses import Allowed, Entry
from runtrue.config.sections import WorkflowsConfig
from runtrue.documents import KeyProblem, Source, read_data, read_toml
from runtrue.errors import ConfigError, UsageError

ALLOW_LOOPBACK = "RUNTRUE_ALLOW_LOOPBACK"
#: Several are separated by commas.
ALLOW_PRIVATE = "RUNTRUE_ALLOW_PRIVATE"
_BOOLEANS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_WORKFLOWS = WorkflowsConfig()


@dataclass(frozen=True, slots=True, kw_only=True)
class UserConfig:
    """The user's own `runtrue.toml`."""

    workflows: WorkflowsConfig = _WORKFLOWS


def allowed_addresses() -> Allowed:
    """Return what the user lets workflows reach, from the environment or the user's own file.

    A project has no say. Raises UsageError when what is said makes no sense.
    """
    loopback = os.environ.get(ALLOW_LOOPBACK, "").strip().lower()
    listed = os.environ.get(ALLOW_PRIVATE, "")
    if loopback and loopback not in _BOOLEANS:
        raise UsageError(f"{ALLOW_LOOPBACK} is {loopback!r}; it is 1 or 0")
    try:
        entries = tuple(Entry.parse(text) for text in listed.split(",") if text.strip())
    except ValueError as error:
        raise UsageError(f"{ALLOW_PRIVATE}: {error}") from None
    own = _read()
    return Allowed(
        loopback=_BOOLEANS.get(loopback, own.allow_loopback),
        entries=entries or tuple(map(Entry.parse, own.allow_private)),
    )


def allowed_files() -> tuple[Path, ...]:
    """Return the files and directories that the user lets the file nodes of workflows reach."""
    return tuple(Path(text).expanduser() for text in _read().files)


def _read() -> WorkflowsConfig:
    """Read `[workflows]` of `runtrue.toml` in `$RUNTRUE_HOME`, else in `~/.runtrue`.

    Not of the nearest `.runtrue`: that one may have come with the project.
    """
    try:
        named = os.environ.get("RUNTRUE_HOME")
        home = Path(named).expanduser().absolute() if named else Path.home() / ".runtrue"
    except RuntimeError:
        return _WORKFLOWS
    file = home / "runtrue.toml"
    if not os.path.lexists(file):
        return _WORKFLOWS
    source = Source(read_toml(file), ConfigError)
    return read_data(source, UserConfig, problems=_problems).workflows


def _problems(config: UserConfig) -> Iterator[KeyProblem]:
    for number, text in enumerate(config.workflows.allow_private):
        try:
            Entry.parse(text)
        except ValueError as error:
            yield ("workflows", "allow_private", number), str(error)
    for number, text in enumerate(config.workflows.files):
        if not text.startswith(("/", "~/")):
            problem = f"{text!r} is no absolute path; begin it with / or ~/"
            yield ("workflows", "files", number), problem
