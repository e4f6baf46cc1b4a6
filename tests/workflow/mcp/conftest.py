"""Fixtures of the tests of MCP."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtrue.workflow.mcp import StdioServer
from tests.workflow.mcp.support import MODULES, npm_server


def _installed(name: str) -> None:
    if not (MODULES / f"server-{name}").is_dir():
        pytest.fail("the npm servers are not installed: run scripts/setup-servers")


@pytest.fixture(scope="session")
def everything() -> StdioServer:
    """The reference server that has one of everything."""
    _installed("everything")
    return npm_server("everything")


@pytest.fixture
def files(tmp_path: Path) -> StdioServer:
    """The reference server for files, which may only touch `tmp_path`."""
    _installed("filesystem")
    return npm_server("filesystem", str(tmp_path))
