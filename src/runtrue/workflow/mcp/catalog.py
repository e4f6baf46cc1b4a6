"""The catalog: what tools the servers have, kept in files so that a check need not ask again."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec

from runtrue.atomic_file import private_directory, write_atomically
from runtrue.home import Home
from runtrue.typed_data import decode_json
from runtrue.workflow.event_loop import run_to_end
from runtrue.workflow.mcp.servers import Server
from runtrue.workflow.mcp.sessions import Sessions
from runtrue.workflow.mcp.tools import ToolError, ToolInfo
from runtrue.workflow.secrets import SecretRedactor

#: Seconds for a server that nothing is known of and that the task does not name.
_BROWSE_SECONDS = 3.0


class _Listing(msgspec.Struct):
    """The tools of a server, and which definition of the server they are from.

    One that did not answer has none, and says why.
    """

    server: str
    tools: list[ToolInfo]
    silent: str = ""


class Catalog:
    """The tools of all configured servers."""

    def __init__(
        self, home: Home, servers: Mapping[str, Server], *, only_looks: bool = False
    ) -> None:
        """`only_looks`: nothing of a project is started, trusted or not."""
        self._only_looks = only_looks
        self._folder = home.path / "mcp-tools"
        self._servers = servers
        self._known: dict[str, dict[str, ToolInfo]] = {}
        self._silent: set[str] = set()

    def split(self, name: str) -> list[tuple[str, str]]:
        """Return the servers and tools that a type may mean: both may contain dashes."""
        rest = name.removeprefix("mcp-")
        found = [(s, rest[len(s) + 1 :]) for s in self._servers if rest.startswith(f"{s}-")]
        return sorted(found, key=lambda pair: -len(pair[0]))

    def tool(self, server: str, name: str) -> ToolInfo | None:
        """Return a tool; the server is asked if its listing does not have it."""
        tools = self.tools(server)
        if tools is not None and name not in tools and server not in self._silent:
            tools = self._asked(server)
        return tools.get(name) if tools else None

    def tools(self, server: str) -> dict[str, ToolInfo] | None:
        """Return the tools of a server; None if it cannot be asked."""
        if server not in self._known:
            kept = self._read(server)
            if kept is None:
                return None if server in self._silent else self._asked(server)
            self._known[server] = kept
        return self._known[server]

    def browse(self, task: str) -> tuple[str, ...]:
        """Ask the servers that were never asked, and return those whose tools are not known.

        They are asked side by side, for a short time each, or as long as any server may take to
        start if the task names it. One that did not answer once is not waited for again, unless
        the task names it.
        """
        limits: dict[str, float | None] = {}
        for server in self._servers:
            is_named = server.lower() in task.lower()
            if not is_named and (listing := self._listing(server)) and listing.silent:
                self._silent.add(server)
            is_known = server in self._known or self._read(server) is not None
            if not is_known and server not in self._silent and self._may_ask(server):
                limits[server] = None if is_named else _BROWSE_SECONDS
        self._ask_all(limits)
        return tuple(server for server in self._servers if self.tools(server) is None)

    def known_types(self) -> list[str]:
        """Return the node types of all tools that are known without starting a server."""
        return [
            f"mcp-{server}-{tool}"
            for server in self._servers
            for tool in self._known.get(server) or self._read(server) or ()
        ]

    def refresh(self, server: str) -> dict[str, ToolInfo]:
        """Ask a server for its tools now. Raises ToolError."""

        async def ask() -> list[ToolInfo]:
            async with Sessions(self._servers) as sessions:
                try:
                    return await sessions.tools(server)
                except ToolError as error:
                    redact = SecretRedactor(sessions.secrets).redact
                    error.message, error.stderr = redact(error.message), redact(error.stderr)
                    raise

        tools = {tool.name: tool for tool in run_to_end(ask())}
        self._known[server] = tools
        self._write(server, tools)
        return tools

    def _ask_all(self, limits: Mapping[str, float | None]) -> None:
        """Ask servers side by side, each within its limit; None is that of any start."""

        async def ask() -> list[list[ToolInfo] | ToolError]:
            async with Sessions(self._servers) as sessions:
                return await asyncio.gather(
                    *(_tools_or_error(sessions, server, limits[server]) for server in limits)
                )

        answers = run_to_end(ask()) if limits else []
        for server, answer in zip(limits, answers, strict=True):
            if isinstance(answer, ToolError):
                self._silent.add(server)
                self._write(server, {}, silent=answer.message)
            else:
                self._known[server] = {tool.name: tool for tool in answer}
                self._write(server, self._known[server])

    def _may_ask(self, server: str) -> bool:
        origin = self._servers[server].origin
        return origin != "untrusted" and not (self._only_looks and origin != "user")

    def _asked(self, server: str) -> dict[str, ToolInfo] | None:
        # Once is enough: a second question would be answered as the first.
        self._silent.add(server)
        if not self._may_ask(server):
            return self._known.get(server)
        try:
            return self.refresh(server)
        except ToolError as error:
            if server not in self._known and self._read(server) is None:
                self._write(server, {}, silent=error.message)
            return self._known.get(server)

    def _read(self, server: str) -> dict[str, ToolInfo] | None:
        listing = self._listing(server)
        if listing is None or listing.silent:
            return None
        return {tool.name: tool for tool in listing.tools}

    def _listing(self, server: str) -> _Listing | None:
        with suppress(OSError, msgspec.MsgspecError):
            listing = decode_json(self._file(server).read_bytes(), _Listing)
            if listing.server == self._digest(server):
                return listing
        return None

    def _write(self, server: str, tools: Mapping[str, ToolInfo], silent: str = "") -> None:
        listing = _Listing(self._digest(server), list(tools.values()), silent)
        # A listing that cannot be kept is asked for again.
        with suppress(OSError):
            private_directory(self._folder)
            write_atomically(self._file(server), msgspec.json.encode(listing))

    def _file(self, server: str) -> Path:
        return self._folder / f"{server}.json"

    def _digest(self, server: str) -> str:
        # What a server offers does not depend on who agreed to it.
        defined = replace(self._servers[server], origin="user")
        return hashlib.sha256(repr(defined).encode()).hexdigest()


async def _tools_or_error(
    sessions: Sessions, server: str, seconds: float | None
) -> list[ToolInfo] | ToolError:
    try:
        return await sessions.tools(server, timeout=seconds)
    except ToolError as error:
        redact = SecretRedactor(sessions.secrets).redact
        error.message, error.stderr = redact(error.message), redact(error.stderr)
        return error
