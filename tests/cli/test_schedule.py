"""`runtrue schedule`, on one machine and by the workers of a shared database."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runtrue.flow import Journal, RunState
from tests.cli.conftest import Machine
from tests.cli.test_worker import WORKFLOW, machines, working

__all__ = ["machines"]


def make_due(journal: Journal, name: str, seconds: float) -> None:
    """Let the next tick of a schedule have been so many seconds ago."""
    journal.set_paused(name, is_paused=False, next_at=journal.now() - seconds)


@contextmanager
def scheduling(machine: Machine) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        machine.argv("schedule", "run"),
        cwd=machine.home,
        env=machine.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
        assert "Traceback" not in said


def test_a_workflow_is_run_when_it_is_due_and_kept_as_it_was(
    machine: Machine, tmp_path: Path
) -> None:
    file = tmp_path / "greet.yaml"
    file.write_text(WORKFLOW)
    added = machine.runtrue("schedule", "add", "morning", "0 7 1 1 *", file, "name=Ada", "--json")
    assert added.code == 0, added.said
    file.unlink()
    nothing = machine.runtrue("schedule", "run", "--once")
    assert (nothing.code, nothing.said) == (0, "")
    with Journal(machine.journal) as journal:
        make_due(journal, "morning", 10)
    done = machine.runtrue("schedule", "run", "--once")
    assert done.code == 0, done.said
    assert "hello Ada" in done.out
    (row,) = machine.runtrue("schedule", "list", "--json").json["schedules"]
    assert (row["last_state"], row["workflow"]) == ("passed", str(file))
    shown = machine.runtrue("runs", "show", row["last_run"], "--json")
    assert shown.json["result"]["stdout"] == "hello Ada"
    assert machine.runtrue("schedule", "run", "--once").said == ""


def test_a_run_that_was_begun_and_never_driven_is_driven_by_the_next(
    machine: Machine, tmp_path: Path
) -> None:
    file = tmp_path / "greet.yaml"
    file.write_text(WORKFLOW)
    assert machine.runtrue("schedule", "add", "m", "0 7 1 1 *", file, "name=Ada").code == 0
    with Journal(machine.journal) as journal:
        make_due(journal, "m", 10)
        from runtrue.schedule import begin_due

        ((_, run_id),) = begin_due(journal)  # and the process is killed here
        with scheduling(machine):
            end = time.monotonic() + 120
            while not journal.find(run_id).is_over:
                assert time.monotonic() < end
                time.sleep(0.05)
        assert journal.find(run_id).state == "passed"
        assert len(journal.runs()) == 1


def test_schedules_are_paused_resumed_replaced_and_removed(
    machine: Machine, tmp_path: Path
) -> None:
    file = tmp_path / "greet.yaml"
    file.write_text(WORKFLOW)
    add = ("schedule", "add", "m", "0 7 * * *", file, "name=Ada", "--zone", "Europe/Berlin")
    assert "there are no schedules yet" in machine.runtrue("schedule", "pause", "m").err
    assert machine.runtrue(*add).code == 0
    assert "pass --replace" in machine.runtrue(*add).err
    assert machine.runtrue(*add, "--replace").code == 0
    assert "paused" in machine.runtrue("schedule", "pause", "m").out
    listed = machine.runtrue("schedule", "list").out
    assert listed == f"m  0 7 * * *  {file}  paused\n"
    assert "next at" in machine.runtrue("schedule", "resume", "m").out
    assert (
        "there is no schedule 'n'; available: m" in machine.runtrue("schedule", "remove", "n").err
    )
    assert machine.runtrue("schedule", "remove", "m").code == 0
    assert "no schedules" in machine.runtrue("schedule", "list").out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("61 * * * *", "name=Ada"), "is not a cron expression (Bad minute)"),
        (("0 7 * * *",), "name"),
        (("0 7 * * *", "name=Ada", "--zone", "Mars/Base"), "there is no time zone 'Mars/Base'"),
        (("0 7 * * *", "name=Ada", "--queue", "q"), "--queue needs a database"),
    ],
)
def test_what_cannot_be_scheduled_is_refused(
    machine: Machine, tmp_path: Path, args: tuple[str, ...], said: str
) -> None:
    file = tmp_path / "greet.yaml"
    file.write_text(WORKFLOW)
    done = machine.runtrue("schedule", "add", "m", args[0], file, *args[1:])
    assert done.code == 2, done.said
    assert said in done.err
    assert machine.runtrue("schedule", "list", "--json").json == {"schedules": []}


def test_the_units_for_systemd_name_this_program_and_home(machine: Machine) -> None:
    units = machine.runtrue("schedule", "timer").out
    assert f"Environment=RUNTRUE_HOME={machine.home / '.runtrue'}" in units
    (start,) = (line for line in units.splitlines() if line.startswith("ExecStart="))
    command = start.removeprefix("ExecStart=").split()
    done = subprocess.run(command, cwd=machine.home, env=machine.env, check=False)
    assert done.returncode == 0


def test_workers_begin_one_run_for_each_tick(
    machines: tuple[Machine, Machine], tmp_path: Path
) -> None:
    user, other = machines
    file = tmp_path / "greet.yaml"
    file.write_text(WORKFLOW)
    args = ("schedule", "add", "m", "0 * * * *", file, "name=Ada", "--missed", "all")
    assert user.runtrue(*args).code == 0
    assert "the workers of a shared database" in user.runtrue("schedule", "run").err
    with Journal(user.env["RUNTRUE_DATABASE"]) as journal:
        now = journal.now()
        first = now - now % 3600 - 5 * 3600
        journal.set_paused("m", is_paused=False, next_at=first)
        with working(other), working(user):
            end = time.monotonic() + 120
            while len(journal.runs(limit=None, state=RunState.PASSED)) < 6:
                assert time.monotonic() < end, journal.runs(limit=None)
                time.sleep(0.05)
        # Those of the hour that may have begun meanwhile aside.
        assert 6 <= len(journal.runs(limit=None)) <= 7
        assert journal.open_ticks() == [] or len(journal.runs(limit=None)) == 7
