"""Runs on machines that share a database and no disk: projects, candidates and patches travel."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from runtrue.flow import Journal, PostgresDatabase
from tests.cli.conftest import LINT_ONLY, Done, Machine, MakeProject, content, write
from tests.namespaces import Namespaces, NoNamespaces, separate
from tests.postgres.server import Server

pytest.importorskip("dbos")


class Far:
    """A machine in namespaces of its own."""

    def __init__(self, place: Namespaces, machine: Machine) -> None:
        self._place = place
        self.env = {**machine.env, "HOME": str(place.home)}

    def runtrue(self, *args: str) -> Done:
        done = self._start(*args, stdout=subprocess.PIPE)
        out, err = done.communicate(timeout=600)
        assert "Traceback" not in err, err
        return Done(done.returncode, out, err)

    @contextmanager
    def working(self) -> Iterator[subprocess.Popen[str]]:
        """A worker on this machine, killed at the end."""
        process = self._start("worker")
        assert process.stderr
        try:
            for line in process.stderr:
                if "takes runs of queue" in line:
                    break
            yield process
        finally:
            process.kill()
            process.communicate()

    def files(self, *folders: str) -> set[str]:
        """The names in folders of the home there."""
        places = [str(self._place.home / ".runtrue" / name) for name in folders]
        argv = self._place.argv("sh", "-c", 'ls -A "$@" 2>/dev/null || true', "ls", *places)
        out = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        return {line for line in out.splitlines() if line and not line.endswith(":")}

    def _start(self, *args: str, **options: int) -> subprocess.Popen[str]:
        command = (sys.executable, "-m", "runtrue", *args)
        return self._place.popen(*command, env=self.env, stderr=subprocess.PIPE, **options)


@pytest.fixture
def user(machine: Machine, postgres: Server) -> Iterator[Machine]:
    machine.env["RUNTRUE_DATABASE"] = url = postgres.new_database()
    yield machine
    postgres.drop(url)


@pytest.fixture
def far(user: Machine, tmp_path: Path) -> Iterator[list[Far]]:
    """Three machines that see nothing of the user's, nor of each other's."""
    port = urlsplit(user.env["RUNTRUE_DATABASE"]).port
    assert port
    with ExitStack() as stack:
        try:
            places = [stack.enter_context(separate(tmp_path, port)) for _ in range(3)]
        except (NoNamespaces, FileNotFoundError) as error:
            pytest.skip(f"no machines without a common disk: {error}")
        yield [Far(place, user) for place in places]


def names(user: Machine) -> list[str]:
    db = PostgresDatabase(user.env["RUNTRUE_DATABASE"])
    try:
        return [name for (name,) in db.execute("SELECT name FROM run_files ORDER BY 1").fetchall()]
    finally:
        db.close()


def test_a_fix_begun_on_one_machine_is_ended_on_another_with_the_same_diff(
    user: Machine, far: list[Far], make_project: MakeProject
) -> None:
    project = make_project(LINT_ONLY)
    # What is not committed is part of it, what git ignores is not.
    write(project, {"note.txt": "mine\n", ".gitignore": ".env\n", ".env": "TOKEN=geheim\n"})
    before = content(project)
    alone = user.runtrue("fix", "--json", cwd=project)
    assert alone.code == 0, alone.said
    queued = user.runtrue("fix", "--queue", "default", "--json", cwd=project)
    assert queued.code == 0, queued.said
    assert "not sent, since git ignores it: 1 ignored path (.env)" in queued.err
    run_id = queued.json["run_id"]
    first, second, _ = far
    with Journal(user.env["RUNTRUE_DATABASE"]) as journal:
        with first.working():
            while not any(step.node.startswith("fix") for step in journal.load(run_id)):
                assert not journal.find(run_id).is_stopped, journal.find(run_id)
                time.sleep(0.01)
        begun = len(journal.load(run_id))
        assert not journal.find(run_id).is_over
        with second.working() as worker:
            ended = user.runtrue("runs", "resume", run_id, "--wait", "--json")
            # Stopped as people stop it, it ends once it has tidied up after the run.
            worker.terminate()
            worker.wait(600)
        assert ended.code == 0, ended.said
        assert ended.json["diff"] == alone.json["diff"]
        assert begun < len(journal.load(run_id))
    assert ended.json["project"] == str(project)
    assert Path(ended.json["patch"]).read_text() == ended.json["diff"]
    assert content(project) == before
    applied = user.runtrue("runs", "apply", run_id, cwd=project)
    assert applied.code == 0, applied.said
    assert "import os" not in (project / "shop.py").read_text()
    # Neither the candidates nor the secret is anywhere any more.
    assert {name.partition("/")[0] for name in names(user)} == {"home"}
    assert second.files("projects", "sandboxes") == set()


PLAN = """
instruction: Say hello
strategy:
  steps:
    - {id: s1, description: begin, actor: command, command: "echo 'WORD = 1' > word.py"}
    - {id: s2, description: greet, actor: command, command: "sh greet.sh"}
  bounds: {paths: [greet.py, word.py]}
