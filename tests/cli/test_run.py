"""`runtrue run`: what goes in, what comes out, and what is said when it cannot be run."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Done, Machine, content, write
from tests.cli.test_bad_input import one_sentence
from tests.cli.test_terminal import Terminal

#: Gives back its inputs, as they arrived.
GREET = {
    "greet.yaml": """
        inputs:
          name: {description: Who is greeted, type: string}
          times: {description: How often, type: integer}
          loud: {type: boolean, default: false}
          ratio: {type: number, default: 0.5}
          tags: {type: array, default: []}
          data: {type: object, required: false}
          free: {required: false}
          text: {stdin: true, required: false}
        nodes:
          - id: greet
            type: python
            params:
              code: return [name, times, loud, ratio, tags, data, free, text]
              inputs: {name: "${name}", times: "${times}", loud: "${loud}", ratio: "${ratio}",
                       tags: "${tags}", data: "${data}", free: "${free}", text: "${text}"}
        outputs:
          all: {source: greet.result}
    """
}
#: Gives back what it is given, without starting anything.
GIVE = {
    "give.yaml": """
        inputs: {value: {}}
        nodes:
          - {id: give, type: workflow, params: {param_mapping: {value: "${value}"}, workflow_ir: {
              inputs: {value: {}}, nodes: [{id: a, type: shell, params: {command: "true"}}],
              outputs: {value: {source: value}}}}}
    """
}
FAILS = {
    "fails.yaml": """
        nodes:
          - {id: first, type: shell, params: {command: echo one >> log}}
          - {id: second, type: shell, params: {command: "echo oops >&2; exit 3"}}
          - {id: third, type: shell, params: {command: echo three >> log}}
    """
}
#: Everything that can be wrong with a workflow, in the order of its lines.
INVALID = {
    "invalid.yaml": """
        nodes:
          - {id: touch, type: shell, params: {command: touch fired}}
          - id: fetch
            type: htpp
            params: {url: "http://localhost"}
          - id: shout
            type: shell
            params: {comand: ls, command: "echo ${touch.stdot} ${nobody.x}"}
          - id: shout
            type: write-file
            params: {file_path: "x${"}
        edges:
          - {from: touch, to: fetch}
          - {from: fetch, to: shuot}
        outputs:
          it: {source: nothing.here}
    """
}


# -- inputs -------------------------------------------------------------------------------------


def test_inputs_are_read_by_the_types_that_are_declared(machine: Machine, here: Path) -> None:
    write(here, GREET)
    given = ["name=007", "times=3", "loud=yes", "ratio=2.50", 'tags=["ä", null]', 'data={"a": 1}']
    done = machine.runtrue("run", "greet.yaml", *given, "free=a=b ${name}", "--json", cwd=here)
    assert done.json["result"]["all"] == [
        *("007", 3, True, 2.5, ["ä", None], {"a": 1}),
        *("a=b ${name}", None),
    ]
    bare = machine.runtrue("run", "greet.yaml", "name=", "times=0", "free=[1]", "--json", cwd=here)
    assert bare.json["result"]["all"] == ["", 0, False, 0.5, [], None, [1], None]


def test_everything_that_is_wrong_with_the_inputs_is_told_at_once(
    machine: Machine, here: Path
) -> None:
    write(here, GREET)
    done = machine.runtrue("run", "greet.yaml", "tiems=3", "loud=maybe", "data=[1", cwd=here)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        "runtrue: input 'name' is missing (a string: Who is greeted)",
        "input 'times' is missing (an integer: How often)",
        "there is no input 'tiems' (did you mean 'times'?); available: "
        "name, times, loud, ratio, tags, data, free, text",
        "input 'loud' must be true or false, not 'maybe'",
        "input 'data' must be an object in JSON, such as {\"a\": 1}, not '[1'; it is not valid "
        "JSON: expecting ',' delimiter at line 1, column 3",
    ]
    assert "no runs" in machine.runtrue("runs", "list").out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["text"], "'text': write the input as KEY=VALUE"),
        (["=text"], "'=text': write the input as KEY=VALUE"),
        (["name=a", "name=b"], "the input 'name' is given twice"),
        (["--", "--name"], "'--name': write the input as KEY=VALUE"),
        (["name=\udcff", "times=1"], "input 'name' must be a string"),
        (["name=a", "times=--1"], "input 'times' must be an integer, not '--1'"),
    ],
)
def test_what_is_no_input_is_one_sentence(
    args: list[str], said: str, machine: Machine, here: Path
) -> None:
    write(here, GREET)
    done = machine.runtrue("run", "greet.yaml", *args, cwd=here)
    assert done.code == 2
    assert said in one_sentence(done)


def test_what_is_piped_in_goes_to_the_input_that_asks_for_it(machine: Machine, here: Path) -> None:
    write(here, GREET)

    def text(*args: str, stdin: str) -> Any:
        line = ("run", "greet.yaml", "name=x", "times=1", "--json", *args)
        return machine.runtrue(*line, cwd=here, stdin=stdin).json["result"]["all"][-1]

    assert text(stdin="zwölf\nlines\n") == "zwölf\nlines\n"
    assert text(stdin="") is None
    assert text("text=given", stdin="piped") == "given"


def test_stdin_may_be_closed_or_no_text_or_never_end(machine: Machine, here: Path) -> None:
    write(here, GREET | GIVE)
    line = shlex.join(machine.argv("run", "greet.yaml", "name=x", "times=1"))

    def shell(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", command],
            cwd=here,
            env=machine.env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert shell(f"{line} <&-").returncode == 0
    binary = shell(f"printf '\\377' | {line}")
    assert binary.returncode == 2
    assert binary.stderr == "runtrue: standard input is not UTF-8 text\n"
    # Who does not ask for stdin does not wait for it either.
    reading, writing = os.pipe()
    unasked = subprocess.run(
        machine.argv("run", "give.yaml", "value=x"),
        cwd=here,
        env=machine.env,
        stdin=reading,
        stdout=subprocess.PIPE,
        timeout=60,
        check=True,
    )
    os.close(reading)
    os.close(writing)
    assert unasked.stdout == b"x\n"


# -- results ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        ("plain téxt", "plain téxt\n"),
        ("two\nlines\n", "two\nlines\n"),
        ("", "\n"),
        ('{"a": [1, null], "é": true}', '{\n  "a": [\n    1,\n    null\n  ],\n  "é": true\n}\n'),
        ('[{"a": "[bold]x"}]', '[\n  {\n    "a": "[bold]x"\n  }\n]\n'),
        ("[]", "[]\n"),
    ],
)
def test_one_output_is_printed_by_itself_and_all_else_goes_to_stderr(
    given: str, printed: str, machine: Machine, here: Path
) -> None:
    write(here, GIVE)
    done = machine.runtrue("run", "give.yaml", f"value={given}", cwd=here)
    assert (done.code, done.out) == (0, printed)
    assert "passed: 1 of 1 nodes finished" in done.err
    assert "\x1b" not in done.said


def test_several_outputs_go_into_a_pipe_as_one_object(machine: Machine, here: Path) -> None:
    write(here, {"a.yaml": 'nodes: [{id: a, type: shell, params: {command: "echo hi; exit 0"}}]'})
    done = machine.runtrue("run", "a.yaml", cwd=here)
    assert json.loads(done.out)["stdout"] == "hi"
    assert json.loads(done.out)["exit_code"] == 0


def test_the_reader_of_a_result_may_go_away(machine: Machine, here: Path) -> None:
    code = 'return "long line\\n" * 200_000'
    ir = {"nodes": [{"id": "a", "type": "python", "params": {"code": code}}]}
    outputs = {"text": {"source": "a.result"}}
    (here / "long.json").write_text(json.dumps({**ir, "outputs": outputs}))
    done = subprocess.run(
        ["sh", "-c", f"{shlex.join(machine.argv('run', 'long.json'))} | head -n 1"],
        cwd=here,
        env=machine.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "long line\n"
    # The last line cannot be told once stdout is gone; what was told before is all there is.
    assert "Traceback" not in done.stderr
    assert "runtrue:" not in done.stderr


@pytest.mark.parametrize("no_color", ["", "1"])
def test_on_a_terminal_a_list_is_a_table_and_progress_is_told(
    no_color: str, machine: Machine, here: Path
) -> None:
    rows = [{"id": 1, "title": "a [bold]title"}, {"id": 22, "more": None}]
    ir = {
        "nodes": [
            {
                "id": "make",
                "type": "python",
                "params": {"code": f"return {rows!r}"},
            }
        ],
        "outputs": {"rows": {"source": "make.result"}, "printed": {"source": "make.stdout"}},
    }
    (here / "table.json").write_text(json.dumps(ir))
    terminal = Terminal(machine, "run", "table.json", cwd=here, NO_COLOR=no_color, COLUMNS="60")
    assert terminal.end() == 0
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.screen)
    assert "✓ make (" in plain
    table = [line.split() for line in plain.splitlines() if line.startswith(" ")]
    assert ["id", "title", "more"] in table
    assert ["1", "a", "[bold]title"] in table
    assert ["22", "null"] in table
    assert ("\x1b[3" in terminal.screen) is (not no_color)


# -- names and files ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("greeet", "no workflow 'greeet' is saved (did you mean 'greet'?); available: greet"),
        ("greeet.yaml", "greeet.yaml: there is no such file; did you mean greet.yaml"),
        ("nowhere/greet.yaml", "there is no such file, nor a directory nowhere"),
        ("folder.yaml", "folder.yaml: is a directory, not a file"),
        ("empty.yaml", "empty.yaml: is empty"),
        ("broken.json", "broken.json:2:10: is not valid JSON"),
        ("broken.yaml", "broken.yaml:2:4: "),
        ("latin.yaml", "latin.yaml:2:1: is not UTF-8 text"),
        ("list.json", "list.json:1: the workflow: a workflow is an object with `nodes`"),
        ("/dev/zero", "is too large"),
        ("", "'' cannot be the name of a workflow"),
        ("greet\udcff", "cannot be the name of a workflow"),
    ],
)
def test_what_is_not_there_or_is_no_workflow_is_one_sentence(
    name: str, said: str, machine: Machine, here: Path
) -> None:
    write(here, GREET | {"empty.yaml": " \n", "broken.json": '{\n  "nodes"', "list.json": "[1]"})
    write(here, {"broken.yaml": "nodes:\n- {]\n"})
    (here / "latin.yaml").write_bytes("a: 1\nä: 2\n".encode("latin-1"))
    (here / "folder.yaml").mkdir()
    saved = machine.home / ".runtrue" / "workflows"
    write(saved, {"greet.yaml": GREET["greet.yaml"]})
    done = machine.runtrue("run", name, cwd=here)
    assert done.code == 2
    assert said in one_sentence(done)


def test_an_invalid_workflow_is_told_all_that_is_wrong_and_nothing_is_run(
    machine: Machine, here: Path
) -> None:
    write(here, INVALID)
    before = content(here)
    done = machine.runtrue("run", "invalid.yaml", cwd=here)
    assert (done.code, done.out) == (2, "")
    told = done.err.removeprefix("runtrue: ").splitlines()
    places = [line.split(": ")[0] + " " + line.split(": ")[1] for line in told]
    assert places == [
        "invalid.yaml:4 /nodes/1/type",
        "invalid.yaml:6 /nodes/2",
        "invalid.yaml:8 /nodes/2/params/comand",
        "invalid.yaml:8 /nodes/2/params/command",
        "invalid.yaml:8 /nodes/2/params/command",
        "invalid.yaml:9 /nodes/3/id",
        "invalid.yaml:11 /nodes/3/params",
        "invalid.yaml:11 /nodes/3/params/file_path",
        "invalid.yaml:14 /edges/1/to",
        "invalid.yaml:16 /outputs/it/source",
    ]
    for hint in ("'http'?", "'command'?", "'shout'?"):
        assert f"did you mean {hint}" in done.err
    assert content(here) == before
    assert "no runs" in machine.runtrue("runs", "list").out


# -- how it ends --------------------------------------------------------------------------------


def test_a_node_that_fails_stops_the_run_and_changes_nothing_in_the_workflow(
    machine: Machine, here: Path
) -> None:
    write(here, FAILS)
    before = (here / "fails.yaml").read_bytes()
    failed = machine.runtrue("run", "fails.yaml", cwd=here)
    assert (failed.code, failed.out) == (1, "")
    assert "second: exited with code 3: oops" in failed.err
    assert "failed: 1 of 3 nodes finished" in failed.err
    assert re.search(r"continue: runtrue runs resume [0-9a-f]+ --force", failed.err)
    again = machine.runtrue("run", "fails.yaml", "--json", cwd=here)
    assert again.code == 1
    assert [node["status"] for node in again.json["nodes"]] == ["passed", "failed", "not_run"]
    assert again.json["resumable"] is True
    assert again.json["begun"] == "second"
    (finding,) = again.json["findings"]
    assert (finding["category"], finding["location"]["symbol"]) == ("exit_code", "second")
    assert content(here) == {"fails.yaml": before, "log": b"one\none\n"}
    assert machine.runtrue("runs", "show", "--json").json["findings"] == [finding]


def test_a_failure_that_is_handled_is_no_failure_of_the_run_and_is_told(
    machine: Machine, here: Path
) -> None:
    write(
        here,
        {
            "handled.yaml": """
                nodes:
                  - {id: bad, type: shell, params: {command: exit 4}, on_error: continue}
                  - id: each
                    type: shell
                    batch: {items: [0, 1, 0], error_handling: continue}
                    params: {command: "echo ${__index__}; exit ${item}"}
                outputs:
                  good: {source: each.success_count}
            """
        },
    )
    done = machine.runtrue("run", "handled.yaml", cwd=here)
    assert (done.code, done.out) == (0, "2\n")
    assert "bad failed, and the run went on: exited with code 4" in done.err
    assert "each failed, and the run went on: 1 of 3 items failed" in done.err
    report = machine.runtrue("runs", "show", "--json").json
    assert [node["status"] for node in report["nodes"]] == ["handled", "handled"]


def test_a_path_that_is_not_in_the_answer_says_what_is(machine: Machine, here: Path) -> None:
    code = 'return {"login": "ada", "id": 7}'
    ir = {
        "nodes": [
            {"id": "user", "type": "python", "params": {"code": code}},
            {
                "id": "write",
                "type": "write-file",
                "params": {"file_path": "out.txt", "content": "Hello ${user.result.name}"},
            },
        ]
    }
    (here / "w.json").write_text(json.dumps(ir))
    done = machine.runtrue("run", "w.json", "--json", cwd=here)
    assert done.code == 1
    (finding,) = done.json["findings"]
    assert finding["category"] == "missing_template_path"
    assert finding["attempted"] == ["${user.result.name}"]
    assert finding["available"] == ["id", "login"]
    assert done.json["resumable"] is False
    assert not (here / "out.txt").exists()
    told = machine.runtrue("runs", "show").said
    assert "fix the workflow file and rerun" in told


@pytest.mark.parametrize(
    ("args", "code", "status"),
    [
        (["give.yaml", "value=x"], 0, "passed"),
        (["fails.yaml"], 1, "failed"),
        (["give.yaml"], 2, "failed"),
        (["give.yaml", "value"], 2, "failed"),
        (["invalid.yaml"], 2, "failed"),
        (["nowhere.yaml"], 2, "failed"),
        (["give.yaml", "--nonsense"], 2, "failed"),
    ],
)
def test_with_json_there_is_exactly_one_document_however_it_ends(
    args: list[str], code: int, status: str, machine: Machine, here: Path
) -> None:
    write(here, GIVE | FAILS | INVALID)
    done = machine.runtrue("run", "--json", *args, cwd=here)
    assert (done.code, done.json["status"]) == (code, status)
    assert {"run_id", "attempts", "findings", "error"} <= done.json.keys()
    assert (done.json["run_id"] is None) is (code == 2)
    assert (done.json["error"] is None) is (code == 0)


def test_paths_begin_where_the_run_was_started_and_workflows_where_their_file_is(
    machine: Machine, here: Path
) -> None:
    write(
        here,
        {
            "flows/outer.yaml": """
                nodes:
                  - {id: inner, type: workflow, params: {workflow_ref: parts/inner.yaml}}
            """,
            "flows/parts/inner.yaml": """
                nodes:
                  - {id: write, type: write-file, params: {file_path: out/made, content: x}}
            """,
        },
    )
    assert machine.runtrue("run", "flows/outer.yaml", cwd=here).code == 0
    assert (here / "out" / "made").read_text() == "x"


def test_a_home_that_cannot_be_written_is_named(machine: Machine, here: Path) -> None:
    write(here, GIVE)
    (here / "file").write_text("")
    env = {"RUNTRUE_HOME": str(here / "file")}
    done: Done = machine.runtrue("run", "give.yaml", "value=x", cwd=here, env=env)
    assert done.code == 1
    assert "cannot be opened" in one_sentence(done)


def test_the_problems_of_a_workflow_are_findings_with_their_places(
    machine: Machine, here: Path
) -> None:
    write(here, INVALID)
    done = machine.runtrue("run", "--json", "invalid.yaml", cwd=here)
    assert done.code == 2
    checked = machine.runtrue("check", "--json", "invalid.yaml", cwd=here).json
    assert done.json["findings"] == checked["findings"]
    assert all(
        finding["pointer"] and finding["location"]["line"] for finding in checked["findings"]
    )


def test_a_workflow_reaches_files_outside_only_where_the_user_named_them(machine: Machine) -> None:
    project = machine.home / "project"
    write(
        project,
        {
            "read.yaml": """
                inputs: {file: {default: ../outside.txt}}
                nodes:
                  - {id: read, type: read-file, params: {file_path: "${file}"}}
            """
        },
    )
    (machine.home / "outside.txt").write_text("outside")
    by_default = machine.runtrue("run", "read.yaml", cwd=project)
    assert by_default.code == 1
    assert "is outside the working directory" in by_default.err
    assert "name the file in the task or an input" in by_default.err
    by_input = machine.runtrue("run", "read.yaml", "file=../outside.txt", cwd=project)
    assert (by_input.code, by_input.out) == (0, "outside\n"), by_input.said
    (machine.home / ".runtrue" / "runtrue.toml").write_text(
        f'[workflows]\nfiles = ["{machine.home}"]\n'
    )
    by_setting = machine.runtrue("run", "read.yaml", cwd=project)
    assert (by_setting.code, by_setting.out) == (0, "outside\n"), by_setting.said


CHEAPEST = {
    "books.json": '[{"title": "Emma", "price": "12.50"}, {"title": "Ulysses", "price": "9"}, {}]',
    "cheapest.yaml": """
        nodes:
          - {id: read, type: read-file, params: {file_path: books.json}}
          - {id: priced, type: filter,
             params: {items: "${read.content}", field: price, operator: not_empty}}
          - {id: order, type: sort, params: {items: "${priced.items}", by: price}}
          - {id: first, type: take, params: {items: "${order.items}", at: 0}}
        outputs:
          cheapest: {source: first.item.title}
          all: {source: "read.content[*].title"}
    """,
}


def test_lists_are_filtered_sorted_and_taken_from_without_code(
    machine: Machine, here: Path
) -> None:
    write(here, CHEAPEST)
    ran = machine.runtrue("run", "cheapest.yaml", "--json", cwd=here)
    assert ran.code == 0, ran.err
    assert ran.json["result"] == {"cheapest": "Ulysses", "all": ["Emma", "Ulysses", None]}
