"""The README: its example is real, and so are its commands."""

import json
import os
import shlex
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from runtrue.cli.demo_projects import SHOP, STOCK
from runtrue.cli.main import OLDER
from tests.cli.warm import run_runtrue
from tests.project_python import project_path

from .generate import SESSION_PARTS, Part, command_paths, replayed
from .pages import README, ROOT, blocks
from .sessions import commands_of, normalised

#: Commands that cannot be run here as they are written, and the test that stands for each.
ELSEWHERE = {
    'pip install "runtrue[checks]"': "test_what_is_installed_works",
    "scripts/demo": "test_demo",
    "scripts/test": "this very run",
    "scripts/docs": "test_pages_show_what_the_program_says",
}


TASK, SHOP_PART = (part for part in SESSION_PARTS if part.page == README)


@pytest.mark.parametrize("part", [TASK, SHOP_PART], ids=lambda part: str(part.name))
def test_example_is_what_the_program_prints(part: Part) -> None:
    assert normalised(part.shown()) == normalised(replayed(part)), "run scripts/docs"


def test_example_is_on_the_first_screen_and_complete() -> None:
    lines = README.read_text().splitlines()
    assert lines.index("```console") < 10
    for text in ("✗", "changed", "running again", '"username": "torvalds"', "saved as fetch-user"):
        assert text in TASK.shown()
    part = SHOP_PART
    shown = commands_of(part.shown())
    assert {f"cat {file}" for file in SHOP} <= set(shown), "a reader cannot make the project"
    for text in ("attempt 1", ": failed (", "fix by tool", "+++ b/shop.py", "passed: "):
        assert text in part.shown()


def _commands() -> list[str]:
    return [line for block in blocks(README, "sh") for line in block.text.splitlines() if line]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    project = tmp_path / "shop"
    project.mkdir()
    for file, text in (SHOP | STOCK).items():
        (project / file).write_text(text)
    subprocess.run(["git", "init", "--quiet"], cwd=project, check=True)
    return project


def _run(command: str, project: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=project,
        env={**os.environ, "PATH": project_path(), "RUNTRUE_HOME": str(project.parent / "home")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_commands_work_in_the_order_they_are_shown(shop: Path) -> None:
    exercised = [command for command in _commands() if command not in ELSEWHERE]
    assert len(exercised) >= 6
    for command in exercised:
        assert command.startswith("runtrue ")
        done = _run(command, shop)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        if command == "runtrue fix --json":
            assert json.loads(done.stdout)["status"] == "passed"
    document = json.loads((shop / "runtrue.json").read_text())
    for key in ("status", "run_id", "attempts", "findings", "diff", "patch", "sandbox"):
        assert key in document, f"the README promises {key}"


def test_commands_that_are_not_run_here_exist() -> None:
    for command in ELSEWHERE:
        assert command in _commands(), f"{command} is no longer in the README"
    for command in ("scripts/demo", "scripts/test", "scripts/docs", "scripts/check"):
        assert os.access(ROOT / command, os.X_OK)


def test_table_names_every_command() -> None:
    text = README.read_text()
    for path in command_paths():
        is_hidden = (path[:1] and path[0] in OLDER) or path == ("trust", "add")
        if path not in ((), ("runs",)) and not is_hidden:
            assert f"`runtrue {' '.join(path)}" in text


def test_every_runtrue_command_in_it_is_understood(tmp_path: Path) -> None:
    """Each command line in the table and in the text has options that exist."""
    text = README.read_text()
    inline = {part for part in text.split("`")[1::2] if part.startswith("runtrue ")}
    assert inline
    for command in sorted(inline):
        words = [word.strip("[]") for word in shlex.split(command)]
        # Placeholders are left out, and so are the options that want one.
        wanting = ("--check", "--agent", "--answer", "--save", "--run")
        kept = [w for w in words if not w.isupper() and w not in wanting]
        done = run_runtrue([*kept[1:], "--help"], cwd=tmp_path, env=os.environ)
        assert done.returncode == 0, f"{command}: {done.stderr}"


def test_what_is_installed_works(tmp_path: Path) -> None:
    """`pip install "runtrue[checks]"` without a network: build the wheel, and run what is in it."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    (metadata,) = installed.glob("*.dist-info/METADATA")
    assert "Provides-Extra: checks" in metadata.read_text()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

    own = {"PYTHONPATH": str(installed), "RUNTRUE_HOME": str(tmp_path / "h")}

    def run(*arguments: str, seconds: int = 15) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "runtrue", *arguments],
            cwd=tmp_path,
            env={**os.environ, **own, "RUNTRUE_SEARCH_SECONDS": str(seconds)},
            capture_output=True,
            text=True,
            check=False,
        )

    assert run("--version").stdout == f"runtrue {version}\n"
    (tmp_path / "project").mkdir()
    for file, text in SHOP.items():
        (tmp_path / "project" / file).write_text(text)
    # The plugin for pytest and the prompt are files beside the code; both are needed here.
    done = run(
        "fix", "project", "--check", f"{sys.executable} -m pytest", "--agent", "true", seconds=0
    )
    assert "AssertionError" in done.stdout
    assert "the fixer changed nothing" in done.stdout
    # So is what the search runs in the project's Python.
    done = run("fix", "project", "--check", f"{sys.executable} -m pytest")
    assert "fix by search: changed shop.py" in done.stderr
