"""Steps that need no other are done side by side, and merged in the order of the strategy."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.cli.conftest import Done, Machine, MakeProject
from tests.cli.plans import Plans

LINES = "one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture
def plans(machine: Machine, make_project: MakeProject) -> Plans:
    project = make_project({"list.txt": LINES})
    return Plans(machine, project)


def step(name: str, command: str, *needs: str) -> dict[str, Any]:
    return {"id": name, "description": name, "command": command, "needs": list(needs)}


def begin(plans: Plans, *steps: dict[str, Any], **more: Any) -> Done:
    plan = {
        "instruction": "several things",
        "automation_profile": {"base": "full-auto", "auto_apply": False},
        "strategy": {"steps": list(steps), **more},
        "validations": [{"name": "all", "command": "test $(wc -l < list.txt) -eq 5"}],
    }
    path = plans.project.parent / "plan.json"
    path.write_text(json.dumps(plan))
    return plans.run("new", path)


def test_steps_that_need_no_other_are_at_work_at_the_same_time(plans: Plans) -> None:
    there, back = plans.project.parent / "there", plans.project.parent / "back"
    for pipe in (there, back):
        os.mkfifo(pipe)
    # Each waits for the other: one after the other, neither would end in time.
    first = f"timeout 60 sh -c 'echo 1 > {there}; cat {back}' && sed -i s/one/ONE/ list.txt"
    second = f"timeout 60 sh -c 'cat {there}; echo 2 > {back}' && sed -i s/five/FIVE/ list.txt"
    done = begin(
        plans,
        step("first", first),
        step("second", second),
        step("copy", "cp list.txt copy.txt", "first", "second"),
    )
    assert done.code == 0, done.said
    assert done.said.count("step second: merged") == 1
    assert plans.run("apply").code == 0
    merged = "ONE\ntwo\nthree\nfour\nFIVE\n"
    assert (plans.read("list.txt"), plans.read("copy.txt")) == (merged, merged)


def test_a_step_that_clashes_with_one_beside_it_is_done_again_on_top_of_it(plans: Plans) -> None:
    done = begin(
        plans,
        step("upper", "sed -i s/one/ONE/ list.txt"),
        step("german", "sed -i s/^one/eins/I list.txt"),
    )
    assert done.code == 0, done.said
    why = "step german: done again, since a parallel step changed the same lines of list.txt"
    assert why in done.said
    assert plans.run("apply").code == 0
    assert plans.read("list.txt").startswith("eins\n")


def test_what_a_step_needs_is_there_when_it_begins(plans: Plans) -> None:
    done = begin(
        plans,
        step("words", "echo words > words.txt"),
        step("more", "cat words.txt words.txt > more.txt", "words"),
        step("other", "echo other > other.txt"),
    )
    assert done.code == 0, done.said
    # Only the two that need nothing were beside each other.
    assert "step more: merged" not in done.said
    assert plans.run("apply").code == 0
    assert plans.read("more.txt") == "words\nwords\n"


def test_bounds_hold_for_all_steps_together(plans: Plans) -> None:
    done = begin(
        plans,
        step("one", "echo one > one.txt"),
        step("two", "echo two > two.txt"),
        bounds={"max_files": 1},
    )
    assert done.code == 3, done.said
    assert "2 files would be changed, and the strategy allows 1" in done.said


def test_a_step_undone_by_a_person_is_not_taken_from_what_was_done_ahead(plans: Plans) -> None:
    begin(plans, step("one", "echo one > one.txt"), step("two", "echo two > two.txt"))
    corrected = plans.run("correct", "one", "--command", "echo other > one.txt")
    assert corrected.code == 0, corrected.said
    plans.run("execute")
    assert plans.run("apply").code == 0
    assert (plans.read("one.txt"), plans.read("two.txt")) == ("other\n", "two\n")


def test_a_need_that_is_no_earlier_step_is_refused_by_its_place(plans: Plans) -> None:
    done = begin(plans, step("one", "true"), step("two", "true", "three"))
    assert done.code == 2
    assert "'three' is no step before this one; there are `one`" in done.said


def test_the_tree_says_what_a_step_needs(plans: Plans) -> None:
    begin(plans, step("one", "true"), step("two", "true", "one"))
    said = plans.run("tree").said
    assert "needs no other step" in said
    assert "needs one" in said


def test_nothing_is_left_of_the_sandboxes_beside(plans: Plans, machine: Machine) -> None:
    begin(plans, step("one", "echo 1 > one.txt"), step("two", "echo 2 > two.txt"))
    (sandbox,) = (machine.home / ".runtrue" / "sandboxes").iterdir()
    assert not list((sandbox / "forks").glob("*"))
