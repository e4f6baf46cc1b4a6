"""The time that a plan may take holds for whoever is at work, on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Machine, MakeProject
from tests.cli.plans import HAS_TWO, Plans

#: Longer than any test may take.
HANGS = "sleep 1000"


@pytest.fixture
def plans(machine: Machine, make_project: MakeProject) -> Plans:
    return Plans.at(machine, make_project)


def spent(plans: Plans, path: str | Path, *args: str) -> dict[str, Any]:
    """The report of a plan that ran out of time."""
    done = plans.run("new", path, *args, "--json")
    assert done.code == 1, done.said
    report: dict[str, Any] = done.json
    assert (report["state"], report["why"]) == ("failed", "budget")
    assert report["plan"]["budget"]["seconds"] >= report["plan"]["budget"]["max_time"]
    return report


def test_a_step_that_hangs_is_cut_off_and_not_tried_again(plans: Plans) -> None:
    path = plans.file(HANGS, HAS_TWO, automation_profile="cautious", max_time=1)
    report = spent(plans, path)
    assert len(report["plan"]["deeds"]) == 1
    assert Path(report["sandbox"]).is_dir()
    assert f"sandbox: {report['sandbox']}" in plans.run("status", report["run_id"]).out


@pytest.mark.parametrize("mode", ["required", "informational"])
def test_a_validation_that_hangs_is_cut_off_and_the_plan_is_never_complete(
    mode: str, plans: Plans
) -> None:
    hangs = {"name": "hangs", "command": HANGS, "mode": mode}
    path = plans.file(
        "echo two > handler.py", HAS_TWO, hangs, automation_profile="cautious", max_time=3
    )
    report = spent(plans, path)
    assert Path(report["sandbox"], "handler.py").read_text() == "two\n"
    assert plans.run("apply", report["run_id"]).code == 2


def test_a_fixer_that_hangs_is_cut_off(plans: Plans) -> None:
    hangs = plans.script(f"if grep -q one handler.py; then {HANGS}; fi; echo one > handler.py")
    path = plans.file(hangs, HAS_TWO, automation_profile="cautious", max_time=3)
    report = spent(plans, path)
    assert [one["reason"] for one in report["rejected"]] == ["fixer_failed"]
    assert Path(report["sandbox"], "handler.py").read_text() == "one\n"


def test_a_strategist_that_hangs_is_cut_off(plans: Plans) -> None:
    (plans.project / "runtrue.toml").write_text(f'[checks.two]\ncommand = "{HAS_TWO["command"]}"\n')
    profile = '[plans.profiles.short]\nbase = "cautious"\nmax_time = 1\n'
    with (plans.project / "runtrue.toml").open("a") as file:
        file.write(profile)
    report = spent(plans, "Write two", "--profile", "short", "--agent", HANGS)
    assert report["phase"] == "strategize"
