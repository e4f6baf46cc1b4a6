"""Runs that are killed, taken over, cancelled and resumed, through the command line."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from runtrue.flow import Journal
from runtrue.home import Home
from runtrue.process import MARK
from runtrue.sandbox.git import mark_of
from tests.cli.conftest import WITH_BUG, Done, Machine, MakeProject, content, write
from tests.test_process import processes_with
from tests.trusting import trust_all

#: Two checks, of which each fix of the agent mends one: three attempts, two fixes, then applied.
TWO_STEPS = {
    "runtrue.toml": """
        [checks.first]
        command = "grep -q one state.txt"
        [checks.second]
        command = "grep -q two state.txt"
        [checks.third]
        command = "grep -q begin state.txt"
        [fixers.agent]
        command = "sh -c 'if grep -q one state.txt; then echo two; else echo one; fi >> state.txt'"
    """,
    "state.txt": "begin\n",
}
KILLS = 50


def comparable(report: dict[str, Any]) -> dict[str, Any]:
    """What must not differ between a disturbed and an undisturbed run: all but ids and times."""

    ids = ("run_id", "workflow_id", "debug_memory_ref")
    times = ("timestamp", "timestamps", "duration_ms")

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            volatile = ("seconds", "patch", "patch_root", "project", "sandbox", "at", *ids, *times)
            return {k: strip(v) for k, v in value.items() if k not in volatile}
        return [strip(item) for item in value] if isinstance(value, list) else value

    stripped: dict[str, Any] = strip(report)
    # A hash of the request, which names the project.
    stripped.get("receipt", {}).pop("question", None)
    return stripped


@pytest.mark.parametrize("part", range(3))
def test_a_run_killed_at_any_moment_and_resumed_ends_as_an_undisturbed_one(
    part: int, machine: Machine, make_project: MakeProject
) -> None:
    undisturbed = make_project(TWO_STEPS, name="undisturbed")
    began = time.monotonic()
    expected = machine.runtrue("fix", "--apply", "--json", cwd=undisturbed, fork=False)
    takes = time.monotonic() - began
    assert expected.code == 0, expected.said
    assert [a["number"] for a in expected.json["attempts"]] == [1, 2, 3]
    moment = random.Random(part)  # noqa: S311  # no secret, only a moment
    for kill in range(KILLS // 10):
        project = make_project(TWO_STEPS, name=f"killed-{kill}")
        home = str(project) + "-home"
        resumed = _kill_and_resume(
            machine, project, home, moment.uniform(0.05, takes), group=moment.random() < 0.5
        )
        assert resumed.code == 0, resumed.said
        assert comparable(resumed.json) == comparable(expected.json)
        assert content(project) == content(undisturbed)


def _kill_and_resume(
    machine: Machine, project: Path, home: str, after: float, *, group: bool
) -> Done:
    environment = {**machine.env, "RUNTRUE_HOME": home}
    trust_all([project], environment)
    command = subprocess.Popen(
        machine.argv("fix", "--apply", "--json"),
        cwd=project,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        command.wait(after)
    except subprocess.TimeoutExpired:
        if group:
            os.killpg(command.pid, signal.SIGKILL)
        else:
            command.kill()
        command.wait()
    env = {"RUNTRUE_HOME": home}
    resumed = machine.runtrue("runs", "resume", "--json", cwd=project, env=env)
    if resumed.code == 2 and "there are no runs" in resumed.err:
        # Killed before the run was recorded: nothing had been begun.
        return machine.runtrue("fix", "--apply", "--json", cwd=project, env=env)
    return resumed


def wait_until_nothing_runs(machine: Machine) -> None:
    """Come back when all that was started on a machine is gone.

    It is found by its variables: commands have numbers of their own for processes.
    """
    with Journal(machine.journal) as journal:
        sandboxes = [
            Home(machine.journal.parent).sandbox(run.id) for run in journal.runs(limit=100)
        ]
    marks = [f"{MARK}={mark_of(sandbox)}" for sandbox in sandboxes]
    deadline = time.monotonic() + 30
    while running := list(processes_with(f"HOME={machine.home}", *marks)):
        assert time.monotonic() < deadline, f"processes {running} live"
        time.sleep(0.01)


def start_and_wait_until_the_agent_runs(
    machine: Machine, project: Path, tmp_path: Path
) -> subprocess.Popen[bytes]:
    """Start a run whose agent opens a pipe and stays there; come back when it has."""
    fifo = tmp_path / "agent-is-running"
    os.mkfifo(fifo)
    trust_all([project], machine.env)
    command = subprocess.Popen(
        machine.argv("fix", "--json", "--check", "pytest"),
        cwd=project,
        env=machine.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    fifo.read_text()
    return command


@pytest.fixture
def held(make_project: MakeProject, tmp_path: Path) -> Path:
    """A project whose agent, the first time, says that it runs and then goes on for ever."""
    write(
        tmp_path,
        {
            "agent.sh": f"""
                if mkdir {tmp_path}/first 2>/dev/null; then
                    echo running > {tmp_path}/agent-is-running
                    sleep 1000
                fi
                sed -i s/1.9/1.19/ tax.py
            """
        },
    )
    config = f'[fixers.agent]\ncommand = "sh {tmp_path}/agent.sh"\n'
    return make_project({**WITH_BUG, "runtrue.toml": config})


def test_a_run_that_is_being_driven_is_not_driven_twice(
    machine: Machine, held: Path, tmp_path: Path
) -> None:
    driver = start_and_wait_until_the_agent_runs(machine, held, tmp_path)
    refused = machine.runtrue("runs", "resume")
    assert refused.code == 1
    assert f"is already running in process {driver.pid}" in refused.err
    assert "running in" not in machine.runtrue("runs", "list").said
    taken_over = machine.runtrue("runs", "resume", "--force", "--json")
    assert taken_over.code == 0, taken_over.said
    driver.communicate(timeout=60)
    assert driver.returncode == -signal.SIGKILL
    wait_until_nothing_runs(machine)


def test_cancel_stops_the_driver_and_all_it_started(
    machine: Machine, held: Path, tmp_path: Path
) -> None:
    driver = start_and_wait_until_the_agent_runs(machine, held, tmp_path)
    cancelled = machine.runtrue("runs", "cancel", "--json")
    assert cancelled.code == 0
    assert cancelled.json["state"] == "cancelled"
    driver.communicate(timeout=60)
    wait_until_nothing_runs(machine)
    again = machine.runtrue("runs", "cancel")
    assert again.code == 1
    assert "has already ended (cancelled)" in again.err
    assert machine.runtrue("runs", "resume").code == 1


def test_an_interrupt_from_the_keyboard_cleans_up_and_loses_nothing(
    machine: Machine, held: Path, tmp_path: Path
) -> None:
    driver = start_and_wait_until_the_agent_runs(machine, held, tmp_path)
    driver.send_signal(signal.SIGINT)
    _, err = driver.communicate(timeout=60)
    assert driver.returncode == 130
    assert b"runtrue runs resume" in err
    assert b"Traceback" not in err
    wait_until_nothing_runs(machine)
    assert "running (interrupted)" in machine.runtrue("runs", "list").out
    resumed = machine.runtrue("runs", "resume", "--json")
    assert resumed.code == 0, resumed.said
    assert [a["number"] for a in resumed.json["attempts"]] == [1, 2]


def test_an_interrupted_run_is_shown_with_the_way_to_go_on(
    machine: Machine, held: Path, tmp_path: Path
) -> None:
    driver = start_and_wait_until_the_agent_runs(machine, held, tmp_path)
    driven = machine.runtrue("runs", "show").out
    driver.kill()
    driver.communicate()
    interrupted = machine.runtrue("runs", "show").out
    run_id = interrupted.split()[1].rstrip(":")
    # Nobody need go on with what somebody is at work on.
    assert "continue:" not in driven
    assert interrupted.rstrip().endswith(f"continue: runtrue runs resume {run_id}")
    assert "runs show" not in driven + interrupted


def test_an_agent_that_acts_outside_is_not_fired_twice_without_force(
    machine: Machine, held: Path, tmp_path: Path
) -> None:
    with (held / "runtrue.toml").open("a") as config:
        config.write("once = true\n")
    driver = start_and_wait_until_the_agent_runs(machine, held, tmp_path)
    driver.kill()
    driver.communicate()
    refused = machine.runtrue("runs", "resume")
    assert refused.code == 1
    assert "stopped inside 'fix', which has a side effect" in refused.err
    assert "--force" in refused.err
    forced = machine.runtrue("runs", "resume", "--force", "--json")
    assert forced.code == 0, forced.said


def test_a_run_that_is_over_gives_its_result_again(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(TWO_STEPS)
    first = machine.runtrue("fix", "--json", cwd=project)
    again = machine.runtrue("runs", "resume", first.json["run_id"][:5], "--json")
    assert again.code == 0
    assert again.json == first.json


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_an_answer_to_a_run_that_has_ended_is_refused(
    as_json: tuple[str, ...], machine: Machine, make_project: MakeProject
) -> None:
    run_id = machine.runtrue("fix", "--json", cwd=make_project(TWO_STEPS)).json["run_id"]
    refused = machine.runtrue("runs", "resume", run_id, "--answer", "x", *as_json)
    assert refused.code == 2
    (sentence,) = refused.err.splitlines()
    assert f"run {run_id} has ended (passed), so the answer was not used" in sentence
    if as_json:
        assert refused.json["error"] in sentence
    assert machine.runtrue("runs", "resume", run_id, *as_json).code == 0


def test_settings_that_change_while_a_run_waits_do_not_change_the_run(
    machine: Machine, make_project: MakeProject
) -> None:
    config = '[fixers]\norder = ["human"]\n[checks.only]\ncommand = "grep -q one state.txt"\n'
    project = make_project({"state.txt": "begin\n", "runtrue.toml": config})
    waiting = machine.runtrue("fix", "--json", cwd=project)
    assert waiting.code == 3
    (project / "runtrue.toml").write_text('[checks.only]\ncommand = "true"\n')
    resumed = machine.runtrue("runs", "resume", "--json")
    assert resumed.code == 3
    assert resumed.json["findings"][0]["source"] == "only"
