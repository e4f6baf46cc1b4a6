"""The files that name MCP servers, in the form that other tools read and write as well.

{"mcpServers": {"time": {"command": "mcp-server-time", "args": []},
                "docs": {"type": "http", "url": "https://…", "headers": {}}}}
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from runtrue.atomic_file import private_directory, write_atomically
from runtrue.config import is_route
from runtrue.documents import (
    Document,
    DocumentError,
    Source,
    closest,
    dump_document,
    read_document,
    suggestion,
    unknown_key,
)
from runtrue.errors import HostError
from runtrue.home import Home
from runtrue.trust import Agreements, TrustRequest, why_not_own
from runtrue.workflow.mcp.servers import (
    HttpServer,
    Origin,
    Server,
    ServerConfigError,
    StdioServer,
)

_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_STDIO_KEYS = ("command", "args", "env", "cwd", "network", "read", "write")
_HTTP_KEYS = ("url", "headers")
#: What other tools write for themselves.
_FOREIGN_KEYS = ("alwaysAllow", "autoApprove", "description", "timeout")
_HTTP_TYPES = ("http", "streamable-http", "streamableHttp")


def load_servers(home: Home, start: Path) -> dict[str, Server]:
    """Return the servers of `mcp.json` at home, overridden by those of the nearest `.mcp.json`.

    A project's servers that nobody agreed to are there to be listed, and override none.
    """
    own = _file_of(home)
    # Also when it is something else than a file: then it is a mistake, not an absence.
    servers = _servers_in(_read(own), own, None, "user") if os.path.lexists(own) else {}
    shared = _shared_file(start)
    if shared is None:
        return servers
    document = _read(shared)
    is_trusted = Agreements.of_user().covers(_request(shared, document))
    brought = _servers_in(document, shared, shared.parent, "trusted" if is_trusted else "untrusted")
    disabled = _entries_of(document).keys() - brought.keys()
    servers = {name: one for name, one in servers.items() if name not in disabled}
    return {**servers, **brought} if is_trusted else {**brought, **servers}


def servers_request(start: Path) -> TrustRequest | None:
    """Return what the nearest `.mcp.json` asks for; None if there is none, or no server in it."""
    shared = _shared_file(start)
    if shared is None:
        return None
    request = _request(shared, _read(shared))
    return request if request.items else None


def _shared_file(start: Path) -> Path | None:
    """Return the nearest `.mcp.json`; above `start`, one that somebody else put there is none."""
    for directory in (start, *start.parents):
        shared = directory / ".mcp.json"
        if os.path.lexists(shared) and (directory == start or why_not_own(shared) is None):
            return shared
    return None


def _request(file: Path, document: Document) -> TrustRequest:
    servers = _servers_in(document, file, file.parent, "untrusted").values()
    return TrustRequest.of(file, document.text, map(_in_words, servers))


def _in_words(server: Server) -> str:
    """Return what a project's server would be started or reached as, with the variables it gets."""
    if isinstance(server, HttpServer):
        what = f"sends to the MCP server {server.name}: {server.url}"
        more = [f"headers {', '.join(server.headers)}"] if server.headers else []
    else:
        line = shlex.join([server.command, *server.args])
        what = f"starts the MCP server {server.name}: {line}"
        more = [f"sets {', '.join(server.env)}"] if server.env else []
        for verb, reach in (
            ("connects to", server.network),
            ("reads", server.read),
            ("writes", server.write),
        ):
            more += [f"{verb} {', '.join(map(str, reach))}"] if reach else []
    if names := server.variables:
        more.append(f"gets {', '.join(names)} of your environment")
    return "; ".join([what, *more])


def add_server(home: Home, name: str, server: Server, *, replace: bool = False) -> Path:
    """Write a server into the file at home, and return the file."""
    file = must_be_free(home, name, replace=replace)
    data, entries = _entries(file)
    entries[name] = _entry(server)
    _write(file, data)
    return file


def must_be_free(home: Home, name: str, *, replace: bool = False) -> Path:
    """Return the file at home that a server of this name can be added to. Raises UsageError."""
    file = _file_of(home)
    if not _NAME.fullmatch(name):
        raise ServerConfigError(f"{name!r} cannot be the name of a server: {_NAME_RULE}")
    if name in _entries(file)[1] and not replace:
        raise ServerConfigError(f"{file}: there is already a server {name!r}")
    return file


def remove_server(home: Home, name: str) -> Path:
    """Remove a server from the file at home, and return the file."""
    file = _file_of(home)
    data, entries = _entries(file)
    if name not in entries:
        hint = suggestion(name, entries)
        raise ServerConfigError(f"{file}: there is no server {name!r}{hint}")
    del entries[name]
    _write(file, data)
    return file


def _file_of(home: Home) -> Path:
    return home.path / "mcp.json"


# -- reading ------------------------------------------------------------------------------------

_NAME_RULE = "it may hold letters, digits, '_', '.' and '-'"


def _servers_in(
    document: Document, file: Path, directory: Path | None, origin: Origin
) -> dict[str, Server]:
    """Return the servers of a file; `directory` is where they run by default."""
    servers: dict[str, Server] = {}
    for name in _entries_of(document):
        source = Source(document, ServerConfigError, ("mcpServers", name))
        if server := _Entry(source, name, file, directory, origin).server():
            servers[name] = server
    return servers


def _read(file: Path) -> Document:
    try:
        return read_document(file)
    except DocumentError as error:
        raise ServerConfigError(str(error)) from error


