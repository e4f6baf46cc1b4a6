"""What people are asked by a plan, and what comes of what they say or do, on the command line."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Machine, MakeProject
from tests.cli.plans import HAS_TWO, REVISES, Plans


@pytest.fixture
def plans(machine: Machine, make_project: MakeProject) -> Plans:
    return Plans.at(machine, make_project)


def step(command: str, **more: object) -> dict[str, object]:
    """A strategy of one step."""
    one = {"id": "s1", "description": "add the tax", "actor": "command", "command": command}
    return {"steps": [{**one, **more}]}


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
    asked = plans.run("use", path, "--agent", agent)
    assert asked.code == 3, asked.said
    assert f"{said}, which needs approval" in asked.out
    assert "asks: may this be done? `yes` approves exactly that" in asked.out
    report = plans.run("status", "--json").json
    assert report["why"] == "needs_approval"
    assert report["plan"]["metadata"]["strategy_revisions"] == 0
    done = plans.run("prompt", report["run_id"], "yes", "--json")
    assert done.code == 0, done.said
    assert [one["description"] for one in done.json["plan"]["steps"]] == ["add the tax"]
