"""What the tests of MCP share: servers to talk to, and ways to do so."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest

from runtrue.workflow.mcp import Server, Sessions, StdioServer, ToolError, ToolResult

T = TypeVar("T")

BIN = Path(sys.executable).parent
MODULES = Path(__file__).parents[2] / "servers" / "node_modules" / "@modelcontextprotocol"
#: More than anything takes that ends at all.
SECONDS = 60.0


def tiny(manners: str = "decent", **options: Any) -> StdioServer:
    """A server that misbehaves in one way or another."""
    script = str(Path(__file__).with_name("tiny.py"))
    return StdioServer(
        name=manners, command=sys.executable, args=("-S", script, manners), **options
    )


def npm_server(name: str, *args: str) -> StdioServer:
    script = MODULES / f"server-{name}" / "dist" / "index.js"
    return StdioServer(name=name, command=str(BIN / "node"), args=(str(script), *args))


def pypi_server(name: str, *args: str) -> StdioServer:
    return StdioServer(name=name, command=str(BIN / f"mcp-server-{name}"), args=args)


def run(
    servers: Server | Mapping[str, Server],
    use: Callable[[Sessions], Awaitable[T]],
    environment: Mapping[str, str] | None = None,
) -> T:
    """Do something with the sessions of a run."""

    async def opened() -> T:
        known = servers if isinstance(servers, Mapping) else {servers.name: servers}
        async with Sessions(known, environment=environment or {}) as sessions:
            return await use(sessions)

    return asyncio.run(opened())


def call(
    server: Server, tool: str, arguments: dict[str, Any] | None = None, timeout: float = SECONDS
) -> ToolResult:
    """One call in a run of its own."""
    return run(server, lambda s: s.call(server.name, tool, arguments or {}, timeout=timeout))


def failure(
    server: Server, tool: str, arguments: dict[str, Any] | None = None, timeout: float = SECONDS
) -> ToolError:
    """The error of one call in a run of its own."""
    with pytest.raises(ToolError) as raised:
        call(server, tool, arguments, timeout)
    return raised.value


async def appears(file: Path) -> None:
    """Wait until another process has made a file: that is all it can tell us by."""
    async with asyncio.timeout(SECONDS):
        while not file.exists():  # noqa: ASYNC110, ASYNC240
            await asyncio.sleep(0.005)
