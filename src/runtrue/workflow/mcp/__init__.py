"""MCP: the servers that a user names, and calls of their tools. Imports the SDK late."""

from runtrue.workflow.mcp.catalog import Catalog
from runtrue.workflow.mcp.files import add_server, load_servers, remove_server
from runtrue.workflow.mcp.servers import (
    HttpServer,
    MissingVariables,
    ResolvedServer,
    Server,
    ServerConfigError,
    StdioServer,
)
from runtrue.workflow.mcp.sessions import Sessions
from runtrue.workflow.mcp.tools import (
    Category,
    ToolAnnotations,
    ToolError,
    ToolInfo,
    ToolResult,
)

__all__ = [
    "Catalog",
    "Category",
    "HttpServer",
    "MissingVariables",
    "ResolvedServer",
    "Server",
    "ServerConfigError",
    "Sessions",
    "StdioServer",
    "ToolAnnotations",
    "ToolError",
    "ToolInfo",
    "ToolResult",
    "add_server",
    "load_servers",
    "remove_server",
]
