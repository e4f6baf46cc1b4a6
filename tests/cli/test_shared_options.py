"""What every command understands: older names, -C, -q, -v and --color."""

from __future__ import annotations

import pytest

from runtrue.cli.main import OLDER
from tests.cli.conftest import LINT_ONLY, Machine, MakeProject


@pytest.mark.parametrize("name", OLDER)
def test_an_older_name_works_and_says_the_new_one(name: str, machine: Machine) -> None:
    done = machine.runtrue(name, "--help")
    assert done.code == 0
    assert done.err == f"runtrue: `runtrue {name}` is now `runtrue {OLDER[name]}`\n"
    assert "Usage: runtrue" in done.out


@pytest.mark.parametrize(("old", "new"), [("use", "new"), ("prompt", "answer")])
def test_an_older_name_of_a_plan_command_works(old: str, new: str, machine: Machine) -> None:
    done = machine.runtrue("plan", old, "--help")
    assert done.err == f"runtrue: `runtrue plan {old}` is now `runtrue plan {new}`\n"
    assert f"\n  {old} " not in machine.runtrue("plan", "--help").out


def test_an_unknown_command_of_a_group_gets_the_nearest_name(machine: Machine) -> None:
    done = machine.runtrue("plan", "exceute")
    assert done.code == 2
    assert "there is no command 'exceute' in `runtrue plan`; did you mean 'execute'?" in done.err


def test_dash_c_works_elsewhere(machine: Machine, make_project: MakeProject) -> None:
    project = make_project(LINT_ONLY)
    made = machine.runtrue("-C", project, "fix", "--json").json
    assert made["project"] == str(project)
    after = machine.runtrue("fix", "--json", "-C", project).json
    assert after["project"] == str(project)
    done = machine.runtrue("-C", project / "nowhere", "runs", "list")
    assert done.code == 2
    assert "cannot work in" in done.err


def test_quiet_shows_results_and_no_progress(machine: Machine, make_project: MakeProject) -> None:
    project = make_project(LINT_ONLY)
    loud, quiet = machine.runtrue("fix", cwd=project), machine.runtrue("fix", "-q", cwd=project)
    assert "attempt 1" in loud.err
    assert quiet.err == ""
    assert "+++ b/" in quiet.out
    assert "passed" in quiet.out


def test_verbose_shows_every_event(machine: Machine, make_project: MakeProject) -> None:
    project = make_project(LINT_ONLY)
    assert "event check_finished" in machine.runtrue("-v", "fix", cwd=project).err
    assert "event check_finished" not in machine.runtrue("fix", cwd=project).err


def test_color_is_as_asked_for(machine: Machine, make_project: MakeProject) -> None:
    project = make_project(LINT_ONLY)
    coloured = machine.runtrue("fix", "--color", "always", cwd=project, env={"NO_COLOR": "1"})
    assert "\x1b[" in coloured.out
    for plain in (["--color", "never", "hooks", "status"], ["hooks", "status"]):
        assert "\x1b[" not in machine.runtrue(*plain, cwd=project).out
    assert "\x1b[" in machine.runtrue("--color", "always", "hooks", "status", cwd=project).out


def test_runs_are_those_of_the_project_unless_all(
    machine: Machine, make_project: MakeProject
) -> None:
    one, other = make_project(LINT_ONLY, name="one"), make_project(LINT_ONLY, name="other")
    first = machine.runtrue("fix", "--json", cwd=one).json["run_id"]
    second = machine.runtrue("fix", "--json", cwd=other).json["run_id"]
    assert first in machine.runtrue("runs", "list", cwd=one).out
    assert second not in machine.runtrue("runs", "list", cwd=one).out
    listed = machine.runtrue("runs", "list", "--all", cwd=one).out
    assert first in listed
    assert second in listed
