"""The command itself: help, version, completion, doctor, listing runs, pipes."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

import runtrue
from runtrue.cli.doctor import doctor
from runtrue.cli.main import COMMANDS, JOBS, OLDER
from tests.cli.conftest import LINT_ONLY, Machine, MakeProject
from tests.trusting import trust_all


def test_help_lists_every_command_and_shows_examples(machine: Machine) -> None:
    done = machine.runtrue("--help")
    assert done.code == 0
    assert all(f"\n  {name} " in done.out for name in COMMANDS if name not in OLDER)
    assert not any(f"\n  {name} " in done.out for name in OLDER)
    assert "Examples:" in done.out
    assert machine.runtrue("-h").out == done.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_in_the_table_exists_and_has_the_help_the_table_says(name: str) -> None:
    module, _, attribute = COMMANDS[name][0].partition(":")
    command = getattr(import_module(module), attribute)
    assert command.name == name or OLDER.get(name)
    assert command.get_short_help_str(200) == COMMANDS[name][1]


def test_every_command_has_a_job_or_is_an_older_name() -> None:
    listed = [name for names in JOBS.values() for name in names]
    assert sorted([*listed, *OLDER]) == sorted(COMMANDS), "add a new command to JOBS"


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
    settings = "[tool.ruff.lint]\nselect = ['F']\n"
    project = make_project({**LINT_ONLY, "pyproject.toml": settings})
    done = machine.runtrue("doctor", "--json", cwd=project)
    assert done.code == 0, done.said
    facts = {fact["name"]: fact for fact in done.json["facts"]}
    assert facts["git"]["ok"]
    assert facts["sandbox"]["detail"].startswith("git worktree")
    assert "pyproject.toml:1 [tool.ruff]" in facts["checks"]["detail"]
    assert facts["isolation"]["ok"]
    assert facts["isolation"]["detail"].startswith("bubblewrap (at least landlock)")
    assert not facts["agent"]["ok"]
    assert "git" in machine.runtrue("doctor", cwd=project).out


def test_doctor_fails_when_something_needed_is_missing(machine: Machine) -> None:
    done = machine.runtrue("doctor", env={"PATH": "/nonexistent"})
    assert done.code == 1
    assert "git" in done.out
    assert "not found" in done.out


def examined(machine: Machine, project: Path, **env: str) -> dict[str, tuple[bool, str]]:
    """What doctor says of each thing: whether it is there, and the rest."""
    arguments = ["--json", str(project)]
    trust_all([project], machine.env)
    done = CliRunner().invoke(doctor, arguments, env={**machine.env, **env}, standalone_mode=False)
    facts = json.loads(done.stdout)["facts"]
    return {fact["name"]: (fact["ok"], fact["detail"]) for fact in facts}


def test_doctor_fails_for_a_broken_config_and_tells_it_once(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({"runtrue.toml": "[polcy]\n"})
    done = machine.runtrue("doctor", cwd=project)
    assert done.code == 1
    assert done.said.count("did you mean 'policy'?") == 1
    assert "memory" in done.out


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("no-such-program -q", "no-such-program"),
        ("no-such-program src/*.py", "no-such-program"),
        ("./no/such", "./no/such"),
        ("git --version", None),
        ("sub/run {files}", None),
        ("if true; then git --version; fi", None),
        ("cd sub && ./run", None),
        ("NAME=value git --version", None),
        ("{files}", None),
    ],
)
def test_doctor_names_the_program_of_a_check_or_scanner_that_is_not_there(
    command: str, missing: str | None, machine: Machine, make_project: MakeProject
) -> None:
    toml = f"[checks.a]\ncommand = '{command}'\n[security]\ncommand = '{command}'\n"
    project = make_project({"runtrue.toml": toml, "sub/run": "#!/bin/sh\n"}, git=False)
    (project / "sub/run").chmod(0o755)
    facts = examined(machine, project)
    expected = f"not found: {missing}; a: {command}" if missing else f"a: {command}"
    assert facts["checks"] == (missing is None, expected)
    expected = f"not found: {missing}; {command}" if missing else command
    assert facts["scanner"] == (missing is None, expected)


def test_doctor_looks_for_a_check_where_it_is_run(
    machine: Machine, make_project: MakeProject
) -> None:
    toml = '[checks.a]\ncommand = "./run"\ndirectory = "sub"\n'
    project = make_project({"runtrue.toml": toml, "sub/run": "#!/bin/sh\n"}, git=False)
    assert examined(machine, project)["checks"] == (False, "not found: ./run; a: ./run")
    (project / "sub/run").chmod(0o755)
    assert examined(machine, project)["checks"] == (True, "a: ./run")


@pytest.mark.parametrize(
    ("files", "tools"),
    [
        ({"README": ""}, {"pytest", "ruff", "mypy"}),
        ({"Cargo.toml": "", "pom.xml": ""}, {"cargo", "mvn"}),
        ({"Cargo.toml": "", "scripts/make.py": ""}, {"cargo", "pytest", "ruff", "mypy"}),
        ({"build.gradle": "", "gradlew": ""}, set()),
        ({"go.mod": "", "a_test.go": ""}, {"go"}),
    ],
)
def test_doctor_looks_for_the_tools_of_the_languages_that_are_there(
    files: dict[str, str], tools: set[str], machine: Machine, make_project: MakeProject
) -> None:
    programs = make_project({"cargo": "#!/bin/sh\necho cargo 1.2.3\n"}, name="bin", git=False)
    (programs / "cargo").chmod(0o755)
    facts = examined(machine, make_project(files, git=False), PATH=str(programs))
    known = {"pytest", "ruff", "mypy", "cargo", "mvn", "gradle", "go"}
    assert facts.keys() & known == tools
    if "mvn" in tools:
        assert facts["cargo"] == (True, f"1.2.3 at {programs / 'cargo'}")
        assert facts["mvn"] == (False, "not found; checks that use it cannot run")


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
    project = make_project(LINT_ONLY)
    machine.runtrue("fix", cwd=project)
    command = shlex.join(machine.argv("runs", "show"))
    done = subprocess.run(
        ["sh", "-c", f"{command} | true"],
        cwd=project,
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


def test_warnings_of_code_that_is_only_tried_do_not_reach_the_user() -> None:
    script = """
import sys
from runtrue.cli import main
sys.argv = ["runtrue", "--version"]
try:
    main()
except SystemExit:
    compile("price is 0", "<condition>", "eval")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
