"""The plugins for coding agents: what they name exists, and they call the gate as hooks do."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from runtrue import __version__
from runtrue.cli.hooks import AGENT_HOSTS
from tests.cli.conftest import Machine, MakeProject

ROOT = Path(__file__).parents[2]
PLUGINS = ROOT / "plugins"
#: Each file of hooks, whose agent it is for, and the manifest that goes with it.
HOOKS = {
    "claude-code": ("runtrue/hooks/hooks.json", "runtrue/.claude-plugin/plugin.json"),
    "codex": ("runtrue/hooks/codex.json", "runtrue/.codex-plugin/plugin.json"),
    "gemini": ("gemini/hooks/hooks.json", "gemini/gemini-extension.json"),
}


def read(name: str) -> Any:
    return json.loads((PLUGINS / name).read_text())


@pytest.mark.parametrize("host", HOOKS)
def test_a_plugin_has_the_hook_that_runtrue_installs(
    host: str, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({"a.py": ""})
    machine.runtrue("hooks", "install", host, cwd=project)
    installed = json.loads((project / AGENT_HOSTS[host].file).read_text())
    assert read(HOOKS[host][0])["hooks"] == installed["hooks"]


@pytest.mark.parametrize("host", HOOKS)
def test_a_manifest_has_the_version_of_the_package(host: str) -> None:
    manifest = read(HOOKS[host][1])
    assert (manifest["name"], manifest["version"]) == ("runtrue", __version__)


def test_what_a_manifest_names_is_there() -> None:
    (plugin,) = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())["plugins"]
    folder = ROOT / plugin["source"]
    for key in ("skills", "mcpServers", "hooks"):
        assert (folder / read("runtrue/.codex-plugin/plugin.json")[key]).exists()
    assert (PLUGINS / "gemini" / read("gemini/gemini-extension.json")["contextFileName"]).is_file()


@pytest.mark.parametrize("name", ["runtrue/.mcp.json", "gemini/gemini-extension.json"])
def test_the_server_that_a_plugin_starts_is_a_command(name: str, machine: Machine) -> None:
    server = read(name)["mcpServers"]["runtrue"]
    assert server["command"] == "runtrue"
    assert machine.runtrue(*server["args"], "--help").code == 0


def test_the_skill_names_commands_that_exist(machine: Machine) -> None:
    text = (PLUGINS / "runtrue" / "skills" / "prove-before-return" / "SKILL.md").read_text()
    head = yaml.safe_load(text.split("---")[1])
    assert head["name"] == "prove-before-return"
    assert head["description"]
    commands = {part for part in text.split("`")[1::2] if part.startswith("runtrue ")}
    assert commands
    for command in commands:
        words = [word for word in shlex.split(command)[1:] if word.islower() and word[0] != "-"]
        assert machine.runtrue(*words, "--help").code == 0, command


@pytest.mark.parametrize("host", HOOKS)
def test_a_plugin_lets_an_agent_stop_where_there_is_nothing_to_judge(
    host: str, machine: Machine, tmp_path: Path
) -> None:
    """It is on in every project, also in those that runtrue has nothing to do with."""
    plain = tmp_path / "plain"
    plain.mkdir()
    event = json.dumps({"session_id": "s", "cwd": str(plain), "stop_hook_active": False})
    done = machine.runtrue("gate", "--hook", host, cwd=plain, stdin=event)
    assert done.code == 0, done.said
