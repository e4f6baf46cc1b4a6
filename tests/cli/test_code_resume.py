"""Runs of `runtrue code` that are killed in the middle: resumed, they end as undisturbed ones."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from runtrue.flow import Journal
from tests.cli.conftest import Machine, MakeProject, content, write
from tests.cli.test_resume import comparable
from tests.code.support import EMPTY, RIGHT, TESTS, WRONG, Agent, plain, valid

ASKED = ("code", "initials of a name", "--path", "names.py", "--json", "--apply")
#: What the agent is asked for in turn, and the phase that a run killed there is in.
PHASES = ("generate_code", "generate_tests", "apply_fix")


def steps(before: str = "", at: int = -1) -> list[str]:
    """The agent's steps as scripts; the one at `at` first says that it runs and is then held."""
    scripts = []
    for number, files in enumerate((WRONG, TESTS, RIGHT)):
        ((name, text),) = plain(files).items()
        held = before if number == at else ""
        scripts.append(f"{held}mkdir -p tests\ncat > {name} <<'END'\n{text}END\n")
    return scripts


def without_times(report: dict[str, Any]) -> dict[str, Any]:
    """A report without what differs from run to run."""
    times = ("timestamp", "timestamps", "duration_ms", "debug_memory_ref", "session")

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: strip(v) for k, v in value.items() if k not in times}
        return [strip(item) for item in value] if isinstance(value, list) else value

    stripped = strip(comparable(report))
    for attempt in stripped["attempts"]:
        for verdict in attempt["verdicts"]:
            verdict["output"] = ""
    found: dict[str, Any] = stripped
    return found


def kill(process: subprocess.Popen[bytes]) -> None:
    """All that it started is killed with it, as by a machine that goes down."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.fixture(scope="module")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What the run comes to when nobody disturbs it."""
    root = tmp_path_factory.mktemp("undisturbed")
    machine, project = Machine(root, search=False), root / "project"
    _begin(project)
    agent = Agent(root / "agent", *steps())
    done = machine.runtrue(*ASKED, "--agent", agent.command, cwd=project)
    assert done.code == 0, done.err
    assert len(agent.prompts) == 3
    return without_times(done.json), _own(project)


def _begin(project: Path) -> None:
    write(project, EMPTY)
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)


def _own(project: Path) -> dict[str, bytes]:
    return {name: it for name, it in content(project).items() if not name.startswith(".aiwg")}


@pytest.mark.parametrize("at", range(3), ids=PHASES)
def test_a_run_killed_while_its_agent_works_goes_on_there(
    at: int,
    machine: Machine,
    make_project: MakeProject,
    tmp_path: Path,
    undisturbed: tuple[dict[str, Any], dict[str, bytes]],
) -> None:
    project = make_project(EMPTY)
    fifo = tmp_path / "agent-is-running"
    os.mkfifo(fifo)
    held = f"echo spoiled > names.py\necho running > {fifo}\nsleep 1000\n"
    agent = Agent(tmp_path / "agent", *steps(held, at))
    process = subprocess.Popen(
        machine.argv(*ASKED, "--agent", agent.command),
        cwd=project,
        env=machine.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    fifo.read_text()
    kill(process)
    shown = machine.runtrue("runs", "show", "--json").json
    state = valid(shown["record"])["loop_state"]
    assert (state["phase"], state["status"]) == (PHASES[at], "in_progress")
    # The next call is the same one again: it does what was interrupted.
    (tmp_path / "agent" / "prompts" / str(at)).unlink()
    (tmp_path / "agent" / "steps" / f"{at}.sh").write_text(steps()[at])
    resumed = machine.runtrue("runs", "resume", "--json")
    assert resumed.code == 0, resumed.err
    assert len(agent.prompts) == 3
    report, files = undisturbed
    assert _own(project) == files
    valid(resumed.json["record"])
    assert without_times(resumed.json) == report


#: What the agent does is seen from the files, so that it can be asked for the same thing again.
BY_THE_FILES = """
if [ ! -f names.py ]; then what=generate_code
elif [ ! -d tests ]; then what=generate_tests
else what=fix; fi
echo $what >> $here/calls
. $here/$what.sh
"""


def test_a_run_killed_again_and_again_never_asks_for_what_it_has(
    machine: Machine,
    make_project: MakeProject,
    tmp_path: Path,
    undisturbed: tuple[dict[str, Any], dict[str, bytes]],
) -> None:
    project = make_project(EMPTY)
    agent = Agent(tmp_path / "agent", *[BY_THE_FILES] * 30)
    calls = agent.directory / "calls"
    calls.touch()
    for what, script in zip(("generate_code", "generate_tests", "fix"), steps(), strict=True):
        (agent.directory / f"{what}.sh").write_text(script)
    command: tuple[str, ...] = (*ASKED, "--agent", agent.command)
    asked: dict[str, int] = {}
    kills = 0
    while True:
        process = subprocess.Popen(
            machine.argv(*command),
            cwd=project,
            env=machine.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        if until_steps(machine, process, 2 + 3 * kills):
            break
        kill(process)
        kills += 1
        command = ("runs", "resume", "--json")
        for node in nodes(machine):
            asked.setdefault(node, calls.read_text().split().count(node))
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert kills >= 4
    made = calls.read_text().split()
    assert {what: made.count(what) for what in asked if what in made} == {
        what: count for what, count in asked.items() if what in made
    }
    report, files = undisturbed
    assert _own(project) == files
    resumed = json.loads(out)
    valid(resumed["record"])
    assert without_times(resumed) == report


def nodes(machine: Machine) -> list[str]:
    """The nodes that the only run has finished."""
    if not machine.journal.exists():
        return []
    with Journal(machine.journal) as journal:
        return [step.node for run in journal.runs() for step in journal.load(run.id) if step.result]


def until_steps(machine: Machine, process: subprocess.Popen[bytes], count: int) -> bool:
    """Wait until so many steps are finished; whether the run ended before."""
    while process.poll() is None:
        if len(nodes(machine)) >= count:
            return False
        time.sleep(0.005)
    return True
