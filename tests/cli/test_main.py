"""The command itself: help, version, completion, doctor, listing runs, pipes."""

from __future__ import annotations

import shlex
import subprocess
from importlib import import_module

import pytest

import runtrue
from runtrue.cli.main import COMMANDS
from tests.cli.conftest import LINT_ONLY, Machine, MakeProject


def test_help_lists_every_command_and_shows_examples(machine: Machine) -> None:
    done = machine.runtrue("--help")
    assert done.code == 0
    assert all(name in done.out for name in COMMANDS)
    assert "Examples:" in done.out
    assert machine.runtrue("-h").out == done.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_in_the_table_exists_and_has_the_help_the_table_says(name: str) -> None:
    module, _, attribute = COMMANDS[name][0].partition(":")
    command = getattr(import_module(module), attribute)
    assert command.name == name
    assert command.get_short_help_str(200) == COMMANDS[name][1]


def test_help_imports_neither_the_loops_nor_the_displays(machine: Machine) -> None:
    # Measuring coverage would import things of its own.
    env = {name: value for name, value in machine.env.items() if "COVERAGE" not in name}
    done = subprocess.run(
        [*machine.argv()[:1], "-X", "importtime", "-m", "runtrue", "--help"],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "click" in imported
    assert imported.isdisjoint({"rich", "asyncio", "sqlite3", "msgspec", "runtrue.loop"})


def test_version(machine: Machine) -> None:
    assert machine.runtrue("--version").out == f"runtrue {runtrue.__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_that_names_the_program(shell: str, machine: Machine) -> None:
    done = machine.runtrue("completion", shell)
    assert done.code == 0
    assert "_RUNTRUE_COMPLETE" in done.out


def test_completion_knows_commands_and_run_ids(machine: Machine, make_project: MakeProject) -> None:
    def complete(words: str, position: int) -> str:
        env = {
            "_RUNTRUE_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(position),
        }
        return machine.runtrue(env=env).out

    assert "plain,runs" in complete("runtrue ru", 1)
    assert complete("runtrue runs show ", 3).strip() == ""
    run_id = machine.runtrue("fix", "--json", cwd=make_project(LINT_ONLY)).json["run_id"]
    assert f"plain,{run_id}" in complete(f"runtrue runs show {run_id[:2]}", 3)


def test_doctor_tells_what_is_there_and_what_is_not(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(LINT_ONLY)
    done = machine.runtrue("doctor", "--json", cwd=project)
    assert done.code == 0, done.said
    facts = {fact["name"]: fact for fact in done.json["facts"]}
    assert facts["git"]["ok"]
    assert facts["sandbox"]["detail"].startswith("git worktree")
    assert "[tool.ruff] in pyproject.toml" in facts["checks"]["detail"]
    assert not facts["isolation"]["ok"]
    assert not facts["agent"]["ok"]
    assert "git" in machine.runtrue("doctor", cwd=project).out


def test_doctor_fails_when_something_needed_is_missing(machine: Machine) -> None:
    done = machine.runtrue("doctor", env={"PATH": "/nonexistent"})
    assert done.code == 1
    assert "git" in done.out
    assert "not found" in done.out


def test_doctor_reports_a_broken_config_and_goes_on(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({"runtrue.toml": "[polcy]\n"})
    done = machine.runtrue("doctor", cwd=project)
    assert done.code == 0
    assert "did you mean 'policy'?" in done.out


def test_runs_are_listed_newest_first_and_by_state(
    machine: Machine, make_project: MakeProject
) -> None:
    assert "no runs in" in machine.runtrue("runs", "list").out
    project = make_project(LINT_ONLY)
    ids = [machine.runtrue("fix", "--json", cwd=project).json["run_id"] for _ in range(2)]
    listed = machine.runtrue("runs", "list", "--json").json["runs"]
    assert [run["run_id"] for run in listed] == ids[::-1]
    assert [run["state"] for run in listed] == ["passed", "passed"]
    assert machine.runtrue("runs", "list", "--state", "failed", "--json").json["runs"] == []
    assert ids[0] in machine.runtrue("runs", "list").out


def test_output_that_nobody_reads_any_more_is_no_error(
    machine: Machine, make_project: MakeProject
) -> None:
    machine.runtrue("fix", cwd=make_project(LINT_ONLY))
    command = shlex.join(machine.argv("runs", "show"))
    done = subprocess.run(
        ["sh", "-c", f"{command} | true"],
        env=machine.env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""


def test_an_internal_error_is_one_sentence_and_debug_shows_where(machine: Machine) -> None:
    # A HOME that is no text at all is as good a surprise as any.
    breaking = (
        "import runtrue.home, sys; runtrue.home.Home.find = None; sys.argv[1:] = ['doctor']; "
    )
    program = [machine.argv()[0], "-c", f"{breaking}from runtrue.cli import main; main()"]
    done = subprocess.run(program, env=machine.env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "runtrue: internal error: TypeError" in done.stderr
    assert "Traceback" not in done.stderr
    env = {**machine.env, "RUNTRUE_DEBUG": "1"}
    debug = subprocess.run(program, env=env, capture_output=True, text=True, check=False)
    assert "Traceback" in debug.stderr
