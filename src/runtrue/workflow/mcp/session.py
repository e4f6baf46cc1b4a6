"""A session: one server, started and asked for its tools. Imports the SDK: import late.

A session lives in a task of its own, since the SDK's scopes must be left in the task that entered
them. Any task may call through it, several at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from mcp import Client, MCPError
from mcp.types import (
    CONNECTION_CLOSED,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    InputRequiredResult,
    PaginatedRequestParams,
    Tool,
)
from pydantic import TypeAdapter, ValidationError

from runtrue import __version__
from runtrue.loop import Fault, fault_of_status
from runtrue.workflow.mcp.http import HttpConnection, HttpFailure
from runtrue.workflow.mcp.results import ToolAnswer, ToolRefusal, result_of, shorten, status_in
from runtrue.workflow.mcp.servers import Server, StdioServer
from runtrue.workflow.mcp.stdio import StdioConnection
from runtrue.workflow.mcp.tools import (
    Category,
    ToolAnnotations,
    ToolError,
    ToolInfo,
    ToolResult,
)

# The SDK logs what it also raises; unhandled, that would be printed to our terminal.
for _name in ("mcp", "client"):
    logging.getLogger(_name).addHandler(logging.NullHandler())

_Reply = CallToolResult | InputRequiredResult
_REPLY: TypeAdapter[_Reply] = TypeAdapter(_Reply)
_CLIENT = Implementation(name="runtrue", version=__version__)
#: A server that ends during the first way of greeting may be one that knows only the second.
_MODES = ("auto", "legacy")
#: How long a server that has ended the connection may take to end altogether.
_DEATH_SECONDS = 5.0


class SessionLost(ToolError):
    """The server did not know the session any more, and has done nothing; another may be had."""


class ServerSession:
    """One session with one server. Give it up with `end`; `task` is done when it is all over."""

    def __init__(self, server: Server) -> None:
        self.tools: dict[str, ToolInfo] = {}
        self._server = server
        self._is_given_up = False
        self._calls = 0
        self._settled = asyncio.Event()
        self._client: Client | None = None
        self._error: Exception | None = None
        self._connect()
        self.task = asyncio.create_task(self._live(), name=f"mcp-{server.name}")

    @property
    def is_ready(self) -> bool:
        """True once the server has started."""
        return self._client is not None

    @property
    def is_usable(self) -> bool:
        """True if calls can be made, or can be as soon as it is ready."""
        if self.task.done() or self._is_given_up:
            return False
        return not self.is_ready or (not self._over.is_set() and self._connection.alive)

    @property
    def printed(self) -> str:
        """The end of what the server printed."""
        return self._connection.printed

    def retire(self) -> None:
        """Have it ended as soon as no call goes through it any more."""
        self._is_given_up = True
        if not self._calls:
            self.end()

    def end(self) -> None:
        """Have it ended, with its server."""
        self._is_given_up = True
        if self.is_ready:
            self._over.set()
        else:
            self.task.cancel()

    async def ready(self) -> None:
        """Wait until it is started. Raises ToolError when it could not be."""
        await self._settled.wait()
        if self._error is not None:
            raise self._failure(self._error)

    async def refresh(self) -> None:
        """Ask for the tools again: a server may offer others than at first."""
        try:
            self.tools = await self._list_tools(self._connected)
        except (MCPError, ValidationError) as error:
            raise self._failure(error) from error

    async def call(self, tool: ToolInfo, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool. Raises ToolError, or SessionLost when a new session may be tried."""
        self._calls += 1
        try:
            return result_of(tool, arguments, await self._ask(tool, arguments))
        finally:
            self._calls -= 1
            if self._is_given_up:
                self.retire()

    async def _ask(self, tool: ToolInfo, arguments: Mapping[str, Any]) -> ToolAnswer | ToolRefusal:
        broken = self._connection.broken
        params = CallToolRequestParams(name=tool.name, arguments=dict(arguments))
        try:
            # Not the SDK's own `call_tool`: that drops an answer which is not as declared.
            reply = await self._connected.session.send_request(
                CallToolRequest(params=params), _REPLY
            )
        except ValidationError as error:
            raise self._failure(error, tool) from error
        except MCPError as error:
            failure = HttpFailure.behind(error.data)
            if self._connection.violation:
                raise self._failure(error, tool) from error
            if failure is not None and failure.session_lost:
                self._is_given_up = True
                raise SessionLost(
                    f"server {self._server.name!r} does not know its own session",
                    category="http_status",
                    server=self._server.name,
                    tool=tool.name,
                    code=failure.status,
                ) from error
            if failure is not None and not failure.broke_off:
                raise self._failure(error, tool) from error
            # The code alone is not enough: servers use it for errors of their own too.
            is_over = self._over.is_set() or self._connection.broken > broken
            if failure is not None or (is_over and error.code == CONNECTION_CLOSED):
                raise await self._death(tool) from error
            return ToolRefusal(code=error.code, text=error.message, status=status_in(error.data))
        if isinstance(reply, InputRequiredResult):
            what = f"asks for more input to tool {tool.name!r}, which a workflow cannot give"
            raise self._error_of("protocol", what, tool)
        return _answer_of(reply)

    @property
    def _connected(self) -> Client:
        if self._client is None:
            raise RuntimeError("a session is called through after it is ready")
        return self._client

    def _connect(self) -> None:
        self._over = asyncio.Event()
        self._connection: StdioConnection | HttpConnection
        if isinstance(self._server, StdioServer):
            self._connection = StdioConnection(self._server, self._over)
        else:
            self._connection = HttpConnection(self._server)

    async def _live(self) -> None:
        try:
            for mode in _MODES:
                self._connect()
                error = await self._run(mode)
                if self.is_ready:
                    return
                self._error = error
                if not (self._connection.died or self._connection.violation):
                    return
        finally:
            if not self.is_ready and self._error is None:
                self._error = ConnectionAbortedError("it was given up before it was ready")
            self._over.set()
            self._settled.set()

    async def _run(self, mode: str) -> Exception | None:
        try:
            async with Client(
                self._connection.open(), mode=mode, cache=None, client_info=_CLIENT
            ) as client:
                self.tools = await self._list_tools(client)
                self._client, self._error = client, None
                self._settled.set()
                await self._over.wait()
        except Exception as error:  # of any type: what a server does is not in our hands
            return _innermost(error)
        return None

    async def _list_tools(self, client: Client) -> dict[str, ToolInfo]:
        tools: dict[str, ToolInfo] = {}
        cursor: str | None = None
        seen: set[str] = set()
        while True:
            params = PaginatedRequestParams(cursor=cursor)
            page = await client.session.list_tools(params=params)
            tools |= {tool.name: _info_of(self._server.name, tool) for tool in page.tools}
            cursor = page.next_cursor
            # A server that leads in circles would never let go.
            if cursor is None or cursor in seen:
                return tools
            seen.add(cursor)

    async def _death(self, tool: ToolInfo) -> ToolError:
        """Return the error of a call during which the server ended."""
        if self._over.is_set():
            await asyncio.wait([self.task], timeout=_DEATH_SECONDS)
        end = self._connection.end
        what = f"{end} during a call of tool {tool.name!r}, which may have taken effect"
        return self._error_of("server_died", what + self._quoted(), tool, transient=True)

    def _failure(self, error: Exception, tool: ToolInfo | None = None) -> ToolError:
        """Return the error of a server that could not be started, reached or understood."""
        if violation := self._connection.violation:
            return self._error_of("protocol", violation, tool)
        failure = HttpFailure.behind(error.data) if isinstance(error, MCPError) else None
        if failure is not None and failure.status is not None:
            return self._refusal(failure.status, str(error), tool)
        if failure is not None and failure.refused is not None:
            what = f"may not be reached: {error}"
            return self._error_of("refused_address", what, tool, attempted=(failure.refused,))
        if failure is not None:
            what = f"could not be reached: {shorten(str(error))}"
            return self._error_of("connection", what, tool, transient=True)
        if self._connection.died:
            when = "" if self.is_ready else " before it was ready"
            what = f"{self._connection.end}{when}{self._quoted()}{self._confined()}"
            return self._error_of("connection", what, tool)
        if isinstance(error, MCPError):
            what = f"answered with error {error.code}: {shorten(error.message)}"
            return self._error_of("protocol", what, tool, code=error.code)
        if isinstance(error, ValidationError | RuntimeError):
            what = f"breaks the protocol: {shorten(str(error))}"
            return self._error_of("protocol", what, tool)
        file = f": {error.filename}" if isinstance(error, OSError) and error.filename else ""
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return self._error_of("connection", f"cannot be started: {why}{file}", tool)

    def _refusal(self, status: int, said: str, tool: ToolInfo | None) -> ToolError:
        fault = fault_of_status(status)
        is_auth = fault is Fault.CREDENTIALS
        hint = "; check the 'headers' that it is given" if is_auth else ""
        return self._error_of(
            "auth" if is_auth else "http_status",
            f"answered with HTTP status {status}: {shorten(said)}{hint}",
            tool,
            code=status,
            transient=fault is Fault.ENVIRONMENT,
        )

    def _error_of(
        self, category: Category, what: str, tool: ToolInfo | None, **details: Any
    ) -> ToolError:
        return ToolError(
            f"server {self._server.name!r} {what}",
            category=category,
            server=self._server.name,
            tool=tool.name if tool else None,
            stderr=self.printed,
            **details,
        )

    def _confined(self) -> str:
        if self._server.origin == "user":
            return ""
        return (
            f'; it runs confined: "network", "read" and "write" of its entry in '
            f"{self._server.source} say what it reaches"
        )

    def _quoted(self) -> str:
        lines = self.printed.splitlines()
        return f"; it printed: {shorten(lines[-1])}" if lines else ""


def _innermost(error: Exception) -> Exception:
    """Unwrap the first error from the groups that the SDK's task groups raise."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def _info_of(server: str, tool: Tool) -> ToolInfo:
    hints = tool.annotations
    return ToolInfo(
        server=server,
        name=tool.name,
        description=tool.description or "",
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=ToolAnnotations(
            read_only=hints.read_only_hint if hints else None,
            destructive=hints.destructive_hint if hints else None,
            idempotent=hints.idempotent_hint if hints else None,
        ),
    )


def _answer_of(reply: CallToolResult) -> ToolAnswer:
    dump = reply.model_dump(mode="json", by_alias=True, exclude_none=True, include={"content"})
    return ToolAnswer(
        blocks=tuple(dump["content"]),
        structured=reply.structured_content,
        has_structured="structured_content" in reply.model_fields_set,
        is_error=reply.is_error,
    )
