"""`--each`: one run for each line of a file, on one machine, under a parent."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.conftest import LINT_ONLY, Machine, MakeProject, content, write
from tests.workflow.nodes.scripted_server import ScriptedServer, response

WORKFLOW = """
name: greet
inputs: {name: {type: string}, times: {type: integer, default: 1}}
nodes:
  - {id: say, type: shell, params: {command: "test -e '${name}.ok' && echo ${name} ${times}"}}
"""
#: Notes that it began, and goes on when there is a file that says so.
HELD = """
name: held
inputs: {name: {type: string}}
nodes:
  - id: wait
    type: shell
    params: {command: "echo ${name} >> began; until test -e go; do sleep 0.02; done"}
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    directory = tmp_path / "work"
    write(directory, {"greet.yaml": WORKFLOW, "held.yaml": HELD})
    for name in ("Ada", "Bob", "Cy"):
        (directory / f"{name}.ok").touch()
    return directory


def test_each_row_of_a_csv_file_is_a_run_and_results_come_as_json_lines(
    machine: Machine, here: Path
) -> None:
    (here / "people.csv").write_bytes(b'\xef\xbb\xbfname,times\r\nAda,1\r\n"Bob",2\r\nCy,3\r\n')
    done = machine.runtrue("run", "greet.yaml", "--each", "people.csv", cwd=here)
    assert done.code == 0, done.said
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert {(row["n"], row["result"]["stdout"]) for row in rows} == {
        (1, "Ada 1"),
        (2, "Bob 2"),
        (3, "Cy 3"),
    }
    assert "3/3" in done.err
    assert "passed: 3 passed" in done.err
    (parent,) = machine.runtrue("runs", "list", "--all", "--json").json["runs"]
    assert (parent["kind"], parent["state"]) == ("each", "passed")
    children = machine.runtrue("runs", "list", "--of", parent["run_id"], "--json").json["runs"]
    assert {child["run_id"] for child in children} == {row["run_id"] for row in rows}


def test_json_is_one_document_and_a_row_that_fails_is_tried_again_by_resume(
    machine: Machine, here: Path
) -> None:
    lines = [{"name": "Ada", "times": 7}, {"name": "Dora"}, {"name": "Cy"}]
    (here / "people.jsonl").write_text("".join(json.dumps(line) + "\n\n" for line in lines))
    done = machine.runtrue("run", "greet.yaml", "--each", "people.jsonl", "--json", cwd=here)
    assert done.code == 1, done.said
    report = done.json
    assert (report["status"], report["counts"]) == ("failed", {"passed": 2, "failed": 1})
    assert [item["status"] for item in report["items"]] == ["passed", "failed", "passed"]
    assert report["items"][0]["result"]["stdout"] == "Ada 7"
    assert report["items"][1]["resumable"]
    (here / "Dora.ok").touch()
    again = machine.runtrue("runs", "resume", report["run_id"], "--force", "--json", cwd=here)
    assert again.code == 0, again.said
    assert again.json["counts"] == {"passed": 3}
    assert [item["run_id"] for item in again.json["items"]] == [
        item["run_id"] for item in report["items"]
    ]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "", "has no rows"),
        ("a.csv", "name\n", "has no rows"),
        ("a.csv", "name,name\nA,B\n", "must name the inputs, each once"),
        ("a.csv", "name\nA,B\n", "line 2: 2 values for 1 columns"),
        ("a.csv", 'name\n"A\n', "line 2: unexpected end of data"),
        ("a.csv", "nmae\nA\n", "did you mean 'name'?"),
        ("a.csv", "name,times\nAda,1\nBob,x\n", "line 3: input 'times' must be an integer"),
        ("a.jsonl", "[1]\n", "line 1: write a JSON object on each line"),
        ("a.jsonl", '{"name": \n', "line 1: it"),
        ("a.txt", "x", "give a .csv file with a header, or a .jsonl file"),
    ],
)
def test_a_wrong_row_is_named_before_anything_is_run(
    machine: Machine, here: Path, name: str, text: str, said: str
) -> None:
    (here / name).write_text(text)
    done = machine.runtrue("run", "greet.yaml", "--each", name, cwd=here)
    assert done.code == 2, done.said
    assert said in done.err
    assert "no runs" in machine.runtrue("runs", "list", "--all").out


def test_inputs_beside_the_file_are_shared_by_all_rows(machine: Machine, here: Path) -> None:
    done = machine.runtrue(
        "run", "greet.yaml", "times=9", "--each", "-", cwd=here, stdin='{"name": "Ada"}\n'
    )
    assert json.loads(done.out)["result"]["stdout"] == "Ada 9"
    twice = machine.runtrue(
        "run", "greet.yaml", "name=Ada", "--each", "-", cwd=here, stdin="name\nBob\n"
    )
    assert (twice.code, "the input 'name' is given twice" in twice.err) == (2, True)


