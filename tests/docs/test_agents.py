"""The recipes for agents: their command lines are run, with stand-ins that really edit files."""

import json
import os
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest

from runtrue.cli.demo_projects import PRICES
from tests.project_python import project_path
from tests.trusting import trust_all

from .pages import DOCS, Block, blocks

RECIPES = {
    Path(shlex.split(tomllib.loads(block.text)["fixers"]["agent"]["command"])[0]).name: block
    for block in blocks(DOCS / "agents.md", "toml")
}

#: Takes the prompt from wherever the recipe puts it, mends what is wrong, and tells how it was
#: called.
STAND_IN = """\
#!/usr/bin/env python3
import json, os, pathlib, sys

files = [pathlib.Path(word) for word in sys.argv[1:] if word.endswith("prompt.md")]
prompt = files[0].read_text() if files else sys.stdin.read()
program = pathlib.Path("prices.py")
program.write_text(program.read_text().replace("percent\\n", "percent / 100\\n"))
told = {{"argv": sys.argv[1:], "prompt": prompt, "environment": dict(os.environ)}}
pathlib.Path({log!r}).write_text(json.dumps(told))
"""

#: The words that make each tool run by itself, edit files, and find the prompt.
EXPECTED = {
    "claude": ["-p", "--permission-mode", "acceptEdits"],
    "codex": ["exec", "--sandbox", "workspace-write", "--skip-git-repo-check", "--ephemeral", "-"],
    "aider": ["--message-file", "*", "--yes-always", "--no-auto-commits", "--no-dirty-commits"],
    "openhands": ["--headless", "--override-with-envs", "-f", "*"],
}


def test_there_is_a_recipe_for_each() -> None:
    assert set(EXPECTED) <= set(RECIPES)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "prices"
    project.mkdir()
    for file, text in PRICES.items():
        (project / file).write_text(text)
    subprocess.run(["git", "init", "--quiet"], cwd=project, check=True)
    return project


def _fix(project: Path, recipe: Block, **variables: str) -> subprocess.CompletedProcess[str]:
    (project / "runtrue.toml").write_text(recipe.text)
    trust_all([project], {"RUNTRUE_HOME": str(project.parent / "home")})
    return subprocess.run(
        ["runtrue", "fix", "--apply"],
        cwd=project,
        env={
            **os.environ,
            **variables,
            "PATH": os.pathsep.join([str(project.parent / "bin"), project_path()]),
            "RUNTRUE_HOME": str(project.parent / "home"),
            # The search would mend it first, and the agent would not be asked.
            "RUNTRUE_SEARCH_SECONDS": "0",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", EXPECTED)
def test_recipe_is_run_as_written(name: str, project: Path) -> None:
    log = project.parent / "told.json"
    program = project.parent / "bin" / name
    program.parent.mkdir()
    program.write_text(STAND_IN.format(log=str(log)))
    program.chmod(0o755)
    named = tomllib.loads(RECIPES[name].text)["fixers"]["agent"]["env"]

    done = _fix(project, RECIPES[name], **dict.fromkeys(named, "let through"), NOT_NAMED="secret")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "percent / 100" in (project / "prices.py").read_text()
    told = json.loads(log.read_text())
    words = [word if "prompt.md" not in word else "*" for word in told["argv"]]
    assert words[: len(EXPECTED[name])] == EXPECTED[name]
    assert "assert -1800 == 180" in told["prompt"]
    assert named
    assert all(told["environment"][variable] == "let through" for variable in named)
    assert "NOT_NAMED" not in told["environment"]
    files = {path.name for path in project.iterdir() if path.is_file()}
    assert files == {*PRICES, "runtrue.toml"}, "the agent's own files became part of the project"


def test_plain_command_is_an_agent_too(project: Path) -> None:
    done = _fix(project, RECIPES["sed"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "percent / 100" in (project / "prices.py").read_text()
