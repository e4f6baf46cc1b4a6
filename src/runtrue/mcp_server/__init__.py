"""The MCP server: runtrue's commands as tools for agents and editors.

`tools` lists them with their inputs, `command` runs the command line for a call, `question` puts
what a waiting run asks into words, `server` joins these to the protocol, `http` serves it with a
token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.mcp_server.http import serve_http
    from runtrue.mcp_server.server import serve_stdio
    from runtrue.mcp_server.service import Service

__all__ = lazy_exports(__name__)
