"""The files that name servers: read with their mistakes told, written without loss."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from runtrue.errors import HostError, UsageError
from runtrue.home import Home
from runtrue.workflow.mcp import (
    HttpServer,
    ServerConfigError,
    StdioServer,
    add_server,
    load_servers,
    remove_server,
)
from tests.trusting import trust


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def users_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RUNTRUE_HOME", str(tmp_path / "users"))
    return tmp_path / "users"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    directory.mkdir()
    return directory


def write(file: Path, servers: Any, **more: Any) -> Path:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"mcpServers": servers, **more}, indent=1))
    return file


class TestLoad:
    def test_no_file_means_no_servers(self, home: Home, project: Path) -> None:
        assert load_servers(home, project) == {}

    def test_both_kinds(self, home: Home, project: Path) -> None:
        file = write(
            project / ".mcp.json",
            {
                "time": {"command": "mcp-server-time", "args": ["-v"], "env": {"A": "${B}"}},
                "docs": {"type": "http", "url": "https://docs", "headers": {"X": "${KEY}"}},
                "bare": {"url": "https://bare"},
                "long": {"type": "streamable-http", "url": "https://long"},
            },
        )
        assert load_servers(home, project) == {
            "time": StdioServer(
                name="time",
                command="mcp-server-time",
                args=("-v",),
                env={"A": "${B}"},
                cwd=project,
                source=file,
                origin="untrusted",
            ),
            "docs": HttpServer(
                name="docs",
                url="https://docs",
                headers={"X": "${KEY}"},
                source=file,
                origin="untrusted",
            ),
            "bare": HttpServer(name="bare", url="https://bare", source=file, origin="untrusted"),
            "long": HttpServer(name="long", url="https://long", source=file, origin="untrusted"),
        }

    def test_the_nearest_project_wins_over_home_and_those_above_are_not_read(
        self, home: Home, project: Path, users_home: Path
    ) -> None:
        write(home.path / "mcp.json", {"a": {"command": "home"}, "b": {"command": "home"}})
        write(project.parent / ".mcp.json", {"c": {"command": "above"}})
        write(project / ".mcp.json", {"b": {"command": "project"}})
        assert load_servers(home, project)["b"].origin == "user", "nobody agreed to the project's"
        trust(project)
        servers = load_servers(home, project)
        assert {name: s.command for name, s in servers.items() if isinstance(s, StdioServer)} == {
            "a": "home",
            "b": "project",
        }
        assert set(load_servers(home, project.parent)) == {"a", "b", "c"}

    def test_a_project_is_found_from_below(self, home: Home, project: Path) -> None:
        write(project / ".mcp.json", {"a": {"command": "c"}})
        below = project / "x" / "y"
        below.mkdir(parents=True)
        assert set(load_servers(home, below)) == {"a"}

    def test_a_projects_server_runs_in_the_project_and_one_of_home_wherever_we_are(
        self, home: Home, project: Path
    ) -> None:
        write(home.path / "mcp.json", {"home": {"command": "c"}})
        entries = {"project": {"command": "c"}, "below": {"command": "c", "cwd": "below"}}
        write(project / ".mcp.json", entries)
        servers = load_servers(home, project)
        places = {name: s.cwd for name, s in servers.items() if isinstance(s, StdioServer)}
        assert places == {"home": None, "project": project, "below": project / "below"}

    def test_a_disabled_server_is_not_there_even_if_home_has_it(
        self, home: Home, project: Path
    ) -> None:
        write(home.path / "mcp.json", {"a": {"command": "c"}, "b": {"command": "c"}})
        write(project / ".mcp.json", {"a": {"command": "c", "disabled": True}})
        assert set(load_servers(home, project)) == {"b"}

    def test_what_other_tools_write_is_let_be(self, home: Home, project: Path) -> None:
        extra = {
            "type": "stdio",
            "disabled": False,
            "alwaysAllow": ["x"],
            "autoApprove": [],
            "timeout": 60,
            "description": "d",
        }
        write(project / ".mcp.json", {"a": {"command": "c", **extra}}, inputs=[])
        assert set(load_servers(home, project)) == {"a"}

    @pytest.mark.parametrize(
        ("servers", "problem"),
        [
            ({"a": {"comand": "c"}}, r":3: mcpServers\.a: must have either a 'command' or a 'url'"),
            ({"a": {"command": "c", "url": "u"}}, "must have either a 'command' or a 'url'"),
            (
                {"a": {"command": "c", "arg": []}},
                r":5: mcpServers\.a\.arg: unknown key \(did you mean 'args'\?\); known here: type,",
            ),
            ({"a": {"command": "c", "headers": {}}}, r"a\.headers: unknown key; known here: .*env"),
            ({"a": {"url": "u", "env": {}}}, r"a\.env: unknown key; known here: .*headers"),
            ({"a": {"command": 1}}, r"a\.command: must be a text"),
            ({"a": {"command": ""}}, r"a\.command: must be a text that is not empty"),
            ({"a": {"command": "c", "args": "x"}}, r"a\.args: must be a list of texts"),
            ({"a": {"command": "c", "args": ["x", 1]}}, r":7: mcpServers\.a\.args\.1: must be a"),
            ({"a": {"command": "c", "env": []}}, r"a\.env: must be an object of texts"),
            ({"a": {"command": "c", "env": {"P": 1}}}, r"a\.env\.P: must be a text"),
            ({"a": {"command": "c", "cwd": 1}}, r"a\.cwd: must be a text"),
            ({"a": {"url": "u", "type": "sse"}}, r"a\.type: the old transport 'sse' is not supp"),
            ({"a": {"url": "u", "type": "htp"}}, r"unknown type \(did you mean 'http'\?\)"),
            ({"a": {"url": "u", "type": 1}}, r"unknown type; available: stdio, http"),
            ({"a": {"url": "u", "type": "stdio"}}, r"a\.url: unknown key"),
            ({"a": {"type": "http"}}, r"a\.url: must be a text"),
            ({"a b": {"command": "c"}}, "cannot be the name of a server: it may hold letters"),
            ({"": {"command": "c"}}, "cannot be the name of a server"),
            ({"a": []}, r"mcpServers\.a: must be an object"),
            ([], "mcpServers: must be an object of servers"),
        ],
    )
    def test_a_mistake_is_told_with_its_place(
        self, servers: Any, problem: str, home: Home, project: Path
    ) -> None:
        file = write(project / ".mcp.json", servers)
        with pytest.raises(ServerConfigError, match=problem) as raised:
            load_servers(home, project)
        assert str(raised.value).startswith(f"{file}:")

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ('{\n"mcpServers": {,}}', r"\.mcp\.json:2:16: "),
            ("[]", "must be an object with the key 'mcpServers'"),
            ('{"mcpServer": {}}', r":1: mcpServer: unknown key \(did you mean 'mcpServers'\?\)"),
        ],
    )
    def test_so_is_a_file_that_is_something_else(
        self, text: str, problem: str, home: Home, project: Path
    ) -> None:
        (project / ".mcp.json").write_text(text)
        with pytest.raises(ServerConfigError, match=problem):
            load_servers(home, project)

    def test_a_directory_in_its_place_is_a_mistake(self, home: Home) -> None:
        (home.path / "mcp.json").mkdir(parents=True)
        with pytest.raises(UsageError, match="is a directory"):
            load_servers(home, home.path)


class TestWrite:
    @pytest.mark.parametrize(
        "server",
        [
            StdioServer(name="s", command="c"),
            StdioServer(
                name="s", command="c", args=("x", "${Y}"), env={"A": "ü"}, cwd=Path("/somewhere")
            ),
            HttpServer(name="s", url="https://u"),
            HttpServer(name="s", url="https://u", headers={"A": "${B}"}),
        ],
    )
    def test_what_is_written_is_what_is_read(
        self, server: StdioServer | HttpServer, home: Home, tmp_path: Path
    ) -> None:
        file = add_server(home, "s", server)
        (loaded,) = load_servers(home, tmp_path).values()
        expected = {name: getattr(server, name) for name in server.__slots__} | {"source": file}
        assert {name: getattr(loaded, name) for name in loaded.__slots__} == expected

    def test_everything_else_in_the_file_stays(self, home: Home) -> None:
        file = write(home.path / "mcp.json", {"a": {"command": "c", "timeout": 3}}, inputs=[1])
        add_server(home, "b", HttpServer(name="b", url="u"))
        remove_server(home, "a")
        add_server(home, "a", StdioServer(name="a", command="new"))
        assert json.loads(file.read_text()) == {
            "mcpServers": {
                "b": {"type": "http", "url": "u"},
                "a": {"command": "new", "args": []},
            },
            "inputs": [1],
        }

    def test_only_the_owner_may_read_it_and_nothing_is_left_beside(self, home: Home) -> None:
        file = write(home.path / "mcp.json", {})
        file.chmod(0o644)
        add_server(home, "s", StdioServer(name="s", command="c"))
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert list(home.path.iterdir()) == [file]

    def test_a_link_stays_a_link(self, home: Home, tmp_path: Path) -> None:
        real = write(tmp_path / "dotfiles.json", {})
        home.path.mkdir()
        (home.path / "mcp.json").symlink_to(real)
        add_server(home, "s", StdioServer(name="s", command="c"))
        assert (home.path / "mcp.json").is_symlink()
        assert set(json.loads(real.read_text())["mcpServers"]) == {"s"}

    def test_a_name_is_taken_once_unless_it_is_replaced(self, home: Home, tmp_path: Path) -> None:
        add_server(home, "s", StdioServer(name="s", command="old"))
        new = StdioServer(name="s", command="new")
        with pytest.raises(ServerConfigError, match="already a server 's'"):
            add_server(home, "s", new)
        add_server(home, "s", new, replace=True)
        (loaded,) = load_servers(home, tmp_path).values()
        assert isinstance(loaded, StdioServer)
        assert loaded.command == "new"

    def test_a_name_must_be_one(self, home: Home) -> None:
        with pytest.raises(ServerConfigError, match="'a b' cannot be the name of a server"):
            add_server(home, "a b", StdioServer(name="a b", command="c"))
        assert not home.path.exists()

    def test_only_what_is_there_can_be_removed(self, home: Home) -> None:
        add_server(home, "time", StdioServer(name="time", command="c"))
        with pytest.raises(ServerConfigError, match=r"no server 'tome' \(did you mean 'time'\?\)"):
            remove_server(home, "tome")

    def test_a_broken_file_is_not_overwritten(self, home: Home) -> None:
        home.path.mkdir()
        file = home.path / "mcp.json"
        file.write_text("{")
        with pytest.raises(ServerConfigError):
            add_server(home, "s", StdioServer(name="s", command="c"))
        assert file.read_text() == "{"

    def test_a_place_that_cannot_be_written_is_told(self, home: Home) -> None:
        home.path.parent.mkdir(exist_ok=True)
        home.path.write_text("a file")
        with pytest.raises(HostError, match="cannot be written"):
            add_server(home, "s", StdioServer(name="s", command="c"))
