"""What nobody accepted is not learnt, and what is taken back is unlearnt."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import WITH_BUG, Machine, MakeProject, write

#: A test fails, and ruff has something to say as well.
PROJECT = {name: text for name, text in WITH_BUG.items() if "shop" not in name} | {
    "lint.py": "import os\n",
}
AGENT = "sed -i s/1.9/1.19/ tax.py"


@pytest.fixture
def project(make_project: MakeProject) -> Path:
    return make_project(PROJECT)


def remembered(machine: Machine, kind: str = "fixes") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = machine.runtrue("memory", "list", "--json").json[kind]
    return found


def fix(machine: Machine, project: Path, *options: str) -> dict[str, Any]:
    done = machine.runtrue("fix", "--json", *options, cwd=project)
    assert done.code == 0, done.said
    return done.json


def git_checkout(project: Path) -> None:
    subprocess.run(["git", "checkout", "-q", "--", "tax.py", "lint.py"], cwd=project, check=True)


def test_lint_is_fixed_and_not_remembered_as_a_failure(machine: Machine, project: Path) -> None:
    fix(machine, project, "--agent", AGENT)
    assert {one["error_type"] for one in remembered(machine, "failures")} == {"AssertionError"}
    assert {one["error_type"] for one in remembered(machine)} == {"AssertionError"}


def test_what_was_applied_and_checked_out_again_is_unlearnt_at_the_next_run(
    machine: Machine, project: Path
) -> None:
    fix(machine, project, "--apply", "--agent", AGENT)
    assert len(remembered(machine)) == 1
    git_checkout(project)
    done = machine.runtrue("fix", "--json", cwd=project)
    assert done.code == 1
    assert not [
        part
        for attempt in done.json["attempts"]
        for part in (attempt["fix"] or {"parts": []})["parts"]
        if part["fixer"] == "memory"
    ]
    assert remembered(machine) == []


def test_what_was_applied_by_runs_apply_and_checked_out_again_is_unlearnt(
    machine: Machine, project: Path
) -> None:
    fix(machine, project, "--agent", AGENT)
    assert machine.runtrue("runs", "apply", cwd=project).code == 0
    assert len(remembered(machine)) == 1
    git_checkout(project)
    machine.runtrue("fix", cwd=project)
    assert remembered(machine) == []


def test_what_was_applied_and_edited_further_stays_learnt(machine: Machine, project: Path) -> None:
    fix(machine, project, "--apply", "--agent", AGENT)
    with (project / "tax.py").open("a") as file:
        file.write("# reviewed\n")
    fix(machine, project)
    assert len(remembered(machine)) == 1


def test_a_forgotten_fix_is_not_made_again(machine: Machine, project: Path) -> None:
    fix(machine, project, "--agent", AGENT)
    (one,) = remembered(machine)
    assert machine.runtrue("memory", "forget", one["id"]).code == 0
    assert machine.runtrue("fix", cwd=project).code == 1


@pytest.mark.parametrize(("answer", "learnt"), [("no", 0), ("yes", 1)])
def test_a_fix_below_the_floor_is_learnt_only_if_a_person_agrees(
    machine: Machine, project: Path, answer: str, learnt: int
) -> None:
    write(project, {"runtrue.toml": "[policy]\nconfidence_floor = 1.0\n"})
    done = machine.runtrue("fix", "--json", "--agent", AGENT, cwd=project)
    assert (done.code, done.json["status"]) == (3, "waiting"), done.said
    assert remembered(machine) == []
    machine.runtrue("runs", "resume", "--answer", answer, cwd=project)
    assert len(remembered(machine)) == learnt


def test_a_cancelled_plan_is_unlearnt(machine: Machine, project: Path, tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "plan.yaml": """
                instruction: The tax is 19 percent
                strategy:
                  steps:
                    - {id: s1, description: begin, actor: command, command: "echo >> tax.py"}
                validations:
                  - {name: tests, command: "python -m pytest -q"}
                automation_profile: supervised
            """,
        },
    )
    write(project, {"runtrue.toml": f'[fixers.agent]\ncommand = "{AGENT}"\n'})
    used = machine.runtrue("plan", "use", tmp_path / "plan.yaml", "--json", cwd=project)
    plan = used.json["run_id"]
    done = machine.runtrue("plan", "execute", plan, "--json", cwd=project)
    assert done.json["status"] == "passed", done.said
    assert len(remembered(machine)) == 1
    assert machine.runtrue("plan", "cancel", plan, cwd=project).code == 0
    assert remembered(machine) == []


def test_patterns_are_failures_of_the_same_cause_in_code_of_the_same_form(
    machine: Machine, make_project: MakeProject
) -> None:
    def failing(name: str, body: str, test: str) -> list[str]:
        files = {"app.py": body, "test_app.py": f"import app\n\n\ndef test_{name}():\n    {test}\n"}
        report = machine.runtrue("fix", "--json", cwd=make_project(files, name=name)).json
        matched: list[str] = report["attempts"][0]["analysis"]["patterns_matched"]
        return matched

    first = 'def first(rows):\n    return rows["name"]\n'
    assert failing("one", first, "assert app.first({}) == 1") == []
    same = 'def pick(cells):\n    return cells["name"]\n'
    assert failing("two", same, "assert app.pick({}) == 1") == ["failure-1"]
    other = 'def first(rows, key):\n    return rows.get(key)["name"]\n'
    assert failing("three", other, "assert app.first({1: {}}, 1) == 1") == []
