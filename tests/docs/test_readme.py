"""The README: two screens, commands that work, a picture of a real run."""

import os
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

from runtrue import __version__
from runtrue.cli.demo_projects import PRICES, SHOP
from runtrue.cli.main import OLDER
from tests.cli.warm import run_runtrue
from tests.project_python import project_path

from .cast import CAST, record, text_of
from .generate import command_paths
from .pages import DOCS, README, ROOT, blocks, pages

#: Commands that cannot be run here as they are written, and the test that stands for each.
ELSEWHERE = {
    'pip install ".[checks]"': "test_what_is_installed_works",
    "runtrue demo": "tests/docs/test_demo.py",
    'runtrue fix --agent "claude -p --permission-mode acceptEdits"': "tests/docs/test_agents.py",
    'runtrue do "fetch https://api.github.com/users/torvalds and extract username and biography" '
    "--save github-user": "the session `task` of docs/loops/do.md",
    "runtrue run github-user user=gvanrossum": "the session `task` of docs/loops/do.md",
    "runtrue workflow heal github-user user=gvanrossum": "tests/cli/test_workflow.py",
    "runtrue gate --base origin/main": "tests/cli/test_gate.py",
    "scripts/demo": "tests/docs/test_demo.py",
    "scripts/test": "this very run",
}
#: Lines of a page on a screen, about; links and tables are long lines that wrap.
_TWO_SCREENS = 100
_COMMANDS_PAGE = DOCS / "reference" / "commands.md"


def _commands() -> list[str]:
    return [line for block in blocks(README, "sh") for line in block.text.splitlines() if line]


def test_it_fits_two_screens() -> None:
    assert len(README.read_text().splitlines()) <= _TWO_SCREENS


def test_the_beginning_says_what_it_is_for_whom_and_how_to_start() -> None:
    beginning = README.read_text().partition("## Three jobs")[0]
    for answer in ("AI-written code", "API workflows", "sandbox", "coding agents", "CI"):
        assert answer in beginning
    assert "runtrue demo" in beginning
    assert CAST.relative_to(ROOT).as_posix() in beginning


def test_the_headings_ask_the_other_questions() -> None:
    headings = re.findall(r"^## (.*)$", README.read_text(), re.M)
    assert headings == ["Three jobs", "Why not what I use today?", "What it does not do", "More"]


def test_each_job_has_three_commands() -> None:
    jobs = [block.text.splitlines() for block in blocks(README, "sh")][1:4]
    assert [len(job) for job in jobs] == [3, 3, 3]


def test_the_picture_is_of_a_real_run() -> None:
    assert text_of(CAST.read_text(encoding="utf-8")) == text_of(record()), "run scripts/docs"


def test_commands_work_in_the_order_they_are_shown(tmp_path: Path) -> None:
    project = tmp_path / "prices"
    project.mkdir()
    for file, text in PRICES.items():
        (project / file).write_text(text)
    author = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
    for git in (["init", "--quiet"], ["add", "."], [*author, "commit", "-qm", "begin"]):
        subprocess.run(["git", *git], cwd=project, check=True)
    exercised = [command for command in _commands() if command not in ELSEWHERE]
    assert len(exercised) >= 4
    home = {"PATH": project_path(), "RUNTRUE_HOME": str(tmp_path / "home")}
    for command in exercised:
        # The gate's word on the untested repair is that it is not ready: that is its job.
        expected = (0, 2) if command == "runtrue gate" else (0,)
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=project,
            env={**os.environ, **home},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in expected, f"{command}\n{done.stdout}{done.stderr}"
    assert "percent / 100" in (project / "prices.py").read_text()


def test_commands_that_are_not_run_here_exist() -> None:
    for command in ELSEWHERE:
        assert command in _commands(), f"{command} is no longer in the README"
    for script in ("demo", "test", "docs", "check"):
        assert os.access(ROOT / "scripts" / script, os.X_OK)


def test_a_table_names_every_command() -> None:
    text = _COMMANDS_PAGE.read_text()
    for path in command_paths():
        is_hidden = path[:1] and path[0] in OLDER
        if path not in ((), ("runs",), ("trust", "add")) and not is_hidden:
            assert f"`runtrue {' '.join(path)}" in text


def test_every_command_in_the_docs_is_understood(tmp_path: Path) -> None:
    """Each command line in a table, a text or a block has a command and options that exist."""
    commands = set()
    for page in pages():
        if "decisions" in page.parts or page.name == "cli.md":
            continue
        text = page.read_text()
        commands |= {part for part in text.split("`")[1::2] if part.startswith("runtrue ")}
        commands |= {
            line.strip()
            for block in re.findall(r"^ *```sh\n(.*?)^ *```", text, re.M | re.S)
            for line in block.splitlines()
            if line.strip().startswith("runtrue ")
        }
    assert len(commands) > 100
    wanting = ("--check", "--agent", "--answer", "--save", "--run", "--add", "--data", "--base")
    unknown = {}
    for shape in {_shape(command, wanting) for command in commands}:
        done = run_runtrue([*shape, "--help"], cwd=tmp_path, env=os.environ)
        if done.returncode != 0 or "is now `runtrue" in done.stderr:
            unknown[" ".join(shape)] = done.stderr
    assert unknown == {}


def _shape(command: str, wanting: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command without its values: the words of its name, and its long options."""
    words = shlex.split(
        command.partition("  #")[0].partition(" | ")[0].partition(" > ")[0].replace("…", "")
    )[1:]
    name: list[str] = []
    known = set(command_paths())
    for word in words:
        if (*name, word) not in known:
            break
        name.append(word)
    options = {
        word.strip("[]")
        for word in words
        if word.startswith("--") and "=" not in word and word not in wanting
    }
    flags = [one for one in sorted(options) if _is_flag(tuple(name), one)]
    if name or not words or " " in words[0] or words[0] == "TASK":  # a task is no command
        return (*name, *flags)
    return (words[0],)


def _is_flag(name: tuple[str, ...], option: str) -> bool:
    import click

    from runtrue.cli.main import cli

    command: click.Command = cli
    for word in name:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    matching = [p for p in command.params if option in p.opts]
    # One that is not known is kept, so that the program says so.
    return not matching or getattr(matching[0], "is_flag", False)


def test_what_is_installed_works(tmp_path: Path) -> None:
    """`pip install` without a network: build the wheel, and run what is in it."""
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

    assert run("--version").stdout == f"runtrue {__version__}\n"
    assert '"$schema"' in run("config", "schema", "workflow").stdout
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
