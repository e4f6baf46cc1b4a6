"""What people are asked by a plan, and what comes of what they say or do, on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Done, Machine, MakeProject
from tests.cli.plans import HAS_TWO, NEEDS_MODEL, RATE_IS_RIGHT, REVISES, Plans


@pytest.fixture
def plans(machine: Machine, make_project: MakeProject) -> Plans:
    return Plans.at(machine, make_project)


def step(command: str, **more: object) -> dict[str, object]:
    """A strategy of one step."""
    one = {"id": "s1", "description": "add the tax", "actor": "command", "command": command}
    return {"steps": [{**one, "fixes": True, **more}]}


@pytest.mark.parametrize(
    ("profile", "strategy", "said"),
    [
        ("auto", step("echo two > handler.py", network=True), "it needs the network"),
        ("trusted", step("rm model.py; echo two > handler.py"), "it deleted model.py"),
    ],
)
def test_what_needs_approval_is_asked_for_and_no_revision_gets_around_it(
    profile: str, strategy: dict[str, object], said: str, plans: Plans
) -> None:
    agent = plans.script(REVISES, name="agent.sh")
    path = plans.file("", HAS_TWO, strategy=strategy, automation_profile=profile)
    asked = plans.run("new", path, "--agent", agent)
    assert asked.code == 3, asked.said
    assert f"{said}, which needs approval" in asked.out
    assert "question: may the plan do this? `yes` approves exactly this" in asked.out
    report = plans.run("status", "--json").json
    assert report["why"] == "needs_approval"
    assert report["plan"]["metadata"]["strategy_revisions"] == 0
    done = plans.run("answer", report["run_id"], "yes", "--json")
    assert done.code == 0, done.said
    assert [one["description"] for one in done.json["plan"]["steps"]] == ["add the tax"]


FAILS = step("echo two > handler.py; test -f model.txt")


def test_an_edit_does_not_stand_for_a_step_that_was_not_done(plans: Plans) -> None:
    path = plans.file("", HAS_TWO, strategy=FAILS, automation_profile="cautious")
    waiting = plans.use(path).json
    # What is required passes with the edit, and yet the step is to be done.
    Path(waiting["sandbox"], "handler.py").write_text("two\n")
    again = plans.run("answer", waiting["run_id"], "try it again", "--json")
    assert again.code == 3, again.said
    deeds = again.json["plan"]["deeds"]
    assert [deed["refused"] is not None for deed in deeds] == [True, True]
    Path(waiting["sandbox"], "model.txt").write_text("here\n")
    done = plans.run("answer", waiting["run_id"], "try it again", "--json")
    assert done.code == 0, done.said
    assert len(done.json["plan"]["deeds"]) == 3
    assert Path(waiting["sandbox"], "model.txt").exists()


def test_an_edit_does_not_stand_for_a_step_that_needs_approval(plans: Plans) -> None:
    strategy = step("echo two > handler.py", network=True)
    path = plans.file("", HAS_TWO, strategy=strategy, automation_profile="cautious")
    waiting = plans.use(path).json
    Path(waiting["sandbox"], "model.py").write_text("edited\n")
    done = plans.run("answer", waiting["run_id"], "yes", "--json")
    assert done.code == 0, done.said
    assert done.json["plan"]["deeds"][-1]["files"] == ["handler.py"]
    assert Path(waiting["sandbox"], "model.py").read_text() == "edited\n"


def test_a_step_counts_as_done_by_hand_when_the_person_says_so(plans: Plans) -> None:
    path = plans.file("", HAS_TWO, strategy=FAILS, automation_profile="cautious")
    waiting = plans.use(path).json
    Path(waiting["sandbox"], "handler.py").write_text("two by hand\n")
    done = plans.run("answer", waiting["run_id"], "done", "--json")
    assert done.code == 0, done.said
    assert len(done.json["plan"]["deeds"]) == 1
    assert plans.run("apply").code == 0
    assert plans.read("handler.py") == "two by hand\n"


def test_what_was_not_the_fault_of_the_code_is_validated_again_whatever_is_answered(
    plans: Plans,
) -> None:
    tool = plans.project.parent / "tool"
    path = plans.file(
        "echo two > handler.py",
        {"name": "tool", "command": f"{tool} handler.py"},
        automation_profile="cautious",
    )
    waiting = plans.use(path)
    assert (waiting.code, waiting.json["why"]) == (3, "not_the_candidate")
    still = plans.run("answer", waiting.json["run_id"], "is it there now?", "--json")
    assert still.code == 3, still.said
    tool.write_text("#!/bin/sh\ngrep -q two $1\n")
    tool.chmod(0o755)
    done = plans.run("answer", waiting.json["run_id"], "it is installed", "--json")
    assert done.code == 0, done.said
    assert done.json["plan"]["metadata"]["validation_attempts"] == {}


def test_what_was_done_by_hand_is_not_mended_by_a_command_that_was_not_allowed(
    plans: Plans,
) -> None:
    ran = plans.project.parent / "ran"
    strategy = step(f"touch {ran}; echo two > handler.py", network=True)
    path = plans.file("", HAS_TWO, strategy=strategy, automation_profile="cautious")
    waiting = plans.use(path).json
    Path(waiting["sandbox"], "handler.py").write_text("one\n")
    asked = plans.run("answer", waiting["run_id"], "done", "--json")
    assert asked.code == 3, asked.said
    assert not ran.exists()


@pytest.fixture
def revision(plans: Plans) -> dict[str, str]:
    """The report of a plan that asks whether its strategy may be revised, and was edited."""
    profile = {"base": "trusted", "auto_strategize": False}
    path = plans.file(plans.script(NEEDS_MODEL), RATE_IS_RIGHT, automation_profile=profile)
    waiting = plans.use(path)
    assert waiting.code == 3, waiting.said
    Path(waiting.json["sandbox"], "new.txt").write_text("by hand\n")
    report: dict[str, str] = waiting.json
    return report


def approve_edits(plans: Plans, asked: Done) -> None:
    """The edits lie beyond the bounds, so that they are asked about in the end."""
    assert (asked.code, asked.json["why"]) == (3, "edited"), asked.said
    done = plans.run("answer", asked.json["run_id"], "yes", "--json")
    assert done.code == 0, done.said
    assert "+by hand" in plans.run("diff").out


def test_edits_are_kept_when_a_revision_is_approved(plans: Plans, revision: dict[str, str]) -> None:
    approve_edits(plans, plans.run("answer", revision["run_id"], "yes", "--json"))


def test_edits_are_kept_and_validated_when_a_revision_is_not_approved(
    plans: Plans, revision: dict[str, str]
) -> None:
    Path(revision["sandbox"], "model.py").write_text("RATE = 0.1\n")
    said = "no, I have set the rate"
    approve_edits(plans, plans.run("answer", revision["run_id"], said, "--json"))
