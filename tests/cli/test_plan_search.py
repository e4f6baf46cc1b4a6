"""`runtrue plan` with no model at all: `search` does steps, and mends what validations find."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtrue.memory import DebugMemory
from tests.cli.conftest import Machine, MakeProject
from tests.cli.plans import Plans
from tests.cli.test_terminal import Terminal

FILES = {
    "handler.py": """
        from model import rate


        def total(net, percent):
            return net + rate(net, percent)
    """,
    # The tests import what names the notes: a change of those reaches them.
    "model.py": """
        # The rates are those in notes.txt.
        def rate(net, percent):
            return net * percent // 10
    """,
    "test_handler.py": """
        from handler import total


        def test_nothing_is_added():
            assert total(100, 0) == 100


        def test_tax_is_added():
            assert total(100, 10) == 110


        def test_more_tax_is_added():
            assert total(300, 20) == 360
    """,
}
TESTS = {"name": "tests", "command": "python -m pytest -q"}


@pytest.fixture
def plans(tmp_path: Path, make_project: MakeProject) -> Plans:
    return Plans(Machine(tmp_path), make_project(FILES))


def plan_file(plans: Plans, *paths: str, **step: Any) -> Path:
    path = plans.project.parent / "plan.yaml"
    plan = {
        "instruction": "Totals must include tax",
        "strategy": {
            "steps": [{"id": "s1", "description": "mend the totals", **step}],
            "bounds": {"paths": paths},
        },
        "validations": [TESTS],
    }
    path.write_text(json.dumps(plan))
    return path


def test_a_step_done_by_search_makes_the_tests_pass_and_is_applied(plans: Plans) -> None:
    used = plans.use(plan_file(plans, "model.py", actor="search"), "--profile", "full-auto")
    assert used.code == 0, used.said
    assert used.json["status"] == "passed"
    assert "// 100" in (plans.project / "model.py").read_text()
    assert "// 10\n" not in (plans.project / "model.py").read_text()


def test_what_a_validation_finds_is_mended_by_search_within_the_bounds(plans: Plans) -> None:
    path = plan_file(plans, "model.py", "*.txt", actor="command", command="touch notes.txt")
    used = plans.use(path, "--profile", "full-auto")
    assert used.code == 0, used.said
    history = used.json["plan"]["metadata"]["validation_fix_history"]
    assert [entry["fixer"] for entry in history] == ["search"]
    assert "// 100" in (plans.project / "model.py").read_text()
    with DebugMemory(plans.machine.journal.parent) as memory:
        assert memory.edit_counts(), "what was found is not tried sooner the next time"


def test_a_search_that_needs_a_file_outside_of_the_bounds_says_which(plans: Plans) -> None:
    path = plan_file(plans, "notes.txt", actor="command", command="touch notes.txt")
    used = plans.use(path, "--profile", "supervised")
    executed = plans.run("execute", used.json["run_id"], "--json")
    assert executed.code == 3, executed.said
    assert "model.py" in json.dumps(executed.json)
    assert "// 10\n" in (plans.project / "model.py").read_text()


def test_a_step_that_search_is_not_sure_of_waits_for_a_yes(plans: Plans) -> None:
    (plans.project / "runtrue.toml").write_text("[policy]\nconfidence_floor = 1.0\n")
    made = plans.run("new", plan_file(plans, "model.py", actor="search"), "--json").json
    asked = plans.run("execute", made["run_id"], "--json")
    assert (asked.code, asked.json["status"], asked.json["why"]) == (3, "waiting", "unsure")
    assert asked.json["confidence"] < 1
    assert "10" in asked.json["question"]["diff"]
    shown = plans.run("status", made["run_id"])
    assert "question: is this fix right?" in shown.out
    assert f"confidence {asked.json['confidence']:.2f}" in shown.out
    done = plans.run("answer", made["run_id"], "yes", "--json")
    assert done.json["state"] == "complete"
    assert plans.run("apply", made["run_id"]).code == 0


@pytest.mark.parametrize(("floor", "state"), [(1.0, "waiting"), (0.0, "complete")])
def test_a_profile_has_a_floor_of_its_own_over_that_of_the_policy(
    plans: Plans, floor: float, state: str
) -> None:
    (plans.project / "runtrue.toml").write_text(f"[policy]\nconfidence_floor = {1 - floor}\n")
    file = plan_file(plans, "model.py", actor="search")
    keys = json.loads(file.read_text())
    keys["automation_profile"] = {"base": "cautious", "confidence_floor": floor}
    file.write_text(json.dumps(keys))
    done = plans.run("new", file, "--json")
    assert done.json["state"] == state, done.said
    if state == "waiting":
        undone = plans.run("answer", done.json["run_id"], "no", "--json")
        assert undone.json["why"] == "declined"
        assert "// 10\n" in Path(undone.json["sandbox"], "model.py").read_text()


def test_at_a_terminal_a_plan_asks_whether_to_go_on_with_the_fix(plans: Plans) -> None:
    (plans.project / "runtrue.toml").write_text("[policy]\nconfidence_floor = 1.0\n")
    made = plans.run("new", plan_file(plans, "model.py", actor="search"), "--json").json
    terminal = Terminal(plans.machine, "plan", "execute", made["run_id"], cwd=plans.project)
    terminal.read_until("Continue with this fix?")
    assert "// 100" in terminal.screen
    assert "confidence 0." in terminal.screen
    terminal.type("y\n")
    assert terminal.end() == 0
    assert plans.run("status", made["run_id"], "--json").json["state"] == "complete"
