"""MCP: the servers that a user names, and calls of their tools. Imports the SDK late."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.workflow.mcp.catalog import Catalog
    from runtrue.workflow.mcp.files import (
        add_server,
        load_servers,
        must_be_free,
        remove_server,
        servers_request,
    )
    from runtrue.workflow.mcp.servers import (
        HttpServer,
        MissingVariables,
        ResolvedServer,
        Server,
        ServerConfigError,
        StdioServer,
    )
    from runtrue.workflow.mcp.sessions import Sessions, untrusted
    from runtrue.workflow.mcp.tools import (
        Category,
        ToolAnnotations,
        ToolError,
        ToolInfo,
        ToolResult,
    )

__all__ = lazy_exports(__name__)
