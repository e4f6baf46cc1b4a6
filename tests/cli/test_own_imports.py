"""What runtrue starts imports nothing from the directory that it is started in."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.cli.conftest import Machine

ACTION = Path(__file__).resolve().parents[2] / "scripts" / "action"


def test_the_action_imports_no_module_of_the_pull_request(tmp_path: Path) -> None:
    checkout, mark = tmp_path / "checkout", tmp_path / "ran"
    checkout.mkdir()
    loads = f"open({str(mark)!r}, 'w').close()\nload = lambda file: {{}}\n"
    (checkout / "json.py").write_text(loads)
    program = tmp_path / "runtrue"
    program.write_text('#!/bin/sh\necho \'{"status": "passed"}\'\n')
    program.chmod(0o755)
    outputs = tmp_path / "outputs"
    env = {"PATH": os.environ["PATH"], "RUNTRUE_PROGRAM": str(program)}
    env |= {"RUNTRUE_OUT": str(tmp_path / "out"), "GITHUB_OUTPUT": str(outputs)}
    subprocess.run([ACTION], cwd=checkout, env=env, check=True)
    assert not mark.exists()
    assert "status=passed\n" in outputs.read_text()


def test_the_unit_of_a_timer_imports_no_module_of_the_project(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    mark = tmp_path / "ran"
    machine.home.mkdir(exist_ok=True)
    (machine.home / "runtrue.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    units = machine.runtrue("schedule", "timer").out
    (start,) = (line for line in units.splitlines() if line.startswith("ExecStart="))
    command = start.removeprefix("ExecStart=").split()
    subprocess.run(command, cwd=machine.home, env=machine.env, check=True)
    assert not mark.exists()