def _entries_of(document: Document) -> dict[str, Any]:
    source, data = Source(document, ServerConfigError), document.data
    if not isinstance(data, dict):
        raise source.error((), "must be an object with the key 'mcpServers'")
    servers = data.get("mcpServers", {})
    if not isinstance(servers, dict):
        raise source.error(("mcpServers",), "must be an object of servers by their names")
    if "mcpServers" not in data and (misspelled := closest("mcpServers", data)):
        raise source.error((misspelled,), "unknown key (did you mean 'mcpServers'?)")
    return servers


class _Entry:
    """One server in a file, on its way to typed data."""

    def __init__(
        self, source: Source, name: str, file: Path, directory: Path | None, origin: Origin
    ) -> None:
        self._error = source.error
        self._name = name
        self._file = file
        self._directory = directory
        self._origin: Origin = origin
        self._data = source.data

    def server(self) -> Server | None:
        """Return the server, or None if it is disabled."""
        if not _NAME.fullmatch(self._name):
            raise self._error((), f"this cannot be the name of a server: {_NAME_RULE}")
        if not isinstance(self._data, dict):
            raise self._error((), "must be an object")
        if self._data.get("disabled") is True:
            return None
        return self._http() if self._is_http() else self._stdio()

    def _is_http(self) -> bool:
        declared = self._data.get("type")
        known = ("stdio", *_HTTP_TYPES)
        if declared == "sse":
            raise self._error(
                ("type",),
                "the old transport 'sse' is not supported; most such servers also speak 'http'",
            )
        if declared is not None and declared not in known:
            hint = suggestion(declared, known) if isinstance(declared, str) else ""
            raise self._error(("type",), f"unknown type{hint}; available: {', '.join(known[:3])}")
        if declared is None and ("command" in self._data) == ("url" in self._data):
            raise self._error((), "must have either a 'command' or a 'url'")
        return declared in _HTTP_TYPES or (declared is None and "url" in self._data)

    def _stdio(self) -> StdioServer:
        self._check_keys(_STDIO_KEYS)
        cwd = self._data.get("cwd")
        if cwd is not None:
            cwd = self._file.parent / Path(self._text("cwd")).expanduser()
        return StdioServer(
            name=self._name,
            command=self._text("command"),
            args=self._texts("args"),
            env=self._table("env"),
            cwd=cwd or self._directory,
            source=self._file,
            origin=self._origin,
            network=self._routes(),
            read=self._paths("read"),
            write=self._paths("write"),
        )

    def _http(self) -> HttpServer:
        self._check_keys(_HTTP_KEYS)
        return HttpServer(
            name=self._name,
            url=self._text("url"),
            headers=self._table("headers"),
            source=self._file,
            origin=self._origin,
        )

    def _check_keys(self, own: tuple[str, ...]) -> None:
        known = ("type", "disabled", *own)
        for key in self._data:
            if key not in known and key not in _FOREIGN_KEYS:
                raise self._error((key,), unknown_key(key, known))

    def _text(self, key: str) -> str:
        value = self._data.get(key)
        if not isinstance(value, str) or not value:
            raise self._error((key,), "must be a text that is not empty")
        return value

    def _texts(self, key: str) -> tuple[str, ...]:
        value = self._data.get(key, [])
        if not isinstance(value, list):
            raise self._error((key,), "must be a list of texts")
        self._check_items(key, enumerate(value))
        return tuple(value)

    def _paths(self, key: str) -> tuple[Path, ...]:
        return tuple(self._file.parent / Path(text).expanduser() for text in self._texts(key))

    def _routes(self) -> tuple[str, ...]:
        routes = self._texts("network")
        for number, route in enumerate(routes):
            if not is_route(route):
                raise self._error(("network", number), f"{route!r} is not a host:port")
        return routes

    def _table(self, key: str) -> dict[str, str]:
        value = self._data.get(key, {})
        if not isinstance(value, dict):
            raise self._error((key,), "must be an object of texts")
        self._check_items(key, value.items())
        return value

    def _check_items(self, key: str, items: Iterable[tuple[str | int, Any]]) -> None:
        for part, item in items:
            if not isinstance(item, str):
                raise self._error((key, part), "must be a text")


# -- writing ------------------------------------------------------------------------------------


def _entries(file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a file's data, and the servers within it; new ones where there is no file."""
    if not os.path.lexists(file):
        data: dict[str, Any] = {"mcpServers": {}}
        return data, data["mcpServers"]
    document = _read(file)
    entries = _entries_of(document)
    document.data["mcpServers"] = entries
    return document.data, entries


def _entry(server: Server) -> Mapping[str, Any]:
    entry: dict[str, Any]
    if isinstance(server, StdioServer):
        entry = {"command": server.command, "args": list(server.args)}
        optional: dict[str, Any] = {"env": dict(server.env), "cwd": server.cwd and str(server.cwd)}
    else:
        entry = {"type": "http", "url": server.url}
        optional = {"headers": dict(server.headers)}
    return entry | {key: value for key, value in optional.items() if value}


def _write(file: Path, data: Mapping[str, Any]) -> None:
    # A link to a file in another directory stays one.
    file = file.resolve()
    content = dump_document(data, "json").encode()
    try:
        private_directory(file.parent)
        write_atomically(file, content)
    except OSError as error:
        raise HostError(f"{file} cannot be written: {error.strerror}") from error
