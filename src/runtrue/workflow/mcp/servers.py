"""Servers: what is known of an MCP server before it is started, and what it is started with.

References to the environment stay as they are written until then: `${NAME}`, `${env.NAME}` and
`${NAME:-default}`, in the command, the arguments, the variables, the URL and the headers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

from runtrue.errors import UsageError
from runtrue.secrets import secret_of

_REFERENCE = re.compile(r"\$\{(?:env[.:])?([A-Za-z_]\w*)(?::-([^}]*))?\}")
#: Everybody's: a path that begins with one of these has to stay readable.
_NO_SECRETS = frozenset(
    {"HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "USER"}
)
#: A variable or a header of such a name holds a secret even where it is written out.
_SECRET_NAME = re.compile(r"key|token|secret|passw|credential|auth|cookie", re.IGNORECASE)


#: Whose a server is: the user's own, or a project's, which counts after a person agreed to it.
Origin: TypeAlias = Literal["user", "trusted", "untrusted"]


class ServerConfigError(UsageError):
    """A file that names servers is wrong, or a server cannot be had from it."""


class MissingVariables(ServerConfigError):
    """A server refers to variables that are not set: `names`."""

    def __init__(self, server: Server, names: tuple[str, ...]) -> None:
        self.names = names
        source = f" ({server.source})" if server.source else ""
        them = "which is not set: set it" if len(names) == 1 else "which are not set: set them"
        super().__init__(
            f"server {server.name!r}{source} needs {', '.join(names)} from the environment, "
            f"{them} and run again"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioServer:
    """A program that is spoken to over its standard streams. `source` is the file it is from."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    source: Path | None = None
    origin: Origin = "user"
    #: What a project's server may reach beyond its box: hosts as `host:port`, and paths.
    network: tuple[str, ...] = ()
    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the environment that it refers to."""
        return _named((self.command, *self.args, *self.env.values()))

    def resolve(self, environment: Mapping[str, str]) -> ResolvedServer:
        """Fill in what is taken from the environment. Raises MissingVariables."""
        expand = _Expansion(environment)
        server = replace(
            self,
            command=expand(self.command),
            args=tuple(expand(arg) for arg in self.args),
            env={name: expand(value, name) for name, value in self.env.items()},
        )
        return expand.finish(self, server)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpServer:
    """A server that is spoken to over Streamable HTTP. `source` is the file it is from."""

    name: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    source: Path | None = None
    origin: Origin = "user"

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the environment that it refers to."""
        return _named((self.url, *self.headers.values()))

    def resolve(self, environment: Mapping[str, str]) -> ResolvedServer:
        """Fill in what is taken from the environment. Raises MissingVariables."""
        expand = _Expansion(environment)
        server = replace(
            self,
            url=expand(self.url),
            headers={name: expand(value, name) for name, value in self.headers.items()},
        )
        return expand.finish(self, server)


Server: TypeAlias = StdioServer | HttpServer


@dataclass(frozen=True, slots=True)
class ResolvedServer:
    """A server as it is started, with all that must not be shown of it."""

    server: Server
    secrets: frozenset[str] = field(repr=False)


def _named(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the variables that texts refer to."""
    return _unique(found[1] for text in texts for found in _REFERENCE.finditer(text))


class _Expansion:
    """Expands the references of one server and keeps what turned out to be missing or secret."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._missing: list[str] = []
        self._secrets: set[str] = set()

    def __call__(self, text: str, name: str = "") -> str:
        """Expand the references in a text, which is the value of the variable or header `name`."""
        expanded = _REFERENCE.sub(self._value_of, text)
        if _SECRET_NAME.search(name) and not _REFERENCE.search(text):
            # Of `Bearer abc` also the second half: that alone is what may turn up elsewhere.
            self._secrets.update((expanded, *expanded.split()[-1:]))
        return expanded

    def _value_of(self, found: re.Match[str]) -> str:
        name, default = found[1], found[2]
        value = secret_of(name, self._environment)
        if default is not None and not value:
            return str(default)
        if value is None:
            self._missing.append(name)
            return ""
        if name not in _NO_SECRETS:
            self._secrets.add(value)
        return value

    def finish(self, origin: Server, server: Server) -> ResolvedServer:
        if self._missing:
            raise MissingVariables(origin, _unique(self._missing))
        return ResolvedServer(server, frozenset(self._secrets - {""}))


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
