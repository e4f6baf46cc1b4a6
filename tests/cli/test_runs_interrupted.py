"""Runs of every kind that are told to stop: one document, whole, and the way to go on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Machine, MakeProject, write
from tests.cli.test_resume import wait_until_nothing_runs

STOPS = [signal.SIGINT, signal.SIGTERM]
KINDS = ["fix", "code", "do", "run"]


class Held:
    """A run of some kind that stands still in the middle, in a command that it started."""

    def __init__(self, machine: Machine, root: Path, kind: str, *before: str) -> None:
        self._running, self._release = root / "running", root / "release"
        for fifo in (self._running, self._release):
            os.mkfifo(fifo)
        first = f"mkdir {root}/first 2>/dev/null"
        hold = f"if {first}; then echo $$ > {self._running}; cat {self._release}; fi; echo ok"
        agent = f"{hold}\necho good > state.txt\n"
        check = '[checks.only]\ncommand = "grep -q good state.txt"\n'
        workflow = {"nodes": [{"id": "hold", "type": "shell", "params": {"command": hold}}]}
        write(
            root / "here",
            {
                "agent.sh": agent,
                "runtrue.toml": check,
                "state.txt": "bad\n",
                "w.json": json.dumps(workflow),
            },
        )
        by_agent = ("--agent", f"sh {root}/here/agent.sh")
        args: tuple[str, ...] = {
            "fix": ("fix", *by_agent),
            "code": ("code", "be good", "--path", "state.txt", "--type", "bug_fix", *by_agent),
            "do": ("do", f"run `{hold}`"),
            "run": ("run", "w.json"),
        }[kind]
        self.process = subprocess.Popen(
            [*before, *machine.argv(*args, "--json")],
            cwd=root / "here",
            env=machine.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._running.read_text()

    def go_on(self) -> None:
        self._release.write_text("go on\n")

    def end(self) -> tuple[dict[str, Any], str]:
        """The one document, and what was said besides."""
        out, err = self.process.communicate(timeout=60)
        assert "Traceback" not in err
        document: dict[str, Any] = json.loads(out)
        return document, err


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("kind", KINDS)
def test_interrupted_it_gives_one_document_with_how_far_it_came(
    kind: str, stop: signal.Signals, machine: Machine, tmp_path: Path
) -> None:
    held = Held(machine, tmp_path, kind)
    held.process.send_signal(stop)
    report, err = held.end()
    assert held.process.returncode == 130
    assert (report["status"], report["interrupted"]) == ("interrupted", True)
    resume = f"`runtrue runs resume {report['run_id']}"
    # A command of a workflow was cut off, and may have done what it does.
    go_on = f"fire it again with {resume} --force`" if kind == "run" else f"Continue with {resume}`"
    assert go_on in err
    assert len(report["attempts"]) == {"fix": 1, "run": 1}.get(kind, 0)
    wait_until_nothing_runs(machine)
    shown = machine.runtrue("runs", "show", report["run_id"], "--json").json
    assert (shown["status"], shown["driven"]) == ("interrupted", False)
    assert shown["attempts"] == report["attempts"]


def test_told_to_stop_again_and_again_it_still_gives_one_document(
    machine: Machine, tmp_path: Path
) -> None:
    held = Held(machine, tmp_path, "fix")
    for stop in STOPS * 3:
        held.process.send_signal(stop)
    report, _ = held.end()
    assert held.process.returncode == 130
    assert report["interrupted"] is True


def test_a_document_that_is_being_written_is_written_whole(
    machine: Machine, make_project: MakeProject
) -> None:
    config = '[checks.only]\ncommand = "test -f big.txt"\n'
    # More than a pipe holds, so that the writer waits for us in the middle.
    agent = "sh -c 'yes 0123456789 | head -n 30000 > big.txt'"
    command = subprocess.Popen(
        machine.argv("fix", "--json", "--agent", agent),
        cwd=make_project({"runtrue.toml": config}),
        env=machine.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    )
    assert command.stdout is not None
    begin = command.stdout.read(1)
    for stop in STOPS:
        command.send_signal(stop)
    rest, _ = command.communicate(timeout=60)
    report = json.loads(begin + rest)
    assert (report["status"], len(report["diff"]) > 300_000) == ("passed", True)
    assert "interrupted" not in report
    assert command.returncode == 0


def test_a_run_that_is_cancelled_under_its_driver_is_told_as_cancelled(
    machine: Machine, tmp_path: Path
) -> None:
    held = Held(machine, tmp_path, "fix")
    assert machine.runtrue("runs", "cancel").code == 0
    report, err = held.end()
    assert (report["status"], report["interrupted"]) == ("cancelled", True)
    assert "was cancelled" in err
    assert "resume" not in err
    assert held.process.returncode == 1


def test_what_it_was_started_to_ignore_does_not_stop_it(machine: Machine, tmp_path: Path) -> None:
    held = Held(machine, tmp_path, "fix", "nohup")
    held.process.send_signal(signal.SIGHUP)
    held.go_on()
    report, _ = held.end()
    assert report["status"] == "passed"
    assert held.process.returncode == 0
