"""`kill -9` at every recorded step of `fix`, `code` and `plan execute`, then resume: the same end.

Every step of an undisturbed run is a point at which a process is killed twice: when the work is
done and not recorded, and when it has just been recorded. The process is a fork of this one, and
the signal a real SIGKILL.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from runtrue.code import Apply, CodeType, plan_code, plan_fix, plan_task, prepare_run, start_run
from runtrue.config import load_config
from runtrue.flow import Journal, LocalDispatcher, Location, RunRow, RunState, Segment
from runtrue.home import Home
from runtrue.loop import Requirement
from runtrue.plan import plan_use, prepare_plan, start_plan
from tests.plan.driving import make_project

FILES = {"state.txt": "no\n", "test_state.txt": "the check looks at state.txt\n"}
#: The first fix makes one of them pass, and the second the other.
CHECKS = ("grep -qE 'nearly|yes' state.txt", "grep -q yes state.txt")
#: Writes something else each time it is asked: the second time, what is wanted.
WRITE = "if grep -q nearly state.txt; then echo yes >state.txt; else echo nearly >state.txt; fi"
AGENT = f"sh -c '{WRITE}'"
PLAN = f"""
instruction: say yes
strategy:
  steps:
    - {{id: s1, description: write, actor: command, command: "{WRITE}", fixes: true}}
validations:
  - {{name: nearly, command: "{CHECKS[0]}"}}
  - {{name: says, command: "{CHECKS[1]}"}}
"""


@dataclass(frozen=True)
class Loop:
    """How a run of a loop is started, prepared, and answered when it asks."""

    start: Callable[[Journal, Path], str]
    prepare: Callable[[RunRow, Home], Segment]
    answers: dict[str, Any]


def _fix(journal: Journal, project: Path) -> str:
    request = plan_fix(project, load_config(project), checks=CHECKS, apply=Apply.ASK)
    request = replace(request, order=("agent",), agent=replace(request.agent, command=AGENT))
    return start_run(journal, request)


def _code(journal: Journal, project: Path) -> str:
    task = plan_task(
        project, "say yes", "state.txt", code_type=CodeType.BUG_FIX, tests=("test_state.txt",)
    )
    config = load_config(project)
    request = plan_code(project, config, task, checks=CHECKS, apply=Apply.YES, agent=AGENT)
    unmeasured = Requirement(minimum_coverage=0, required_tests=())
    return start_run(journal, replace(request, order=("agent",), requirement=unmeasured))


def _plan(journal: Journal, project: Path) -> str:
    file = project.parent / "plan.yaml"
    file.write_text(PLAN)
    request = plan_use(project, load_config(project), str(file))
    return start_plan(journal, replace(request, order=()))


LOOPS = {
    "fix": Loop(_fix, prepare_run, {"apply": "yes"}),
    "code": Loop(_code, prepare_run, {"generate": "yes"}),
    "plan": Loop(_plan, prepare_plan, {"begin": "go", "offer": "apply"}),
}
#: How many steps an undisturbed run has, questions among them; one more or less is noticed.
STEPS = {"fix": 14, "code": 14, "plan": 17}


class KilledJournal(Journal):
    """Kills its process at one step, before or after that is recorded."""

    def __init__(self, path: Location, seq: int, *, before: bool) -> None:
        super().__init__(path)
        self._seq, self._before = seq, before

    def record(self, claim: Any, seq: int, *args: Any, **options: Any) -> None:
        if seq == self._seq and self._before:
            os.kill(os.getpid(), signal.SIGKILL)
        super().record(claim, seq, *args, **options)
        if seq == self._seq:
            os.kill(os.getpid(), signal.SIGKILL)


def _go_on(journal: Journal, home: Home, run_id: str, loop: Loop) -> RunRow:
    """Run to the end, with the answers that the loop's questions get."""
    dispatcher = LocalDispatcher(journal, lambda run: loop.prepare(run, home))
    while True:
        run = journal.find(run_id)
        if run.state is RunState.WAITING:
            question = journal.open_question(run_id)
            assert question is not None
            (answer,) = [loop.answers[key] for key in question.question if key in loop.answers]
            journal.answer(run_id, answer)
        run = asyncio.run(dispatcher.run(run_id))
        if run.is_over:
            return run


def _killed(home: Home, run_id: str, loop: Loop, seq: int, *, before: bool) -> bool:
    """Whether a process that goes on with the run was killed at the step."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            with KilledJournal(home.journal, seq, before=before) as journal:
                _go_on(journal, home, run_id, loop)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], tuple[Home, Path]]:
    monkeypatch.delenv("RUNTRUE_MODEL", raising=False)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)

    def make(name: str) -> tuple[Home, Path]:
        project = make_project(tmp_path / name / "project", FILES)
        return Home(tmp_path / name / "home"), project

    return make


def _facts(journal: Journal, run: RunRow, project: Path) -> dict[str, Any]:
    """All about an ended run that must not depend on whether it was killed."""
    assert run.result is not None
    return {
        "status": run.result["status"],
        "why": run.result["why"],
        "applied": run.result["applied"],
        "diff": run.result["diff"],
        "attempts": [attempt["passed"] for attempt in run.result["attempts"]],
        "steps": [step.node for step in journal.load(run.id)],
        "file": (project / "state.txt").read_text(),
    }


@pytest.mark.parametrize("name", LOOPS)
def test_killed_at_any_step_and_resumed_a_loop_ends_as_undisturbed(
    name: str, made: Callable[[str], tuple[Home, Path]]
) -> None:
    loop = LOOPS[name]
    home, project = made("undisturbed")
    with Journal(home.journal) as journal:
        run = _go_on(journal, home, loop.start(journal, project), loop)
        wanted = _facts(journal, run, project)
    assert wanted["file"] == "yes\n"
    assert wanted["applied"] is True
    assert len(wanted["steps"]) == STEPS[name], wanted["steps"]
    for seq, step in enumerate(wanted["steps"]):
        for before in (True, False):
            home, project = made(f"{seq}-{step}-{'before' if before else 'after'}")
            with Journal(home.journal) as journal:
                run_id = loop.start(journal, project)
            assert _killed(home, run_id, loop, seq, before=before), (step, before)
            with Journal(home.journal) as journal:
                recorded = len(journal.load(run_id))
                assert recorded == (seq if before else seq + 1), (step, before)
                run = _go_on(journal, home, run_id, loop)
                assert _facts(journal, run, project) == wanted, (step, before)
