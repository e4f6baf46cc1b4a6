"""Sessions: the MCP servers of one run, each started when it is first used."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from runtrue.config import mcp_limits
from runtrue.documents import suggestion
from runtrue.workflow.mcp.servers import MissingVariables, Server
from runtrue.workflow.mcp.tools import Category, ToolError, ToolInfo, ToolResult

if TYPE_CHECKING:
    from runtrue.workflow.mcp.session import ServerSession

#: How long all servers together may take to end; then they are killed.
_CLOSE_SECONDS = 5.0
_LISTED = 20


class Sessions:
    """The sessions of one run, for use on one event loop; leaving or closing it ends them all.

    A server is started when it is first used, and again when it has died in between. A call during
    which it dies fails, and is not made again: it may have taken effect.
    """

    def __init__(
        self, servers: Mapping[str, Server], *, environment: Mapping[str, str] = os.environ
    ) -> None:
        self._servers = servers
        self._environment = environment
        self._sessions: dict[str, ServerSession] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False
        #: What must not be shown of the servers that were started so far.
        self.secrets: set[str] = set()

    async def __aenter__(self) -> Sessions:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def tools(
        self,
        server: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> list[ToolInfo]:
        """Return all tools of a server. Raises ToolError."""
        async with self._within(timeout or mcp_limits().start, server):
            session = await self._session(server)
            return list(session.tools.values())

    async def call(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout: float,  # noqa: ASYNC109 - what an error says of it needs the number
    ) -> ToolResult:
        """Call a tool. Raises ToolError; `timeout` is for all of it, starting included."""
        from runtrue.workflow.mcp.session import SessionLost

        async with self._within(timeout, server, tool):
            try:
                return await self._call(server, tool, arguments)
            except SessionLost:
                # It was refused without an effect, so that it can be repeated.
                return await self._call(server, tool, arguments)

    async def close(self) -> None:
        """End all servers, and all that they have started, within a few seconds."""
        self._is_closed = True
        for session in self._sessions.values():
            session.end()
        self._sessions.clear()
        tasks = list(self._tasks)
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=_CLOSE_SECONDS)
        finally:
            # Also when the wait is cancelled: then they have to hurry.
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)

    async def _call(self, server: str, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        session = await self._session(server)
        if tool not in session.tools:
            await session.refresh()
        if tool not in session.tools:
            what = f"server {server!r} has no tool {tool!r}"
            raise _unknown(what, "unknown_tool", tuple(session.tools), server, tool)
        return await session.call(session.tools[tool], arguments)

    async def _session(self, name: str) -> ServerSession:
        session = self._sessions.get(name)
        if session is None or not session.is_usable:
            if session is not None:
                session.retire()
            session = self._sessions[name] = self._start(name)
        await session.ready()
        return session

    def _start(self, name: str) -> ServerSession:
        from runtrue.workflow.mcp.session import ServerSession

        if self._is_closed:
            raise RuntimeError("the sessions of this run are closed")
        if name not in self._servers:
            what = f"there is no MCP server {name!r}"
            raise _unknown(what, "unknown_server", tuple(self._servers), name)
        if self._servers[name].origin == "untrusted":
            raise untrusted(self._servers[name])
        try:
            resolved = self._servers[name].resolve(self._environment)
        except MissingVariables as error:
            raise ToolError(
                str(error), category="credentials", server=name, attempted=error.names
            ) from error
        self.secrets |= resolved.secrets
        session = ServerSession(resolved.server)
        self._tasks.add(session.task)
        session.task.add_done_callback(self._tasks.discard)
        return session

    @asynccontextmanager
    async def _within(
        self, seconds: float, server: str, tool: str | None = None
    ) -> AsyncIterator[None]:
        """Turn a timeout into an error that says what was waited for."""
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError as error:
            session = self._sessions.get(server)
            is_ready = session is not None and session.is_ready
            what = f"answer a call of tool {tool!r}" if tool and is_ready else "start"
            raise ToolError(
                f"server {server!r} did not {what} within {seconds:g} s",
                category="timeout",
                server=server,
                tool=tool,
                transient=True,
                stderr=session.printed if session else "",
            ) from error


def untrusted(server: Server) -> ToolError:
    """Return the error of using a project's server that nobody agreed to."""
    return ToolError(
        f"server {server.name!r} of {server.source} is not trusted, so it was not started; "
        "`runtrue trust` shows what it would do and asks",
        category="untrusted",
        server=server.name,
    )


def _unknown(
    what: str, category: Category, names: tuple[str, ...], server: str, tool: str | None = None
) -> ToolError:
    name = tool or server
    listed = ", ".join(names[:_LISTED]) or "none"
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ToolError(
        f"{what}{suggestion(name, names)}; available: {listed}{more}",
        category=category,
        server=server,
        tool=tool,
        attempted=(name,),
        available=names,
    )
