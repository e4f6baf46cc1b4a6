"""Plans say why: what a failed step said, what git ignores, what a limit needs, what to do next."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Done, Machine, MakeProject

FILES = {"handler.py": "tax = 0\n", ".gitignore": "*.log\n"}
PASSES = {"name": "passes", "command": "true"}


class Project:
    """A project with plans on it, under default settings."""

    def __init__(self, root: Path, make_project: MakeProject) -> None:
        self.machine = Machine(root)
        self.path = make_project(FILES)

    def new(self, *commands: str, **keys: Any) -> Done:
        steps = [{"description": "do it", "command": command} for command in commands]
        plan = {"instruction": "x", "strategy": {"steps": steps}, "validations": [PASSES], **keys}
        file = self.path.parent / "plan.json"
        file.write_text(json.dumps(plan))
        return self.run("new", file, "--profile", "cautious", "--json")

    def run(self, *words: str | Path) -> Done:
        return self.machine.runtrue("plan", *words, cwd=self.path)


@pytest.fixture
def project(tmp_path: Path, make_project: MakeProject) -> Project:
    return Project(tmp_path, make_project)


def test_a_step_that_fails_shows_what_it_said_and_the_command_that_corrects_it(
    project: Project,
) -> None:
    failed = project.new("echo out of paper >&2; exit 3")
    assert (failed.code, failed.json["state"]) == (3, "waiting"), failed.said
    plan_id = failed.json["run_id"]
    for words in (("status",), ("explain",)):
        assert "exited with code 3: out of paper" in project.run(*words).out
    correct = f"runtrue plan correct s1 --plan {plan_id} --command COMMAND"
    assert failed.json["next"][0] == correct
    done = project.run("correct", "s1", "--plan", plan_id, "--command", "echo 1 > new", "--json")
    assert done.json["state"] == "complete", done.said


def test_what_git_ignores_is_named_before_the_validation(project: Project) -> None:
    done = project.new("echo made > out.log; echo 1 > new.txt", "echo 2 > new.txt")
    assert done.json["state"] == "complete", done.said
    (line,) = [line for line in done.err.splitlines() if "git ignores" in line]
    assert line.strip() == "changed new.txt; git ignores out.log, so it is not kept"
    assert done.err.index(line) < done.err.index("validating")
    assert [deed["ignored"] for deed in done.json["plan"]["deeds"]] == [["out.log"], []]
    assert "git ignores out.log" in project.run("explain").out


def test_a_conflict_names_something_else_than_the_command_that_just_failed(
    project: Project,
) -> None:
    plan_id = project.new("echo 'tax = 19' > handler.py").json["run_id"]
    (project.path / "handler.py").write_text("tax = 7\n")
    refused = project.run("apply", "--json")
    assert refused.code == 1
    for side in ("tax = 7", "tax = 19", f"patches/{plan_id}.patch"):
        assert side in refused.json["refused"]
    assert refused.json["next"][0] == f"runtrue plan apply {plan_id} --branch NAME"
    done = project.run("apply", "--branch", "mine", "--json")
    assert done.json["state"] == "applied", done.said
    assert (project.path / "handler.py").read_text() == "tax = 7\n"


def test_a_limit_of_cost_asks_for_the_price_that_nobody_knows(project: Project) -> None:
    (project.path / "runtrue.toml").write_text('[model]\nname = "openai:my-own-model"\n')
    environment = project.machine.env
    environment |= {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    refused = project.new("true", max_cost=2)
    assert refused.code == 2
    assert "no price of openai:my-own-model is known" in refused.err
    assert "set RUNTRUE_MODEL_PRICE to" in refused.err
    environment["RUNTRUE_MODEL_PRICE"] = "cheap"
    assert "RUNTRUE_MODEL_PRICE is 'cheap'; write" in project.new("true", max_cost=2).err
    environment["RUNTRUE_MODEL_PRICE"] = "0.5/1.5"
    assert project.new("true", max_cost=2).json["state"] == "complete"


def test_what_the_user_is_still_writing_is_no_part_of_the_verdict(project: Project) -> None:
    project.new("echo 'tax = 19' > handler.py", validations=[{"name": "t", "command": "! ls t_*"}])
    (project.path / "t_new.py").write_text("not done")
    applied = project.run("apply", "--json")
    assert applied.json["state"] == "applied", applied.said
    assert (project.path / "t_new.py").read_text() == "not done"


def test_a_plan_can_be_applied_after_the_branch_was_switched(project: Project) -> None:
    project.new("echo 'tax = 19' > handler.py")
    subprocess.run(["git", "checkout", "-qb", "next"], cwd=project.path, check=True)
    (project.path / "more.txt").write_text("more\n")
    subprocess.run(["git", "add", "more.txt"], cwd=project.path, check=True)
    own = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "more"]
    subprocess.run(own, cwd=project.path, check=True)
    applied = project.run("apply", "--json")
    assert applied.json["state"] == "applied", applied.said
    assert (project.path / "handler.py").read_text() == "tax = 19\n"


def test_plans_on_one_repository_go_on_side_by_side(project: Project) -> None:
    first = project.new("echo one > one.txt").json["run_id"]
    second = project.new("echo 'tax = 19' > handler.py").json["run_id"]
    assert project.run("apply", first).code == 0
    assert project.run("apply", second).code == 0
    assert (project.path / "one.txt").read_text() == "one\n"
    assert (project.path / "handler.py").read_text() == "tax = 19\n"


def test_the_list_says_of_plans_that_wait_what_their_status_says(project: Project) -> None:
    made = [project.new("true"), project.new("exit 1")]
    made.append(project.new("true", automation_profile="supervised"))
    file = project.path.parent / "plan.json"
    made.append(project.run("new", file, "--profile", "supervised", "--json"))
    rows = {row["plan_id"]: row for row in project.run("list", "--json").json["plans"]}
    for done in made:
        report = done.json
        row = rows[report["run_id"]]
        assert (row["state"], row["phase"]) == (report["state"], report["phase"])
    assert {row["state"] for row in rows.values()} == {"complete", "waiting", "queued"}


def test_a_validation_that_cannot_be_run_names_each_near_program_once_and_its_correction(
    project: Project,
) -> None:
    twice = [project.path.parent / name for name in ("one", "two")]
    for folder in twice:
        folder.mkdir()
        (folder / "checkall").touch(mode=0o755)
    project.machine.env["PATH"] = ":".join([*map(str, twice), project.machine.env["PATH"]])
    wrong = {"name": "all", "command": "chekall"}
    waits = project.new("echo 1 > new.txt", validations=[PASSES, wrong])
    assert (waits.code, waits.json["why"]) == (3, "not_the_candidate"), waits.said
    plan_id = waits.json["run_id"]
    (line,) = [x for x in project.run("status").out.splitlines() if "did you mean" in x]
    assert line.count("checkall") == 1
    correct = f"runtrue plan correct all --plan {plan_id} --command COMMAND"
    assert waits.json["next"][0] == correct
    done = project.run("correct", "all", "--plan", plan_id, "--command", "true", "--json")
    assert done.json["state"] == "complete", done.said
