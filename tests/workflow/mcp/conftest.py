"""Fixtures of the tests of MCP."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtrue.workflow.mcp import StdioServer
from tests.workflow.mcp.support import npm_server


@pytest.fixture(scope="session")
def everything(npm_servers: None) -> StdioServer:
    """The reference server that has one of everything."""
    return npm_server("everything")


@pytest.fixture
def files(npm_servers: None, tmp_path: Path) -> StdioServer:
    """The reference server for files, which may only touch `tmp_path`."""
    return npm_server("filesystem", str(tmp_path))
