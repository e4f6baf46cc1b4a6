"""`runtrue trust`: shown item by item, recorded for one content, asked again when it changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Machine, MakeProject, write
from tests.cli.test_bad_input import one_sentence
from tests.cli.test_terminal import Terminal

CHECKS = '[checks.tests]\ncommand = "true"\n'
AGENT = '[fixers.agent]\ncommand = "some-agent"\n'
WIDE = f'{CHECKS}{AGENT}[isolation]\nnetwork = ["example.org:443"]\n'
SERVERS = json.dumps({"mcpServers": {"time": {"command": "mcp-server-time", "args": ["${TZ}"]}}})


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine whose user agreed to nothing yet."""
    return Machine(tmp_path, search=False, trusting=False)


@pytest.fixture
def clone(make_project: MakeProject) -> Path:
    return make_project({"runtrue.toml": WIDE, ".mcp.json": SERVERS}, name="clone")


def test_a_project_of_checks_and_restrictions_asks_for_nothing(
    machine: Machine, make_project: MakeProject
) -> None:
    strict = '[isolation]\nminimum = "bubblewrap"\n[isolation.limits]\nmemory = 512\n'
    project = make_project({"runtrue.toml": f"{CHECKS}{strict}", "a.py": ""})
    done = machine.runtrue("trust", cwd=project)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{project} needs no agreement from you\n"
    fixed = machine.runtrue("fix", cwd=project)
    assert (fixed.code, "trust" in fixed.said) == (0, False)


