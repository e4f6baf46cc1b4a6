"""`runtrue mcp`, and workflows that use the tools of servers nobody here wrote."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtrue.workflow.mcp import StdioServer
from tests.cli.conftest import Machine, write
from tests.cli.test_bad_input import one_sentence
from tests.workflow.mcp.support import MODULES, npm_server
from tests.workflow.mcp.test_real_servers import Everything
from tests.workflow.nodes.scripted_server import Received, ScriptedServer, response

#: Says what it was given, and ends.
DIES = "import os, sys; sys.exit('refused: ' + os.environ['API_TOKEN'])"


def configure(directory: Path, **servers: dict[str, Any]) -> None:
    (directory / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))


def stdio(server: StdioServer, *args: str) -> dict[str, Any]:
    """An entry of a project, whose server is confined: it has to be let at its own program."""
    own = str(MODULES.parent)
    return {"command": server.command, "args": [*server.args, *args], "read": [own]}


def test_a_server_is_added_asked_used_and_removed(machine: Machine, here: Path) -> None:
    nobody = machine.runtrue("mcp", "list")
    assert "add one with `runtrue mcp add NAME COMMAND`" in nobody.out
    added = machine.runtrue("mcp", "add", "time", "mcp-server-time", "--local-timezone", "UTC")
    assert (added.code, added.out) == (
        0,
        "time has 2 tools: `runtrue mcp tools time` shows them\n",
    )
    assert machine.runtrue("mcp", "list").out == "time  mcp-server-time --local-timezone UTC\n"
    assert "mcp-time-convert_time" in machine.runtrue("node", "list").out
    used = machine.runtrue(
        "node", "run", "mcp-time-get_current_time", "timezone=Asia/Kolkata", "--json", cwd=here
    )
    assert used.json["result"]["timezone"] == "Asia/Kolkata"
    wrong = machine.runtrue("node", "run", "mcp-time-get_current_time", "timezome=UTC")
    assert wrong.code == 2
    assert "did you mean 'timezone'?" in wrong.err
    assert machine.runtrue("mcp", "remove", "time").code == 0
    gone = machine.runtrue("mcp", "tools", "time", "--json")
    assert (gone.code, gone.json["status"]) == (2, "failed")
    assert "there is no MCP server 'time'; available: none" in gone.err


def test_tools_are_asked_of_the_server_and_not_of_memory(machine: Machine, here: Path) -> None:
    configure(here, time={"command": "mcp-server-time"})
    unasked = machine.runtrue("node", "list", cwd=here)
    assert "mcp-time" not in unasked.out
    assert "`runtrue mcp tools time` asks it" in unasked.err
    tools = machine.runtrue("mcp", "tools", "time", "--json", cwd=here).json["tools"]
    assert [tool["type"] for tool in tools] == [
        "mcp-time-get_current_time",
        "mcp-time-convert_time",
    ]
    assert tools[0]["input_schema"]["required"] == ["timezone"]
    write(here, {"w.yaml": "nodes: [{id: a, type: mcp-time-get_curent_time}]"})
    checked = machine.runtrue("workflow", "check", "w.yaml", cwd=here)
    assert checked.code == 1
    assert "did you mean 'mcp-time-get_current_time'?" in checked.out
    near = machine.runtrue("mcp", "tools", "tiem", cwd=here)
    assert near.code == 2
    assert "did you mean 'time'?" in one_sentence(near)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["x"], "say how to reach 'x'"),
        (["a/b", "true"], "'a/b' cannot be the name of a server"),
        (["x", "http://localhost/", "arg"], "not arguments or --env"),
        (["x", "true", "--header", "A=b"], "takes --env, not --header"),
        (["x", "true", "--env", "A"], "'A': write the variable as KEY=VALUE"),
        (["taken", "true"], "there is already a server 'taken'"),
    ],
)
def test_what_cannot_be_added_is_one_sentence(args: list[str], said: str, machine: Machine) -> None:
    file = machine.home / ".runtrue" / "mcp.json"
    file.parent.mkdir(mode=0o700)
    write(file.parent, {"mcp.json": '{"mcpServers": {"taken": {"command": "c"}}}'})
    before = file.read_bytes()
    done = machine.runtrue("mcp", "add", *args)
    assert done.code == 2
    assert said in one_sentence(done)
    assert file.read_bytes() == before


def test_a_broken_file_of_servers_is_told_with_its_place(machine: Machine, here: Path) -> None:
    (here / ".mcp.json").write_text('{"mcpServers": {\n"a": {"comand": "x"}}}')
    write(here, {"w.yaml": "nodes: [{id: a, type: mcp-a-b}]"})
    for args in (["mcp", "list"], ["workflow", "check", "w.yaml"], ["node", "list"]):
        done = machine.runtrue(*args, cwd=here)
        assert done.code == 2
        assert ".mcp.json:2: mcpServers.a: " in one_sentence(done)


class TestSilentServers:
    def test_one_that_cannot_be_started(self, machine: Machine, here: Path) -> None:
        command = ("mcp", "add", "nope", "/no/such/program", "--env", "LANG=C")
        done = machine.runtrue(*command)
        assert (done.code, done.out) == (1, "")
        assert "server 'nope' cannot be started: No such file" in done.err
        assert "no MCP servers" in machine.runtrue("mcp", "list").out, "it did not stay"
        assert machine.runtrue(*command, "--unasked").code == 0
        write(here, {"w.yaml": "nodes: [{id: a, type: mcp-nope-thing, params: {x: 1}}]"})
        # Nobody can say what tools it has, so that the run has to tell.
        run = machine.runtrue("run", "w.yaml", "--json", cwd=here)
        assert run.code == 1
        (finding,) = run.json["findings"]
        assert (finding["category"], finding["fault"]) == ("connection", "environment")
        alone = machine.runtrue("node", "run", "mcp-nope-thing", "x=1")
        assert alone.code == 1
        assert "cannot be started" in alone.err

    def test_one_that_dies_at_once_is_quoted_once(self, machine: Machine) -> None:
        command = (sys.executable, "-c", "import sys; sys.exit('no licence')")
        done = machine.runtrue("mcp", "add", "dies", *command)
        assert done.code == 1
        assert one_sentence(done) == (
            "runtrue: server 'dies' ended with exit code 1 before it was ready; "
            "it printed: no licence"
        )

    def test_one_that_is_not_reached(self, machine: Machine) -> None:
        done = machine.runtrue("mcp", "add", "web", "http://127.0.0.1:1/mcp", "--json")
        assert (done.code, done.json["status"]) == (1, "failed")
        assert "server 'web' could not be reached" in done.err


class TestSecrets:
    """What a server is given in variables and headers is shown by its name only."""

    def test_a_server_that_says_what_it_was_given(self, machine: Machine) -> None:
        env = {"OUTER": "planted-outer"}
        for value in ("planted-inner", "${OUTER}"):
            args = ("dies", sys.executable, "-c", DIES, "--env", f"API_TOKEN={value}", "--force")
            done = machine.runtrue("mcp", "add", *args, env=env)
            assert done.code == 1
            assert "it printed: refused: [redacted]" in done.err
            assert "planted" not in done.said

    @pytest.mark.parametrize("header", ["Authorization=Bearer planted", "X-A=a ${OUTER} b"])
    def test_a_server_that_answers_with_the_headers_it_was_sent(
        self, header: str, machine: Machine
    ) -> None:
        def refuse(request: Received) -> bytes:
            error = {"code": -32000, "message": f"no: {request.headers}"}
            reply = {"jsonrpc": "2.0", "id": json.loads(request.body).get("id"), "error": error}
            return response(json.dumps(reply), "Content-Type: application/json")

        with ScriptedServer(refuse) as server:
            args = ("add", "web", server.url, "--header", header)
            done = machine.runtrue("mcp", *args, env={"OUTER": "planted"})
        assert done.code == 1
        assert "answered with error -32000" in done.err
        assert "planted" in str(server.received[0].headers)
        assert "planted" not in done.said

    def test_variables_and_headers_are_listed_by_name(self, machine: Machine) -> None:
        servers = {
            "one": {"command": "c", "env": {"API_TOKEN": "planted-env"}},
            "two": {"url": "http://127.0.0.1:1/", "headers": {"Authorization": "planted-header"}},
        }
        folder = machine.home / ".runtrue"
        write(folder, {"mcp.json": json.dumps({"mcpServers": servers})})
        one, two = machine.runtrue("mcp", "list", "--json").json["servers"]
        assert (one["env"], two["headers"]) == (["API_TOKEN"], ["Authorization"])
        for args in (["list"], ["list", "--json"], ["tools", "two"]):
            assert "planted" not in machine.runtrue("mcp", *args).said

    def test_a_variable_that_is_not_set_is_asked_for(self, machine: Machine, here: Path) -> None:
        configure(here, time={"command": "mcp-server-time", "env": {"KEY": "${NOT_SET}"}})
        done = machine.runtrue("mcp", "tools", "time", cwd=here)
        assert done.code == 1
        assert "needs NOT_SET from the environment" in one_sentence(done)


@pytest.fixture
def repository(here: Path) -> Path:
    repo = here / "repo"
    repo.mkdir()
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    commit = [*identity, "commit", "-q", "--allow-empty", "-m", "the beginning"]
    for args in (["init", "-q"], commit):
        subprocess.run(["git", *args], cwd=repo, check=True)
    return repo


@pytest.fixture
def over_http(npm_servers: None, tmp_path: Path) -> Iterator[Everything]:
    running = Everything(npm_server("everything"), tmp_path / "log")
    running.start()
    yield running
    running.stop()


@pytest.mark.usefixtures("npm_servers", "repository")
def test_a_workflow_of_four_servers_over_stdio(machine: Machine, here: Path) -> None:
    configure(
        here,
        time={"command": "mcp-server-time"},
        git={"command": "mcp-server-git"},
        everything=stdio(npm_server("everything")),
        files={**stdio(npm_server("filesystem"), "."), "write": ["."]},
    )
    write(
        here,
        {
            "all.yaml": """
                inputs: {zone: {type: string}}
                nodes:
                  - id: when
                    type: mcp-time-convert_time
                    params: {source_timezone: UTC, time: "12:00", target_timezone: "${zone}"}
                  - {id: log, type: mcp-git-git_log, params: {repo_path: repo, max_count: 1}}
                  - {id: sum, type: mcp-everything-get-sum, params: {a: 2, b: 3}}
                  - id: sky
                    type: mcp-everything-get-structured-content
                    params: {location: Chicago}
                  - id: keep
                    type: mcp-files-write_file
                    params: {path: out.txt, content: "${when.target.timezone}: ${sum.result}"}
                outputs:
                  log: {source: log.result}
                  conditions: {source: sky.conditions}
            """
        },
    )
    done = machine.runtrue("run", "all.yaml", "zone=Asia/Kolkata", "--json", cwd=here)
    assert done.code == 0, done.said
    assert "the beginning" in str(done.json["result"]["log"])
    assert isinstance(done.json["result"]["conditions"], str)
    assert (here / "out.txt").read_text() == "Asia/Kolkata: The sum of 2 and 3 is 5."
    # What the servers said of their tools is kept: a field that none declares is found at once.
    bad = (here / "all.yaml").read_text().replace("sky.conditions", "sky.weather")
    (here / "bad.yaml").write_text(bad)
    checked = machine.runtrue("workflow", "check", "bad.yaml", cwd=here)
    assert checked.code == 1
    assert "node 'sky' has no output 'weather'" in checked.out


def test_a_workflow_over_streamable_http(
    machine: Machine, here: Path, over_http: Everything
) -> None:
    url = over_http.server.url
    assert machine.runtrue("mcp", "add", "everything", url, "--header", "X-Plain=1").code == 0
    write(
        here,
        {
            "w.yaml": """
                inputs: {word: {stdin: true}}
                nodes:
                  - {id: say, type: mcp-everything-echo, params: {message: "${word}"}}
                  - id: sums
                    type: mcp-everything-get-sum
                    batch: {items: [1, 2, 3], parallel: true}
                    params: {a: "${item}", b: 1}
                outputs:
                  said: {source: say.result}
                  last: {source: "${sums.results[2].result}"}
            """
        },
    )
    done = machine.runtrue("run", "w.yaml", cwd=here, stdin="höi")
    assert done.code == 0, done.said
    assert json.loads(done.out) == {"said": "Echo: höi", "last": "The sum of 3 and 1 is 4."}
    over_http.stop()
    down = machine.runtrue("run", "w.yaml", "word=x", "--json", cwd=here)
    assert down.code == 1
    (finding,) = down.json["findings"]
    assert (finding["category"], finding["fault"]) == ("connection", "environment")
