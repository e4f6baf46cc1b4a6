"""The catalog: servers are asked side by side, and a broken one costs others nothing."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from runtrue.home import Home
from runtrue.workflow.mcp import Catalog, StdioServer
from tests.workflow.mcp.support import tiny


def _started_after(own: Path, other: Path) -> StdioServer:
    """A server that begins only when another one has been started, too."""
    decent = tiny()
    command = shlex.join([decent.command, *decent.args])
    wait = f"touch {own}; while [ ! -e {other} ]; do sleep 0.02; done; exec {command}"
    return replace(decent, name=own.name, command="sh", args=("-c", wait))


def test_servers_that_are_new_are_asked_side_by_side(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    servers = {"one": _started_after(one, other), "other": _started_after(other, one)}
    catalog = Catalog(Home(tmp_path / "home"), servers)
    # Named, so that they have the time of any start: asked one by one, neither would answer.
    assert catalog.browse("ask one and the other") == ()
    assert catalog.tools("one")
    assert catalog.tools("other")


def test_a_broken_server_is_noted_and_not_started_again_unless_named(tmp_path: Path) -> None:
    log = tmp_path / "starts"
    broken = StdioServer(name="broken", command="sh", args=("-c", f"echo >> {log}; exit 1"))
    servers = {"broken": broken, "decent": tiny()}
    home = Home(tmp_path / "home")
    assert Catalog(home, servers).browse("fetch a page") == ("broken",)
    started = log.read_text()
    assert Catalog(home, servers).tools("decent"), "one that works is known all the same"
    assert Catalog(home, servers).browse("fetch a page") == ("broken",)
    assert log.read_text() == started
    Catalog(home, servers).browse("use the broken server")
    assert len(log.read_text()) > len(started)
