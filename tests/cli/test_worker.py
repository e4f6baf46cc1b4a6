"""`runtrue worker`, and runs that are put on its queue from another machine."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runtrue.flow import Journal
from tests.cli.collector import Collector
from tests.cli.conftest import LINT_ONLY, Machine, MakeProject, content
from tests.postgres.server import Server

pytest.importorskip("dbos")

WORKFLOW = """
name: greet
inputs: {name: {type: string}}
nodes:
  - {id: say, type: shell, params: {command: "echo hello ${name}"}}
"""
GUARDED = """
name: call
inputs: {password: {type: string}}
nodes:
  - {id: call, type: http, params: {url: "http://127.0.0.1:1/", auth_token: "${password}"}}
"""


@pytest.fixture
def machines(tmp_path: Path, postgres: Server) -> Iterator[tuple[Machine, Machine]]:
    """Two machines with a database and no home in common."""
    url = postgres.new_database()
    made = []
    for name in ("users", "workers"):
        (tmp_path / name).mkdir()
        machine = Machine(tmp_path / name)
        machine.env["RUNTRUE_DATABASE"] = url
        made.append(machine)
    yield made[0], made[1]
    postgres.drop(url)


@contextmanager
def working(machine: Machine, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A worker on a machine, told to stop at the end."""
    process = subprocess.Popen(
        machine.argv("worker", *options),
        cwd=machine.home,
        env=machine.env,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    try:
        for line in process.stderr:
            if "takes runs of queue" in line:
                break
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
        assert "Traceback" not in said


def test_a_workflow_is_queued_here_and_run_there(
    machines: tuple[Machine, Machine], tmp_path: Path
) -> None:
    user, other = machines
    file = tmp_path / "greet.yaml"
    file.write_text(WORKFLOW)
    queued = user.runtrue("run", file, "name=Ada", "--queue", "night", "--json")
    assert queued.code == 0, queued.said
    assert (queued.json["status"], queued.json["queue"]) == ("queued", "night")
    idle = user.runtrue("worker", "status")
    assert idle.code == 1
    assert "queue night: 1 waiting (the longest for " in idle.out
    assert "start `runtrue worker --queue night`" in idle.err
    with working(other, "--queue", "night", "--concurrency", "2"):
        followed = user.runtrue("runs", "resume", queued.json["run_id"], "--wait", "--json")
        assert followed.code == 0, followed.said
        assert followed.json["result"]["stdout"] == "hello Ada"
        again = user.runtrue("run", file, "name=Bob", "--queue", "night", "--wait", "--json")
        assert again.json["result"]["stdout"] == "hello Bob"
        status = user.runtrue("worker", "status", "--json")
        assert status.code == 0
        (worker,) = status.json["workers"]
        assert (worker["state"], worker["queue"], worker["concurrency"]) == ("working", "night", 2)
        assert worker["pid"] != os.getpid()
    assert user.runtrue("worker", "status", "--json").json["workers"][0]["state"] == "stopped"


def test_new_runs_are_refused_while_as_many_wait_as_the_workers_allow(
    machines: tuple[Machine, Machine], tmp_path: Path
) -> None:
    user, other = machines
    (tmp_path / "greet.yaml").write_text(WORKFLOW)
    submit = ("run", tmp_path / "greet.yaml", "name=ada", "--queue", "default")
    with working(other, "--max-waiting", "2"):
        pass
    assert [user.runtrue(*submit).code for _ in range(2)] == [0, 0]
    refused = user.runtrue(*submit)
    assert refused.code == 1
    assert "2 runs wait on queue default, and its workers allow 2" in refused.err
    queues = user.runtrue("worker", "status", "--json").json["queues"]
    assert (queues["default"]["waiting"], queues["default"]["driven"]) == (2, 0)
    assert queues["default"]["oldest"] > 0


def test_a_worker_measures_its_queue_for_opentelemetry(
    machines: tuple[Machine, Machine], tmp_path: Path, collector: Collector
) -> None:
    user, other = machines
    (tmp_path / "greet.yaml").write_text(WORKFLOW)
    other.env |= collector.environment
    with working(other):
        done = user.runtrue(
            "run", tmp_path / "greet.yaml", "name=ada", "--queue", "default", "--wait"
        )
        assert done.code == 0, done.err
    assert {
        "runtrue.queue.depth",
        "runtrue.queue.age",
        "runtrue.segment.duration",
    } <= collector.metrics
    assert "run workflow" in collector.spans


def test_secrets_do_not_travel(machines: tuple[Machine, Machine], tmp_path: Path) -> None:
    user, _ = machines
    file = tmp_path / "call.yaml"
    file.write_text(GUARDED)
    done = user.runtrue("run", file, "password=geheim", "--queue", "night")
    assert done.code == 2
    assert "secrets never travel, and password would have to" in done.err
    listed = user.runtrue("runs", "list", "--json").json["runs"]
    assert [run["state"] for run in listed] == ["cancelled"]


def test_a_fix_is_queued_here_made_there_and_applied_here(
    machines: tuple[Machine, Machine], make_project: MakeProject
) -> None:
    user, other = machines
    project = make_project(LINT_ONLY)
    before = content(project)
    with working(other):
        done = user.runtrue("fix", "--queue", "default", "--wait", "--json", cwd=project)
        assert done.code == 0, done.said
        assert done.json["status"] == "passed"
        assert content(project) == before
    applied = user.runtrue("runs", "apply", done.json["run_id"], cwd=project)
    assert applied.code == 0, applied.said
    assert "import os" not in (project / "shop.py").read_text()


def test_a_fix_begun_by_a_killed_worker_is_ended_by_another_with_the_same_diff(
    machines: tuple[Machine, Machine], make_project: MakeProject
) -> None:
    user, other = machines
    project = make_project(LINT_ONLY)
    alone = user.runtrue("fix", "--json", cwd=project)
    assert alone.code == 0, alone.said
    queued = user.runtrue("fix", "--queue", "default", "--json", cwd=project)
    run_id = queued.json["run_id"]
    first = subprocess.Popen(
        other.argv("worker"), cwd=other.home, env=other.env, stderr=subprocess.DEVNULL
    )
    try:
        with Journal(other.env["RUNTRUE_DATABASE"]) as journal:
            while not journal.load(run_id):
                time.sleep(0.01)
            first.kill()
            first.wait()
            assert not journal.find(run_id).is_over
            done = len(journal.load(run_id))
    finally:
        first.kill()
        first.wait()
    with working(other):
        ended = user.runtrue("runs", "resume", run_id, "--wait", "--json")
    assert ended.code == 0, ended.said
    assert ended.json["diff"] == alone.json["diff"]
    with Journal(other.env["RUNTRUE_DATABASE"]) as journal:
        assert done < len(journal.load(run_id))


def test_a_fix_is_made_of_the_files_as_they_were_when_it_was_queued(
    machines: tuple[Machine, Machine], make_project: MakeProject
) -> None:
    user, other = machines
    project = make_project(LINT_ONLY)
    queued = user.runtrue("fix", "--queue", "default", "--json", cwd=project)
    run_id = queued.json["run_id"]
    project.rename(project.parent / "elsewhere")
    with working(other):
        done = user.runtrue("runs", "resume", run_id, "--wait", "--json")
    assert done.code == 0, done.said
    assert "-import os" in done.json["diff"]
    assert user.runtrue("runs", "apply", run_id).code == 1


def test_a_queue_and_apply_exclude_each_other(
    machines: tuple[Machine, Machine], make_project: MakeProject
) -> None:
    user, _ = machines
    done = user.runtrue("fix", "--queue", "default", "--apply", cwd=make_project(LINT_ONLY))
    assert done.code == 2
    assert "--queue cannot be used with --apply" in done.err
    assert user.runtrue("runs", "list", "--all", "--json").json["runs"] == []


def test_without_a_shared_database_there_are_no_queues(machine: Machine, tmp_path: Path) -> None:
    file = tmp_path / "greet.yaml"
    file.write_text(WORKFLOW)
    done = machine.runtrue("run", file, "name=Ada", "--queue", "night")
    assert done.code == 2
    assert "--queue needs a database that workers share: set RUNTRUE_DATABASE" in done.err
    assert machine.runtrue("runs", "list", "--json").json["runs"] == []
    assert machine.runtrue("worker").code == 2
    assert machine.runtrue("worker", "status").code == 2


def test_each_row_is_run_by_workers_and_the_parent_ends_with_the_last(
    machines: tuple[Machine, Machine], tmp_path: Path
) -> None:
    user, other = machines
    (tmp_path / "greet.yaml").write_text(WORKFLOW)
    (tmp_path / "people.csv").write_text("name\n" + "".join(f"p{n}\n" for n in range(6)))
    args = ("run", "greet.yaml", "--each", "people.csv", "--queue", "many")
    queued = user.runtrue(*args, "--json", cwd=tmp_path)
    assert queued.json["status"] == "queued"
    with working(other, "--queue", "many", "--concurrency", "2"), working(user, "--queue", "many"):
        done = user.runtrue("runs", "resume", queued.json["run_id"], "--wait", "--json")
        assert done.code == 0, done.said
        assert done.json["counts"] == {"passed": 6}
        assert {item["result"]["stdout"] for item in done.json["items"]} == {
            f"hello p{n}" for n in range(6)
        }
        followed = user.runtrue(*args, "--wait", cwd=tmp_path)
        assert followed.code == 0, followed.said
        assert len(followed.out.splitlines()) == 6
        assert "6/6" in followed.err
    states = {run["state"] for run in user.runtrue("runs", "list", "--json").json["runs"]}
    assert states == {"passed"}


def test_secrets_in_rows_do_not_travel(machines: tuple[Machine, Machine], tmp_path: Path) -> None:
    user, _ = machines
    (tmp_path / "call.yaml").write_text(GUARDED)
    (tmp_path / "rows.csv").write_text("password\ngeheim\n")
    done = user.runtrue("run", "call.yaml", "--each", "rows.csv", "--queue", "many", cwd=tmp_path)
    assert done.code == 2
    assert "secrets never travel, and password would have to" in done.err
    assert user.runtrue("runs", "list", "--all", "--json").json["runs"] == []
