"""The user's own settings: what nobody else may decide, wherever a project comes from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from runtrue.addresses import Allowed, Entry
from runtrue.config.plans import Seconds
from runtrue.config.sections import WorkflowsConfig
from runtrue.documents import KeyProblem, Source, read_data, read_toml
from runtrue.errors import ConfigError, HostError, UsageError
from runtrue.trust import users_home

ALLOW_LOOPBACK = "RUNTRUE_ALLOW_LOOPBACK"
#: Several are separated by commas.
ALLOW_PRIVATE = "RUNTRUE_ALLOW_PRIVATE"
#: A directory for large files of runs that many machines share.
SHARED_FILES = "RUNTRUE_FILES"
_BOOLEANS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_WORKFLOWS = WorkflowsConfig()


@dataclass(frozen=True, slots=True, kw_only=True)
class UserIsolation:
    """`[isolation]` in the user's own file."""

    #: Over what any project says, where it is stronger; `process` is for those that say nothing.
    minimum: Literal["process", "landlock", "bubblewrap"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class McpLimits:
    """`[mcp]` in the user's own file: what a server may take of the user's machine and time."""

    #: MiB of one answer.
    answer: Annotated[int, Meta(ge=1, le=4096)] = 32
    #: Seconds that a server may take to start and to list its tools.
    start: Seconds = 60.0
    #: Seconds that a call may take, the start of its server included.
    call: Seconds = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UserDatabase:
    """`[database]` in the user's own file: the journal that many machines share."""

    #: The URL of a PostgreSQL database. None: the journal is a file in the home.
    url: str | None = None
    #: A directory or bucket that the machines share, for large files. None: the database has them.
    files: str | None = None


_ISOLATION = UserIsolation()
_MCP = McpLimits()
_DATABASE = UserDatabase()


@dataclass(frozen=True, slots=True, kw_only=True)
class UserConfig:
    """The user's own `runtrue.toml`."""

    workflows: WorkflowsConfig = _WORKFLOWS
    isolation: UserIsolation = _ISOLATION
    mcp: McpLimits = _MCP
    database: UserDatabase = _DATABASE


def allowed_addresses() -> Allowed:
    """Return what the user lets workflows reach, from the environment or the user's own file.

    A project has no say. Raises UsageError when what is said makes no sense.
    """
    loopback = os.environ.get(ALLOW_LOOPBACK, "").strip().lower()
    listed = os.environ.get(ALLOW_PRIVATE, "")
    if loopback and loopback not in _BOOLEANS:
        raise UsageError(f"{ALLOW_LOOPBACK} is {loopback!r}; use 1 or 0")
    try:
        entries = tuple(Entry.parse(text) for text in listed.split(",") if text.strip())
    except ValueError as error:
        raise UsageError(f"{ALLOW_PRIVATE}: {error}") from None
    own = _read().workflows
    return Allowed(
        loopback=_BOOLEANS.get(loopback, own.allow_loopback),
        entries=entries or tuple(map(Entry.parse, own.allow_private)),
    )


def allowed_files() -> tuple[Path, ...]:
    """Return the files and directories that the user lets the file nodes of workflows reach."""
    return tuple(Path(text).expanduser() for text in _read().workflows.files)


def users_minimum() -> str | None:
    """Return the weakest isolation that the user accepts, if the user's own file says."""
    return _read().isolation.minimum


def mcp_limits() -> McpLimits:
    """Return what MCP servers may take, from the user's own file."""
    return _read().mcp


def users_database() -> str | None:
    """Return the URL of the database that holds the journal, from the user's own file."""
    return _read().database.url


def users_shared_files() -> str | None:
    """Return the directory or bucket for large files of runs, if the user names one."""
    return os.environ.get(SHARED_FILES) or _read().database.files


def _read() -> UserConfig:
    """Read `runtrue.toml` in `$RUNTRUE_HOME`, else in `~/.runtrue`.

    Not of the nearest `.runtrue`: that one may have come with the project.
    """
    try:
        file = users_home().absolute() / "runtrue.toml"
    except HostError:
        return UserConfig()
    if not os.path.lexists(file):
        return UserConfig()
    return read_data(Source(read_toml(file), ConfigError), UserConfig, problems=_problems)


def _problems(config: UserConfig) -> Iterator[KeyProblem]:
    for number, text in enumerate(config.workflows.allow_private):
        try:
            Entry.parse(text)
        except ValueError as error:
            yield ("workflows", "allow_private", number), str(error)
    for number, text in enumerate(config.workflows.files):
        if not text.startswith(("/", "~/")):
            problem = f"{text!r} is not an absolute path; start it with / or ~/"
            yield ("workflows", "files", number), problem