def test_so_many_run_at_once_and_a_killed_parent_goes_on_where_it_was(
    machine: Machine, here: Path
) -> None:
    (here / "people.csv").write_text("name\n" + "".join(f"p{n}\n" for n in range(5)))
    process = subprocess.Popen(
        machine.argv("run", "held.yaml", "--each", "people.csv", "--concurrency", "2"),
        cwd=here,
        env=machine.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    began = here / "began"
    end = time.monotonic() + 60
    while not began.exists() or len(began.read_text().split()) < 2:
        assert time.monotonic() < end
        time.sleep(0.02)
    process.kill()
    process.communicate()
    assert len(began.read_text().split()) == 2
    (here / "go").touch()
    (parent,) = machine.runtrue("runs", "list", "--all", "--json").json["runs"]
    assert not parent["driven"]
    cut_off = machine.runtrue("runs", "resume", parent["run_id"], "--json", cwd=here)
    # Commands that were cut off are not repeated without consent, and hold up no others.
    assert cut_off.json["counts"] == {"passed": 3, "failed": 2}, cut_off.said
    assert len(began.read_text().split()) == 5
    done = machine.runtrue("runs", "resume", parent["run_id"], "--force", "--json", cwd=here)
    assert done.code == 0, done.said
    assert sorted(Counter(began.read_text().split()).values()) == [1, 1, 1, 2, 2]


def test_a_parent_that_is_told_to_stop_stops_its_children_and_cancel_ends_all(
    machine: Machine, here: Path
) -> None:
    (here / "people.csv").write_text("name\np1\np2\np3\n")
    process = subprocess.Popen(
        machine.argv("run", "held.yaml", "--each", "people.csv", "--concurrency", "2"),
        cwd=here,
        env=machine.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    began = here / "began"
    end = time.monotonic() + 60
    while not began.exists() or len(began.read_text().split()) < 2:
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "runtrue runs resume" in said
    (parent,) = machine.runtrue("runs", "list", "--all", "--json").json["runs"]
    machine.runtrue("runs", "cancel", parent["run_id"])
    children = machine.runtrue("runs", "list", "--of", parent["run_id"], "--json").json["runs"]
    assert {child["state"] for child in children} == {"cancelled"}


def test_fix_each_fixes_every_project_and_names_those_that_it_cannot(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    projects = [make_project(LINT_ONLY, name=name) for name in ("one", "two")]
    before = [content(project) for project in projects]
    (tmp_path / "all.txt").write_text("# ours\none\n\ntwo\nnowhere\n")
    done = machine.runtrue("fix", "--each", "all.txt", cwd=tmp_path)
    assert done.code == 1, done.said
    rows = {row["label"]: row for row in map(json.loads, done.out.splitlines())}
    assert {label: row["status"] for label, row in rows.items()} == {
        "one": "passed",
        "two": "passed",
    }
    assert "nowhere: refused: nowhere does not exist" in done.err
    assert [content(project) for project in projects] == before
    applied = machine.runtrue("runs", "apply", rows["one"]["run_id"], cwd=projects[0])
    assert applied.code == 0, applied.said
    assert content(projects[0]) != before[0]


def test_options_that_make_no_sense_together_are_refused(machine: Machine, here: Path) -> None:
    for args, said in (
        (("run", "greet.yaml", "--concurrency", "2"), "--concurrency needs --each"),
        (("run", "greet.yaml", "--each", "-", "--dry-run"), "without --each"),
        (("fix", "--each", "x", "--output", "sarif"), "--output"),
        (("fix", "--concurrency", "2"), "--concurrency needs --each"),
        (("fix", "--each", "missing.txt"), "cannot be read"),
    ):
        done = machine.runtrue(*args, cwd=here)
        assert done.code == 2, done.said
        assert said in done.err


def test_secrets_of_rows_reach_their_runs_and_no_record(machine: Machine, here: Path) -> None:
    with ScriptedServer(response()) as server:
        call = f"{{id: call, type: http, params: {{url: '{server.url}', auth_token: '${{key}}'}}}}"
        (here / "secret.yaml").write_text(f"inputs: {{key: {{}}, n: {{}}}}\nnodes:\n  - {call}\n")
        (here / "secrets.csv").write_text("key,n\nhush-hush-hush,1\nquiet-as-a-mouse,2\n")
        done = machine.runtrue("run", "secret.yaml", "--each", "secrets.csv", cwd=here)
    assert done.code == 0, done.said
    tokens = sorted(received.headers["authorization"] for received in server.received)
    assert tokens == ["Bearer hush-hush-hush", "Bearer quiet-as-a-mouse"]
    assert {json.loads(line)["label"] for line in done.out.splitlines()} == {"n=1", "n=2"}
    assert "hush" not in done.said
    found = [path for path in (machine.home / ".runtrue").rglob("*") if path.is_file()]
    assert machine.journal in found
    assert not [path for path in found if b"hush-hush" in path.read_bytes()]
