"""What held is tried sooner: a verified fix by search is remembered by its kind of edit."""

from __future__ import annotations

from pathlib import Path

from runtrue.memory import DebugMemory
from tests.cli.conftest import Machine, write

SHIPPING = {
    "shipping.py": """
        def shipping(total):
            return 0 if total > 50 else 4
    """,
    "test_shipping.py": """
        from shipping import shipping


        def test_small_orders_pay():
            assert shipping(49) == 4


        def test_free_from_fifty():
            assert shipping(50) == 0
    """,
}


def test_a_verified_fix_counts_for_its_kind_and_cause(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    project = tmp_path / "project"
    write(project, SHIPPING)
    done = machine.runtrue("fix", project, "--json")
    assert done.code == 0, done.said
    part = done.json["attempts"][-1]["fix"]["parts"][0]
    assert part["fixer"] == "search"
    with DebugMemory(machine.home / ".runtrue") as memory:
        held = memory.edit_counts()
    assert held == {("wrong_value", kind): 1 for kind in part["analysis"]["patterns_matched"]}
    assert held


def test_the_record_tells_every_step_of_the_search(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    project = tmp_path / "project"
    write(project, SHIPPING)
    done = machine.runtrue("fix", project, "--json")
    trace = done.json["attempts"][-1]["fix"]["parts"][0]["trace"]
    assert trace["candidates"] == sum(step.get("candidates", 0) for step in trace["steps"]) > 0
    assert trace["suspects"][0].startswith("shipping.py:")
    assert trace["stopped"] in ("enough", "exhausted")
    assert [step["step"] for step in trace["steps"]] == ["search", "choose"]
    assert trace["solutions"][trace["chosen"]]["confidence"] > 0


def test_token_repairs_are_told_like_other_edits_and_are_the_same_each_time(
    tmp_path: Path,
) -> None:
    broken = SHIPPING["shipping.py"].replace("> 50 else 4", ">= 50 els 4")
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        machine = Machine(tmp_path / name)
        project = tmp_path / name / "project"
        write(project, {**SHIPPING, "shipping.py": broken})
        report = machine.runtrue("fix", project, "--json").json
        trace = report["attempts"][-1]["fix"]["parts"][0]["trace"]
        (step,) = trace["steps"]
        assert (step["step"], step["stopped"]) == ("tokens", trace["stopped"])
        assert sum(step["ends"].values()) == step["candidates"] > 1
        found.append((report["diff"], step, trace["solutions"]))
    assert found[0] == found[1]


def test_the_same_project_gives_the_same_diff_and_the_same_steps(tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        machine = Machine(tmp_path / name)
        project = tmp_path / name / "project"
        write(project, SHIPPING)
        report = machine.runtrue("fix", project, "--json").json
        trace = report["attempts"][-1]["fix"]["parts"][0]["trace"]
        for step in trace["steps"]:
            # On a busy machine, one that fails may not do so in time.
            step.pop("ends", None)
        found.append((report["diff"], trace["steps"], trace["solutions"]))
    assert found[0] == found[1]
