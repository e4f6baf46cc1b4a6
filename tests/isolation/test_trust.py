"""Nothing that a project, or anybody else on the machine, left lying around counts by itself."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Done, Machine, write
from tests.isolation.ordinary import NOBODY, ROOT, as_nobody
from tests.project_python import project_path

SOMEBODY_ELSE = NOBODY - 1
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of others")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine whose user agreed to nothing yet."""
    machine = Machine(tmp_path, search=False, trusting=False)
    del machine.env["RUNTRUE_ISOLATION_WRITE"]
    return machine


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    clone = tmp_path / "home" / "clone"
    clone.mkdir(parents=True)
    return clone


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """A file that hostile code leaves where it was run."""
    return tmp_path / "it-ran"


def program(file: Path, mark: Path) -> None:
    """Make a program that leaves the mark."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\ntouch {mark}\necho 1.2.3\n")
    file.chmod(0o755)


def modes(home: Path) -> dict[str, int]:
    paths = [home, *(path for path in home.rglob("*") if "sandboxes" not in path.parts)]
    return {str(path): stat.S_IMODE(path.lstat().st_mode) for path in paths if path.exists()}


# -- homes ----------------------------------------------------------------------------------------


def test_a_runtrue_home_that_came_with_a_clone_does_not_count(
    machine: Machine, clone: Path, mark: Path
) -> None:
    write(clone, {".runtrue/mcp.json": json.dumps(_server(mark)), ".runtrue/workflows/x.json": ""})
    done = machine.runtrue("mcp", "tools", "evil", cwd=clone)
    assert (done.code, mark.exists()) == (2, False)
    assert f"{clone}/.runtrue is ignored: it came with files in it" in done.err
    assert "there is no MCP server 'evil'" in done.err
    assert machine.runtrue("trust", "--yes", cwd=clone).code == 0
    machine.runtrue("mcp", "tools", "evil", cwd=clone)
    assert mark.exists(), "it counts after a yes"


def test_a_clone_cannot_bring_the_mark_of_a_home_that_counts_elsewhere(
    machine: Machine, clone: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    (own / ".runtrue").mkdir(parents=True)
    assert machine.runtrue("runs", "list", cwd=own).err == "", "an empty one is the user's own"
    (own / ".runtrue").rename(clone / ".runtrue")
    assert "is ignored" in machine.runtrue("runs", "list", cwd=clone).err


def test_a_relative_runtrue_home_in_a_clone_brings_no_agreements(
    machine: Machine, clone: Path, mark: Path
) -> None:
    write(clone, {".mcp.json": json.dumps(_server(mark))})
    assert machine.runtrue("trust", "--yes", cwd=clone).code == 0
    (machine.home / ".runtrue").rename(clone / "brought")
    env = {"RUNTRUE_HOME": "brought"}
    done = machine.runtrue("mcp", "tools", "evil", cwd=clone, env=env)
    assert (done.code, mark.exists()) == (2, False)
    refused = machine.runtrue("trust", "--yes", cwd=clone, env=env)
    assert refused.code == 1
    assert "set it to an absolute path" in refused.err


@as_root
@pytest.mark.parametrize("name", [".runtrue/mcp.json", ".mcp.json"])
def test_servers_that_another_user_put_above_a_project_are_not_even_listed(
    machine: Machine, clone: Path, mark: Path, name: str
) -> None:
    write(clone, {name: json.dumps(_server(mark))})
    project = clone / "project"
    project.mkdir()
    _give_away(clone / name.split("/", maxsplit=1)[0])
    assert json.loads(machine.runtrue("mcp", "list", "--json", cwd=project).out)["servers"] == []


@as_root
def test_a_configuration_that_another_user_put_above_a_project_does_not_count(
    machine: Machine, clone: Path
) -> None:
    write(clone, {"runtrue.toml": '[checks.evil]\ncommand = "touch evil"\n', "project/a.py": ""})
    (clone / ".git").mkdir()
    _give_away(clone / "runtrue.toml")
    done = machine.runtrue("doctor", "--json", cwd=clone / "project")
    assert "touch evil" not in done.out
    assert f"{clone}/runtrue.toml is ignored: it belongs to another user" in done.out


def test_files_above_a_project_that_others_can_write_do_not_count(
    machine: Machine, clone: Path, mark: Path
) -> None:
    write(clone, {".mcp.json": json.dumps(_server(mark)), "project/a.py": ""})
    assert "evil" in machine.runtrue("mcp", "list", cwd=clone / "project").out
    (clone / ".mcp.json").chmod(0o666)
    assert "evil" not in machine.runtrue("mcp", "list", cwd=clone / "project").out


@as_root
def test_agreements_that_another_user_wrote_do_not_count(
    machine: Machine, clone: Path, mark: Path
) -> None:
    write(clone, {".mcp.json": json.dumps(_server(mark))})
    assert machine.runtrue("trust", "--yes", cwd=clone).code == 0
    _give_away(machine.home / ".runtrue" / "trust.json")
    done = machine.runtrue("mcp", "tools", "evil", cwd=clone)
    assert (done.code, mark.exists()) == (2, False)


@pytest.mark.parametrize("umask", [0o022, 0o000, 0o077])
def test_the_home_is_the_users_alone_whatever_the_umask(
    machine: Machine, clone: Path, umask: int
) -> None:
    workflow = '{"nodes": [{"id": "a", "type": "read-file", "params": {"file_path": "a"}}]}'
    write(clone, {"test_a.py": "def test_a():\n    assert 1 == 2\n", "w.json": workflow})
    for args in (["fix", "--json"], ["trust", "--yes"], ["save", "w.json", "--name", "w"]):
        _with_umask(machine, umask, *args, cwd=clone)
    found = modes(machine.home / ".runtrue")
    assert len(found) > 3
    assert {path: oct(mode) for path, mode in found.items() if mode & 0o077} == {}


def test_a_home_that_others_could_look_into_is_closed_with_a_note(machine: Machine) -> None:
    assert machine.runtrue("runs", "list").code == 0
    _with_umask(machine, 0o022, "do", "run `true`", cwd=machine.home)
    home = machine.home / ".runtrue"
    for path in (home, home / "journal.db"):
        path.chmod(0o755)
    done = _with_umask(machine, 0o022, "runs", "list", cwd=machine.home)
    assert f"closed {home} to other users" in done.err
    assert {path for path, mode in modes(home).items() if mode & 0o077} == set()
    assert _with_umask(machine, 0o022, "runs", "list", cwd=machine.home).err == "", "once"


# -- before the box -------------------------------------------------------------------------------


def test_a_tool_is_asked_for_its_version_where_no_file_of_the_project_is_read(
    machine: Machine, clone: Path, tmp_path: Path
) -> None:
    """As mvn reads .mvn/jvm.config, yarn .yarnrc.yml and rustup rust-toolchain.toml."""
    seen = tmp_path / "seen"
    tools = tmp_path / "tools"
    for name in ("mvn", "cargo", "yarn", "pytest", "ruff", "mypy", "node"):
        program(tools / name, seen)
        (tools / name).write_text(f'#!/bin/sh\n(pwd; env) >> {seen}\necho "{name} 1.2.3"\n')
    write(
        clone,
        {
            **{"pom.xml": "", "Cargo.toml": "", "setup.py": "", "yarn.lock": ""},
            "package.json": '{"scripts": {"test": "yarn jest"}}',
        },
    )
    planted = {"NODE_OPTIONS": "--require ./evil.js", "PYTHONPATH": str(clone), "MAVEN_OPTS": "-x"}
    env = {**planted, "JAVA_TOOL_OPTIONS": "-y", "PATH": f"{tools}:{project_path()}"}
    done = _run(machine, "doctor", "--json", cwd=clone, env=env)
    assert "1.2.3" in done.out
    lines = seen.read_text().splitlines()
    assert not [line for line in lines if str(clone) in line]
    names = {line.partition("=")[0] for line in lines}
    assert not names & {"NODE_OPTIONS", "PYTHONPATH", "MAVEN_OPTS", "JAVA_TOOL_OPTIONS"}


@pytest.mark.parametrize("command", ["doctor", "init", "fix"])
@pytest.mark.parametrize(
    "brought", [".venv/bin/python", "bin/python3", "bin/git", ".venv/bin/pytest"]
)
def test_a_program_of_the_clone_is_not_run_to_look_at_it(
    machine: Machine, clone: Path, mark: Path, brought: str, command: str
) -> None:
    write(clone, {"test_a.py": "def test_a(): pass\n", "pyproject.toml": "[tool.pytest]\n"})
    program(clone / brought, mark)
    if brought.startswith("bin/"):
        # The environment of the clone names a directory of the clone as where Python is.
        config = f"home = {clone / 'bin'}\ninclude-system-site-packages = true\n"
        write(clone, {".venv/pyvenv.cfg": config, ".venv/bin/.keep": ""})
        (clone / ".venv/bin/python").symlink_to(sys.executable)
    path = f"{machine.env['PATH']}:{clone}/bin"
    machine.runtrue(command, cwd=clone, env={"PATH": path, "RUNTRUE_SEARCH_SECONDS": "0"})
    assert not mark.exists()


@as_root
def test_none_of_it_succeeds_with_an_ordinary_user_either(tmp_path: Path) -> None:
    arguments = ["-q", "-p", "no:cacheprovider", f"{ROOT}/tests/isolation/test_trust.py"]
    done = as_nobody([sys.executable, "-m", "pytest", *arguments], tmp_path)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


def _server(mark: Path) -> dict[str, object]:
    return {"mcpServers": {"evil": {"command": "/bin/sh", "args": ["-c", f"touch {mark}"]}}}


def _give_away(path: Path) -> None:
    for one in (path, *path.rglob("*")):
        os.chown(one, SOMEBODY_ELSE, SOMEBODY_ELSE)


def _with_umask(machine: Machine, umask: int, *args: str, cwd: Path) -> Done:
    return _run(machine, *args, cwd=cwd, umask=umask)


def _run(
    machine: Machine, *args: str, cwd: Path, env: dict[str, str] | None = None, umask: int = -1
) -> Done:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "runtrue", *args],
        cwd=cwd,
        env={**machine.env, **(env or {})},
        umask=umask,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)
