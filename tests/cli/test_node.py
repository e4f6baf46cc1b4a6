"""`runtrue node`: the types of nodes, shown and tried by themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Machine
from tests.cli.test_bad_input import one_sentence
from tests.workflow.nodes.scripted_server import ScriptedServer, response

BUILT_IN = [
    *("http", "shell", "python", "read-file", "write-file", "llm", "workflow"),
    *("filter", "pick", "sort", "take", "unique", "group", "calculate", "join", "pages"),
]


def test_all_types_are_listed_with_what_they_do(machine: Machine) -> None:
    done = machine.runtrue("node", "list")
    assert (done.code, done.err) == (0, "")
    rows = dict(line.split(maxsplit=1) for line in done.out.splitlines())
    assert list(rows) == BUILT_IN
    assert rows["read-file"] == "Read a text file."
    nodes = machine.runtrue("node", "list", "--json").json["nodes"]
    assert [node["type"] for node in nodes] == BUILT_IN
    shell = nodes[1]
    assert shell["params"]["required"] == ["command"]
    assert shell["outputs"]["exit_code"]["type"] == "integer or null"
    assert not machine.journal.exists()


def test_a_type_is_shown_with_its_params_and_outputs(machine: Machine) -> None:
    done = machine.runtrue("node", "show", "write-file")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[:4] == [
        "write-file",
        "  Write a file, whole or not at all. Missing directories are made.",
        "params",
        "  file_path (string, required): Path of the file, relative to the current directory; ~ is "
        "home",
    ]
    assert "  encoding (string, default utf-8): Encoding of the text" in lines
    assert "  written (boolean): Whether the content is in the file now" in lines
    as_data = machine.runtrue("node", "show", "workflow", "--json").json
    assert as_data["open_outputs"] is True


@pytest.mark.parametrize("command", ["show", "run"])
def test_an_unknown_type_is_answered_with_the_nearest(command: str, machine: Machine) -> None:
    done = machine.runtrue("node", command, "htpp")
    assert done.code == 2
    assert "there is no node type 'htpp'; did you mean 'http'?" in one_sentence(done)
    other = machine.runtrue("node", command, "mcp-time-now")
    assert other.code == 2
    assert "add one with `runtrue mcp add`" in one_sentence(other)


def test_params_are_read_by_their_types_and_what_is_left_out_has_its_default(
    machine: Machine, tmp_path: Path
) -> None:
    with ScriptedServer(response('{"a": 1}', "Content-Type: application/json")) as server:
        given = [
            f"url={server.url}/x",
            "method=put",
            'headers={"X-Number": 5}',
            "timeout=10",
            "retries=0",
            'body={"b": [true]}',
            'extract={"a": "$.a"}',
        ]
        done = machine.runtrue("node", "run", "http", *given, "--json")
    assert done.code == 0, done.said
    assert done.json["result"]["extracted"] == {"a": 1}
    (sent,) = server.received
    assert (sent.line, sent.headers["x-number"]) == ("PUT /x HTTP/1.1", "5")
    assert json.loads(sent.body) == {"b": [True]}


def test_the_result_goes_to_stdout_and_the_rest_to_stderr(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("two\nlines\n")
    done = machine.runtrue("node", "run", "read-file", "file_path=text", cwd=tmp_path)
    assert (done.code, done.out) == (0, "two\nlines\n")
    failed = machine.runtrue("node", "run", "read-file", "file_path=txt", cwd=tmp_path)
    assert (failed.code, failed.out) == (1, "")
    assert "did you mean 'text'?" in failed.err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["http"], ["http: /nodes/0/params: the param 'url' of 'http' is missing"]),
        (["shell", "comand=ls"], ["'command' of 'shell' is missing", "did you mean 'command'?"]),
        (["shell", "command=true", "timeout=soon"], ["'timeout' must be a number, not 'soon'"]),
        (["shell", "command=true", "timeout=-1"], ["/nodes/0/params/timeout: "]),
        (["shell", "true"], ["'true': write the param as KEY=VALUE"]),
        (["http", "url=http://x", "headers=[]"], ["'headers' must be an object"]),
    ],
)
def test_params_that_do_not_fit_are_told_before_anything_is_done(
    args: list[str], said: list[str], machine: Machine
) -> None:
    done = machine.runtrue("node", "run", *args)
    assert (done.code, done.out) == (2, "")
    assert [text for text in said if text not in done.err] == []
    assert "no runs" in machine.runtrue("runs", "list").out
