"""Runs whose output nobody reads: they go on, and their exit code is true."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Machine


@pytest.fixture
def here(tmp_path: Path) -> Path:
    directory = tmp_path / "here"
    directory.mkdir()
    for name in ("running", "release"):
        os.mkfifo(directory / name)
    return directory


def save(here: Path, *commands: str) -> None:
    nodes = [
        {"id": f"n{number}", "type": "shell", "params": {"command": command}}
        for number, command in enumerate(commands)
    ]
    (here / "w.json").write_text(json.dumps({"nodes": nodes}))


@pytest.mark.parametrize(
    "redirected",
    [
        "2>&-",
        ">&-",
        ">&- 2>&-",
        "<&- >&- 2>&-",
        "2>&1 >/dev/null | head -n 1",
        "| true",
        "2>/dev/full",
    ],
)
def test_nobody_reads_and_the_run_is_done(redirected: str, machine: Machine, here: Path) -> None:
    save(here, *["echo one"] * 5, f"echo done > {here}/done")
    runtrue = shlex.join(machine.argv("run", "w.json"))
    command = f"{runtrue} {redirected}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=here,
        env=machine.env,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (here / "done").read_text() == "done\n"
    (run,) = machine.runtrue("runs", "list", "--json").json["runs"]
    assert run["state"] == "passed"


@pytest.mark.parametrize("redirected", ["2>&-", "2>&1 >/dev/null | head -n 1", "| true"])
def test_a_failure_keeps_its_exit_code(redirected: str, machine: Machine, here: Path) -> None:
    save(here, "echo one", "exit 3")
    runtrue = shlex.join(machine.argv("run", "w.json", "--json"))
    command = f"{runtrue} {redirected}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=here,
        env=machine.env,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1, done.stderr


def test_a_pipe_that_nobody_reads_does_not_stop_the_run(machine: Machine, here: Path) -> None:
    (here / "notes.txt").write_text("something to read\n")
    nodes = [
        {"id": f"read-{number:0>100}", "type": "read-file", "params": {"file_path": "notes.txt"}}
        for number in range(1000)
    ]
    (here / "w.json").write_text(json.dumps({"nodes": nodes}))
    unread, full = os.pipe()
    try:
        command = subprocess.Popen(
            machine.argv("run", "w.json"),
            cwd=here,
            env=machine.env,
            stdout=subprocess.DEVNULL,
            stderr=full,
        )
        os.close(full)
        assert command.wait(120) == 0
        shown = os.read(unread, 1 << 20)
    finally:
        os.close(unread)
    assert len(shown) < 100 * len(nodes), "all of it fitted: the pipe was never full"
    (run,) = machine.runtrue("runs", "list", "--json").json["runs"]
    assert run["state"] == "passed"


def test_a_run_goes_on_without_its_terminal(machine: Machine, here: Path) -> None:
    hold = f"echo up > {here}/running; cat {here}/release; echo done > {here}/done"
    save(here, hold, "echo last")
    terminal, other = os.openpty()
    command = subprocess.Popen(
        machine.argv("run", "w.json"),
        cwd=here,
        env=machine.env,
        stdin=other,
        stdout=other,
        stderr=other,
        start_new_session=True,
    )
    os.close(other)
    assert (here / "running").read_text()
    os.close(terminal)
    command.send_signal(signal.SIGHUP)
    (here / "release").write_text("go on")
    assert command.wait(60) == 0
    assert (here / "done").read_text() == "done\n"
    (run,) = machine.runtrue("runs", "list", "--json").json["runs"]
    assert run["state"] == "passed"