def test_what_runtrue_init_writes_needs_no_agreement(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({"test_a.py": "def test_a():\n    assert 1\n", "setup.cfg": ""})
    assert machine.runtrue("init", cwd=project).code == 0
    assert machine.runtrue("trust", cwd=project).code == 0


def test_everything_is_shown_and_nothing_recorded_without_a_yes(
    machine: Machine, clone: Path
) -> None:
    shown = machine.runtrue("trust", clone)
    assert shown.code == 3
    assert shown.out.splitlines() == [
        f"{clone}/runtrue.toml (not trusted)",
        '  lets commands connect to hosts: [isolation] network = ["example.org:443"]',
        '  runs a coding agent, with the network: [fixers.agent] command = "some-agent"',
        f"{clone}/.mcp.json (not trusted)",
        "  starts the MCP server time: mcp-server-time '${TZ}'; gets TZ of your environment",
    ]
    assert machine.runtrue("trust", "list").out.startswith("nothing is trusted")
    assert not (machine.home / ".runtrue").exists()


def test_a_yes_is_kept_for_the_content_and_a_change_says_what_is_new(
    machine: Machine, clone: Path
) -> None:
    agreed = machine.runtrue("trust", clone / "runtrue.toml", "--yes", "--json").json
    assert [file["trusted"] for file in agreed["files"]] == [True, True]
    assert machine.runtrue("trust", cwd=clone).code == 0
    (clone / "runtrue.toml").write_text(WIDE.replace("some-agent", "other-agent"))
    changed = machine.runtrue("fix", "--json", cwd=clone)
    assert "changed since you trusted it: new: runs a coding agent" in changed.err
    assert '"other-agent"; gone: runs a coding agent' in changed.err
    assert "`runtrue trust " in changed.err
    waiting = machine.runtrue("trust", "--json", cwd=clone)
    assert (waiting.code, waiting.json["status"]) == (3, "waiting")
    assert [file["trusted"] for file in waiting.json["files"]] == [False, True]
    (clone / "runtrue.toml").write_text(WIDE)
    assert machine.runtrue("trust", cwd=clone).code == 0, "as after a change of branch"


def test_an_agreement_is_listed_and_taken_back(machine: Machine, clone: Path) -> None:
    assert machine.runtrue("trust", "--yes", cwd=clone).code == 0
    listed = machine.runtrue("trust", "list", "--json").json["agreements"]
    assert [one["path"] for one in listed] == [f"{clone}/runtrue.toml", f"{clone}/.mcp.json"]
    revoked = machine.runtrue("trust", "revoke", clone / ".mcp.json", "--json").json
    assert revoked["revoked"] == [f"{clone}/.mcp.json"]
    assert machine.runtrue("mcp", "tools", "time", cwd=clone, env={"TZ": "UTC"}).code == 2
    assert "no longer trusted: " in machine.runtrue("trust", "revoke", cwd=clone).out
    assert "nothing in" in machine.runtrue("trust", "revoke", cwd=clone).out


def test_another_owner_or_path_is_another_question(
    machine: Machine, clone: Path, tmp_path: Path
) -> None:
    assert machine.runtrue("trust", "--yes", cwd=clone).code == 0
    clone.rename(tmp_path / "moved")
    assert machine.runtrue("trust", cwd=tmp_path / "moved").code == 3


def test_other_settings_of_a_pyproject_may_change(machine: Machine, tmp_path: Path) -> None:
    text = '[tool.runtrue.fixers.agent]\ncommand = "some-agent"\n'
    write(tmp_path / "clone", {"pyproject.toml": text})
    assert machine.runtrue("trust", "--yes", cwd=tmp_path / "clone").code == 0
    write(tmp_path / "clone", {"pyproject.toml": f"[project]\nname = 'x'\n{text}"})
    assert machine.runtrue("trust", cwd=tmp_path / "clone").code == 0


def test_a_path_that_is_not_there_is_one_sentence(machine: Machine) -> None:
    assert "does not exist" in one_sentence(machine.runtrue("trust", "nowhere"))


def test_a_command_on_a_terminal_asks_once_and_shows_what(machine: Machine, clone: Path) -> None:
    first = Terminal(machine, "fix", cwd=clone)
    first.read_until("Trust this as it is now?")
    assert "some-agent" in first.screen
    assert "mcp-server-time" not in first.screen, "fix starts no server"
    first.type("y\n")
    assert first.end() == 0
    again = Terminal(machine, "fix", cwd=clone)
    assert again.end() == 0
    assert "Trust" not in again.screen


def test_a_no_on_a_terminal_goes_on_without(machine: Machine, clone: Path) -> None:
    asked = Terminal(machine, "fix", cwd=clone)
    asked.read_until("Trust this as it is now?")
    asked.type("n\n")
    assert asked.end() == 0
    assert "is not trusted; ignored" in asked.screen.replace("\r\n", " ")


def test_a_workflow_without_the_servers_of_a_clone_asks_for_nothing(
    machine: Machine, clone: Path
) -> None:
    write(clone, {"w.yaml": "nodes: [{id: a, type: read-file, params: {file_path: w.yaml}}]"})
    (clone / "runtrue.toml").unlink()
    done = machine.runtrue("run", "w.yaml", cwd=clone)
    assert (done.code, "trust" in done.said) == (0, False)


def test_the_users_own_minimum_holds_for_every_project(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({"runtrue.toml": f'{CHECKS}[isolation]\nwrite = ["/srv"]\n'})
    assert machine.runtrue("trust", "--yes", cwd=project).code == 0
    write(machine.home / ".runtrue", {"runtrue.toml": '[isolation]\nminimum = "bubblewrap"\n'})
    done = machine.runtrue("fix", cwd=project)
    assert "you require more isolation: lets commands write further files" in done.err
    env = {"RUNTRUE_ISOLATION": "landlock"}
    assert "weaker than the minimum" in machine.runtrue("fix", cwd=project, env=env).err


def test_a_server_that_did_not_answer_once_costs_later_tasks_nothing(
    machine: Machine, tmp_path: Path
) -> None:
    started = tmp_path / "started"
    command = ("sh", "-c", f"echo x >> {started}; exit 1")
    assert machine.runtrue("mcp", "add", "broken", "--unasked", *command).code == 0
    for _ in range(3):
        assert machine.runtrue("do", "run `true`").code == 0
    # Two ways of greeting are tried once.
    assert len(started.read_text().splitlines()) == 2
