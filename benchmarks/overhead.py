"""The loop's own time around a test command, beside the bare command."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import Contender, Row, Table, Target, interleave, row
from runtrue.code import plan_fix, prepare_run, start_run
from runtrue.config import Config
from runtrue.flow import Event, Journal, LocalDispatcher
from runtrue.home import Home

ROUNDS = 15
TESTS = 200
COMMAND = "python -m pytest -q"

BARE = "bare pytest"
LOOP = "the same as an attempt of the loop"
OWN = "the loop's own part of it"
WHOLE = "runtrue fix, from start to end"


def run() -> Table:
    python = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        project, home = Path(folder, "project"), Home(Path(folder, "home"))
        make_project(project)
        # What the sandbox sets for every command, so that both compile the tests alike.
        environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("PYTHON")},
            "PATH": f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "RUNTRUE_HOME": str(home.path),
        }
        os.environ.update(environment)
        samples = interleave(
            {
                BARE: command(["python", "-m", "pytest", "-q"], project, environment),
                LOOP: attempt(project, home),
                WHOLE: command(
                    [str(Path(python).with_name("runtrue")), "fix"], project, environment
                ),
            },
            rounds=ROUNDS,
        )
    own = [max(loop - bare, 0.0) for loop, bare in zip(samples[LOOP], samples[BARE], strict=True)]
    part = row({**samples, OWN: own}, OWN, of=BARE, target=Target("≤", 0.05))
    rows: tuple[Row, ...] = (
        row(samples, BARE),
        row(samples, LOOP, of=BARE),
        part,
        row(samples, WHOLE, of=BARE),
    )
    return Table(
        title=f"overhead: {TESTS} trivial tests that pass, bare and in the loop",
        unit="ms",
        rows=rows,
        notes=(
            f"medians of {ROUNDS} interleaved rounds; both run the tests without compiled files",
            "an attempt: from the check to the end of what is learned (report, decision, journal, "
            "memory); its own part is what it takes beyond the bare command of the same round",
            "the whole command also starts runtrue and makes and removes a sandbox",
        ),
    )


def make_project(project: Path) -> None:
    project.mkdir()
    tests = "\n\n".join(f"def test_{n}():\n    assert {n} + 1 == {n + 1}" for n in range(TESTS))
    (project / "test_trivial.py").write_text(tests + "\n")
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)


def command(argv: list[str], project: Path, environment: dict[str, str]) -> Contender:
    def sample() -> float:
        begin = time.perf_counter()
        subprocess.run(argv, check=True, cwd=project, env=environment, capture_output=True)
        return (time.perf_counter() - begin) * 1e3

    return sample


def attempt(project: Path, home: Home) -> Contender:
    """From the start of the check to the end of what is learned, within a whole run."""

    def sample() -> float:
        times: dict[str, float] = {}

        def listen(event: Event) -> None:
            if event.kind == "node_started":
                times.setdefault(event.origin, time.perf_counter())

        with Journal(home.journal) as journal:
            request = plan_fix(project, Config(), checks=[COMMAND])
            run_id = start_run(journal, request)
            dispatcher = LocalDispatcher(journal, lambda run: prepare_run(run, home), [listen])
            ended = asyncio.run(dispatcher.run(run_id))
        if ended.state != "passed":
            raise RuntimeError(f"the run ended as {ended.state}")
        shutil.rmtree(home.sandbox(run_id), ignore_errors=True)
        return (times["settle"] - times["check"]) * 1e3

    return sample
