"""What isolation adds to a command's time, at each level, beside the same command without it."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.measure import Contender, Row, Table, Target, interleave, row
from benchmarks.overhead import TESTS, make_project
from runtrue import process
from runtrue.confinement import Confinement
from runtrue.sandbox.isolation import Box, Level, unavailable

LEVELS = (Level.BUBBLEWRAP, Level.LANDLOCK, Level.PROCESS)
TRUE_ROUNDS = 41
TRUE_MILLISECONDS = 30
TESTS_ROUNDS = 15
TESTS_PART = 0.05

BARE = "bare"
FLOOR = "bwrap --ro-bind / /"
RUN = "run by runtrue, not isolated"
TRUE = ("true",)
PYTEST = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider")


def run() -> tuple[Table, Table]:
    reasons = {level: unavailable(level) for level in LEVELS}
    levels = [level for level, reason in reasons.items() if reason is None]
    missing = [f"{level} is not available here: {why}" for level, why in reasons.items() if why]
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(Path.home()),
        # What the sandbox sets for every command, so that all compile the tests alike.
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        project = Path(folder, "project")
        make_project(project)
        boxes = {
            level: Box(level=level, write=(project,), private=Path(folder, "private"))
            for level in levels
        }

        def contenders(argv: Sequence[str]) -> dict[str, Contender]:
            def confined(confinement: Confinement | None) -> Contender:
                return lambda: runner.run(_run(argv, project, environment, confinement))

            return {
                BARE: _bare(argv, project, environment),
                RUN: confined(None),
                **{level.value: confined(box) for level, box in boxes.items()},
            }

        floor = {FLOOR: _bare([*FLOOR.split(), *TRUE], project, environment)}
        trues = interleave(
            {**contenders(TRUE), **(floor if Level.BUBBLEWRAP in boxes else {})},
            rounds=TRUE_ROUNDS,
            warm_up=3,
        )
        tests = interleave(contenders(PYTEST), rounds=TESTS_ROUNDS)
    notes = (
        "what a level adds: what it takes beyond the bare command of the same round",
        "a level is everything: its places, namespaces or rules, limits, and the watch over them",
        *missing,
    )
    return (
        Table(
            title="isolation: `true`, from its start to its end",
            unit="ms",
            rows=(*_rows(trues), *(_added(trues, level) for level in levels)),
            notes=(f"medians of {TRUE_ROUNDS} interleaved rounds", *notes),
        ),
        Table(
            title=f"isolation: {TESTS} trivial tests that pass, run by pytest",
            unit="ms",
            rows=(*_rows(tests), *(_part(tests, level) for level in levels)),
            notes=(
                f"medians of {TESTS_ROUNDS} interleaved rounds; what is added is the difference "
                "of the fastest: noise only ever adds",
                *notes,
            ),
        ),
    )


def _bare(argv: Sequence[str], project: Path, environment: Mapping[str, str]) -> Contender:
    def sample() -> float:
        begin = time.perf_counter()
        subprocess.run(
            argv,
            check=True,
            cwd=project,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        return (time.perf_counter() - begin) * 1e3

    return sample


async def _run(
    argv: Sequence[str],
    project: Path,
    environment: Mapping[str, str],
    confinement: Confinement | None,
) -> float:
    begin = time.perf_counter()
    ended = await process.run(
        argv, cwd=project, env=environment, timeout=600, confinement=confinement
    )
    took = (time.perf_counter() - begin) * 1e3
    if ended.exit_code != 0:
        raise OSError(f"`{' '.join(argv)}` ended with {ended.exit_code}: {ended.stderr.text}")
    return took


def _rows(samples: Mapping[str, list[float]]) -> list[Row]:
    return [row(samples, name, of=None if name == BARE else BARE) for name in samples]


def _beyond(samples: Mapping[str, list[float]], level: Level) -> tuple[str, list[float]]:
    pairs = zip(samples[level.value], samples[BARE], strict=True)
    return f"{level} adds", [isolated - bare for isolated, bare in pairs]


def _added(samples: Mapping[str, list[float]], level: Level) -> Row:
    """What a level adds, as a part of what it may add."""
    name, added = _beyond(samples, level)
    low, cost, high = statistics.quantiles(added, n=4)
    ratio, target = cost / TRUE_MILLISECONDS, Target("≤", 1)
    return Row(name, cost, (low, high), f"{TRUE_MILLISECONDS} ms", ratio, target)


def _part(samples: Mapping[str, list[float]], level: Level) -> Row:
    """What a level adds, as a part of what the command takes without it; of each, the fastest.

    A round takes longer by whatever else the machine does, which is more than a level adds, and
    none takes less than it must. The quartiles are those of the rounds, each beside its bare one.
    """
    name, added = _beyond(samples, level)
    low, _, high = statistics.quantiles(added, n=4)
    floor = min(samples[BARE])
    cost = min(samples[level.value]) - floor
    return Row(name, cost, (low, high), BARE, cost / floor, Target("≤", TESTS_PART))
