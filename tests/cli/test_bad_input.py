"""Bad input gets one clear sentence, a proper exit code, and nothing is lost."""

from __future__ import annotations

import os
import shlex
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import LINT_ONLY, WITH_BUG, Done, Machine, MakeProject, content


def one_sentence(done: Done) -> str:
    """The one line that is said about a mistake."""
    lines = [line for line in done.err.splitlines() if line.startswith("runtrue: ")]
    assert len(lines) == 1, done.said
    assert done.out == ""
    return lines[0]


def test_an_unknown_check_says_which_there_are(machine: Machine, make_project: MakeProject) -> None:
    project = make_project(LINT_ONLY)
    done = machine.runtrue("fix", "--check", "pytset", cwd=project)
    assert done.code == 2
    assert "unknown check 'pytset'" in one_sentence(done)
    assert "(it has: pytest, ruff)" in done.err


@pytest.mark.parametrize("check", ["", "'never closed"])
def test_a_check_that_cannot_be_read_is_refused(
    check: str, machine: Machine, make_project: MakeProject
) -> None:
    done = machine.runtrue("fix", "--check", check, cwd=make_project(LINT_ONLY))
    assert done.code == 2
    assert "check" in one_sentence(done)


def test_a_path_that_is_not_there_and_one_that_is_no_directory(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(LINT_ONLY)
    missing = machine.runtrue("fix", project / "nowhere")
    assert missing.code == 2
    assert "does not exist" in one_sentence(missing)
    file = machine.runtrue("fix", project / "shop.py")
    assert file.code == 2
    assert "is not a directory" in one_sentence(file)


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_a_path_that_cannot_be_read(machine: Machine, make_project: MakeProject) -> None:
    project = make_project(LINT_ONLY)
    project.chmod(0)
    try:
        done = machine.runtrue("fix", project)
    finally:
        project.chmod(0o755)
    assert done.code == 2
    assert "permission denied" in one_sentence(done)


def test_a_project_without_any_check_says_how_to_name_one(
    machine: Machine, make_project: MakeProject
) -> None:
    done = machine.runtrue("fix", cwd=make_project({"notes.txt": "nothing to run\n"}))
    assert done.code == 2
    assert "--check" in one_sentence(done)


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ("[policy\n", "runtrue.toml:1: "),
        ("[policy]\nmax_atempts = 3\n", "runtrue.toml:2: policy.max_atempts: unknown key"),
        ("[policy]\nmax_attempts = 0\n", "runtrue.toml:2: policy.max_attempts: "),
        ('[checks.tests]\ncommand = "x"\ntimout = 3\n', "runtrue.toml:3: checks.tests.timout: "),
        ('[fixers]\norder = ["tol"]\n', "runtrue.toml:2: fixers.order: there is no fixer 'tol'"),
    ],
)
def test_a_broken_config_is_named_with_line_and_key(
    config: str, complaint: str, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({**LINT_ONLY, "runtrue.toml": config})
    done = machine.runtrue("fix", cwd=project)
    assert done.code == 2
    assert complaint in one_sentence(done)


def test_a_worktree_outside_of_git_is_refused(machine: Machine, make_project: MakeProject) -> None:
    done = machine.runtrue("fix", "--worktree", cwd=make_project(LINT_ONLY, git=False))
    assert done.code == 2
    assert "use --copy" in one_sentence(done)


def test_only_informational_checks_could_never_fail(
    machine: Machine, make_project: MakeProject
) -> None:
    config = '[checks.lint]\ncommand = "ruff check ."\nmode = "informational"\n'
    done = machine.runtrue("fix", cwd=make_project({**LINT_ONLY, "runtrue.toml": config}))
    assert done.code == 2
    assert 'mode = "required"' in one_sentence(done)


def test_an_unknown_run_says_which_are_the_latest(
    machine: Machine, make_project: MakeProject
) -> None:
    assert "there are no runs" in one_sentence(machine.runtrue("runs", "show"))
    first = machine.runtrue("fix", "--json", cwd=make_project(LINT_ONLY)).json["run_id"]
    done = machine.runtrue("runs", "show", "zzz")
    assert done.code == 2
    assert f"latest runs: {first}" in one_sentence(done)
    nobody = machine.runtrue("runs", "show", "")
    assert nobody.code == 2
    assert "cannot be empty" in one_sentence(nobody)


def test_an_unknown_command_is_answered_with_the_nearest(machine: Machine) -> None:
    done = machine.runtrue("fxi")
    assert done.code == 2
    assert "did you mean 'fix'?" in done.err


def test_a_mistake_with_json_gives_one_document_all_the_same(machine: Machine) -> None:
    for args in (["fix", "nowhere", "--json"], ["fix", "--nonsense", "--json"]):
        done = machine.runtrue(*args)
        assert done.code == 2
        assert done.json["status"] == "failed"
        assert done.json["error"]


def test_an_answer_nobody_asked_for_is_refused(machine: Machine, make_project: MakeProject) -> None:
    config = '[fixers]\norder = ["human"]\n'
    project = make_project({**WITH_BUG, "runtrue.toml": config})
    assert machine.runtrue("fix", cwd=project).code == 3
    assert machine.runtrue("runs", "cancel").code == 0
    done = machine.runtrue("runs", "resume", "--answer", "yes", "--json")
    assert done.code == 2
    assert "has ended" in done.json["error"]


def test_a_home_that_cannot_be_written_is_named(
    machine: Machine, make_project: MakeProject
) -> None:
    blocked = machine.home / "blocked"
    blocked.write_text("a file where the directory should be")
    env = {"RUNTRUE_HOME": str(blocked)}
    done = machine.runtrue("fix", cwd=make_project(LINT_ONLY), env=env)
    assert done.code == 1
    assert "cannot be opened" in one_sentence(done)
    assert "RUNTRUE_HOME" in done.err


def test_a_journal_that_is_no_database_is_left_alone(
    machine: Machine, make_project: MakeProject
) -> None:
    machine.journal.parent.mkdir()
    machine.journal.write_text("these are somebody's notes\n" * 100)
    done = machine.runtrue("fix", cwd=make_project(LINT_ONLY))
    assert done.code == 1
    assert "is damaged: file is not a database; move it away" in one_sentence(done)
    assert machine.journal.read_text().startswith("these are somebody's notes")


def _can_mount() -> bool:
    unshare = shutil.which("unshare")
    command = ["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "x", "/mnt"]
    return (
        bool(unshare) and not subprocess.run(command, capture_output=True, check=False).returncode
    )


@pytest.mark.skipif(not _can_mount(), reason="a small disk cannot be mounted here")
def test_a_full_disk_is_one_sentence_and_the_run_goes_on_when_there_is_space(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(LINT_ONLY)
    before = content(project)
    disk = tmp_path / "disk"
    disk.mkdir()
    # The disk is small enough for the journal to fill it together with what lies there already;
    # freeing that is what a person would do.
    script = f"""
        set -e
        mount -t tmpfs -o size=1m tmpfs {disk}
        head -c 900000 /dev/zero > {disk}/ballast || true
        code=0; "$@" fix --copy || code=$?
        echo "first: $code" >&2
        rm {disk}/ballast; mount -o remount,size=64m {disk}
        exec "$@" fix --apply
    """
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", *machine.argv()],
        cwd=project,
        env={**machine.env, "RUNTRUE_HOME": str(disk / "home")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("runtrue: ")]
    assert len(said) == 1, done.stderr
    assert "first: 1" in done.stderr
    assert "space" in said[0] or "full" in said[0]
    assert done.returncode == 0, done.stderr
    assert content(project) != before


def test_what_the_machine_refuses_is_one_sentence(
    machine: Machine, make_project: MakeProject
) -> None:
    full = subprocess.run(
        ["sh", "-c", f"{shlex.join(machine.argv('runs', 'list', '--json'))} > /dev/full"],
        env=machine.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert full.returncode == 1
    assert full.stderr == "runtrue: operating system error: No space left on device\n"
    gone = machine.home / "gone"
    gone.mkdir()
    command = f"cd {gone} && rmdir {gone} && {shlex.join(machine.argv('runs', 'list'))}"
    nowhere = subprocess.run(
        ["sh", "-c", command], env=machine.env, capture_output=True, text=True, check=False
    )
    assert nowhere.returncode == 1
    assert nowhere.stderr.startswith("runtrue: operating system error: ")


def test_names_that_are_no_text_are_refused(machine: Machine, make_project: MakeProject) -> None:
    done = machine.runtrue("fix", "--check", "echo \udcff", cwd=make_project(LINT_ONLY))
    assert done.code == 2
    assert "is not UTF-8 text" in one_sentence(done)


def test_a_config_that_is_no_file_is_a_mistake_and_not_an_absence(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(LINT_ONLY)
    (project / "runtrue.toml").mkdir()
    done = machine.runtrue("fix", cwd=project)
    assert done.code == 2
    assert "runtrue.toml: cannot be read" in one_sentence(done)


def test_a_damaged_run_in_the_journal_is_one_sentence(
    machine: Machine, make_project: MakeProject
) -> None:
    machine.runtrue("fix", cwd=make_project(LINT_ONLY))
    with closing(sqlite3.connect(machine.journal)) as db, db:
        db.execute("UPDATE runs SET input = '{broken'")
    done = machine.runtrue("runs", "list")
    assert done.code == 1
    assert "is damaged" in one_sentence(done)


def test_without_git_no_run_is_begun(machine: Machine, make_project: MakeProject) -> None:
    project = make_project(LINT_ONLY)
    done = machine.runtrue("fix", cwd=project, env={"PATH": "/nonexistent"})
    assert done.code == 1
    assert "install git" in one_sentence(done)
    assert not machine.journal.exists()