validations:
  - {name: greets, command: "python greet.py"}
"""


def test_a_plan_parked_on_one_machine_is_answered_from_a_third_and_applied_at_home(
    user: Machine, far: list[Far], make_project: MakeProject, tmp_path: Path
) -> None:
    greet = "echo 'import word, other' > greet.py; echo > other.py"
    project = make_project({"greet.py": "import word\n", "greet.sh": greet})
    before = content(project)
    (tmp_path / "plan.yaml").write_text(PLAN)
    begun = user.runtrue("plan", "new", tmp_path / "plan.yaml", "--json", cwd=project)
    run_id = begun.json["run_id"]
    first, second, third = far
    with first.working():
        args = ("plan", "execute", run_id, "--queue", "default", "--wait")
        asks = user.runtrue(*args, cwd=project)
        assert asks.code == 3, asks.said
        assert "other.py" in asks.out
    with second.working():
        done = third.runtrue("plan", "answer", run_id, "yes", "--allow", "other.py", "--wait")
        assert done.code == 0, done.said
    status = user.runtrue("plan", "status", run_id, "--json", cwd=project)
    assert status.json["state"] == "complete"
    assert Path(status.json["patch"]).read_text() == status.json["diff"]
    assert Path(status.json["sandbox"], "other.py").exists()
    refused = third.runtrue("plan", "apply", run_id)
    assert refused.code == 2
    assert f"{project} is not on this machine: apply plan {run_id} where it is" in refused.err
    assert content(project) == before
    applied = user.runtrue("plan", "apply", run_id, cwd=project)
    assert applied.code == 0, applied.said
    assert (project / "greet.py").read_text() == "import word, other\n"
    assert {name.partition("/")[0] for name in names(user)} <= {"home"}


WORKFLOW = """
name: outer
inputs: {name: {type: string}}
nodes:
  - id: inner
    type: workflow
    params: {workflow_ref: inner.yaml, param_mapping: {name: "${name}"}}
  - {id: say, type: shell, params: {command: "echo hello ${inner.text}"}}
"""
INNER = """
name: inner
inputs: {name: {type: string}}
nodes:
  - {id: upper, type: shell, params: {command: "echo ${name} | tr a-z A-Z"}}
outputs: {text: {source: "${upper.stdout}"}}
"""


def test_a_workflow_runs_on_a_machine_that_has_none_of_its_files(
    user: Machine, far: list[Far], tmp_path: Path
) -> None:
    write(tmp_path, {"flows/outer.yaml": WORKFLOW, "flows/inner.yaml": INNER})
    with far[0].working():
        done = user.runtrue(
            "run",
            "outer.yaml",
            "name=ada",
            "--queue",
            "default",
            "--wait",
            "--json",
            cwd=tmp_path / "flows",
        )
        assert done.code == 0, done.said
        assert done.json["result"]["stdout"] == "hello ADA"
