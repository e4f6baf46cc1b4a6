"""Proving candidates: the tests on a changed program, beside a fresh pytest process for each."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import islice, repeat
from pathlib import Path

from benchmarks.measure import Row, Table, Target
from benchmarks.user import PYTHON
from runtrue.checks import CommandCheck
from runtrue.fixers.search.forked_prover import Prover
from runtrue.loop import Workplace

MODULES, FUNCTIONS = 3, 12
#: Each round tries a portion of candidates in each way, beside a fresh process.
ROUNDS, PORTION = 15, 60
LONG = 10_000
COMMAND = "python -m pytest -q -x"

PROCESS = "a fresh pytest process"
ONE, ALL = "a candidate, one at a time", "candidates on all cores"
PASSING, MODULE = "a candidate that passes", "a candidate that changes a module's level"
EARLY, LATE = "memory after these candidates", f"memory after {LONG:,} more"


def run() -> tuple[Table, ...]:
    with tempfile.TemporaryDirectory() as folder:
        project, scratch = Path(folder, "project"), Path(folder, "scratch")
        scratch.mkdir()
        make_project(project)
        environment = {
            "PATH": f"{PYTHON.parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(scratch),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        workplace = Workplace(
            directory=project, root=project, scratch=scratch, environment=environment
        )
        samples, memory = asyncio.run(prove(workplace))
    return speed_table(samples), memory_table(memory)


def speed_table(samples: dict[str, list[float]]) -> Table:
    fresh = statistics.median(samples[PROCESS])
    rows = [line(PROCESS, samples[PROCESS])]
    rows += [
        line(name, samples[name], fresh, Target("≤", 0.01) if name == ALL else None)
        for name in (ONE, ALL, PASSING, MODULE)
    ]
    tests = MODULES * FUNCTIONS
    return Table(
        title=f"repair: trying one candidate on {tests} small tests, one of which fails",
        unit="ms",
        rows=tuple(rows),
        notes=(
            f"medians; {ROUNDS} fresh processes (`{COMMAND}`, the candidate on disk) and "
            f"{ROUNDS * PORTION} candidates, each of them another program, by turns",
            f"all cores: the time that each of {PORTION} takes when there is always one to try",
        ),
    )


def memory_table(memory: dict[str, float]) -> Table:
    ratio = memory[LATE] / memory[EARLY]
    return Table(
        title="repair: memory of the processes that prove candidates",
        unit="MiB",
        rows=(
            Row(EARLY, memory[EARLY], (memory[EARLY],) * 2),
            Row(LATE, memory[LATE], (memory[LATE],) * 2, EARLY, ratio, Target("≤", 1.1)),
        ),
    )


def line(
    name: str, samples: list[float], fresh: float | None = None, target: Target | None = None
) -> Row:
    cost = statistics.median(samples)
    low, _, high = statistics.quantiles(samples, n=4)
    ratio = None if fresh is None else cost / fresh
    return Row(name, cost, (low, high), None if fresh is None else PROCESS, ratio, target)


# -- the project -----------------------------------------------------------------------------------


def source(module: int, wrong: int | None = None, with_what: int = 0) -> str:
    """A module of small functions, one of which may add too much."""
    parts = [f'"""Module {module}."""\n\nLIMIT = 1000\n']
    for n in range(FUNCTIONS):
        add = f" + {with_what}" if n == wrong else ""
        parts.append(
            f"\n\ndef step_{n}(values):\n    total = 0\n    for value in values:\n"
            f"        if value < LIMIT:\n            total += value * {n + 1}{add}\n"
            "    return total\n"
        )
    return "".join(parts)


def make_project(project: Path) -> None:
    project.mkdir()
    for module in range(MODULES):
        wrong = 0 if module == 0 else None
        (project / f"steps_{module}.py").write_text(source(module, wrong, 1))
        tests = [f"import steps_{module}\n"] + [
            f"\n\ndef test_{n}():\n    assert steps_{module}.step_{n}([1, 2, 3]) == {6 * (n + 1)}\n"
            for n in range(FUNCTIONS)
        ]
        (project / f"test_steps_{module}.py").write_text("".join(tests))


def failing() -> Iterator[str]:
    for n in range(2, 1_000_000):
        yield source(0, 0, n)


def changing_module() -> Iterator[str]:
    for n in range(2, 1_000_000):
        yield source(0, 0, 1).replace("LIMIT = 1000", f"LIMIT = {1000 + n}")


# -- samples, in milliseconds ----------------------------------------------------------------------


async def prove(workplace: Workplace) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Samples of each way, taken by turns: what slows the machine for a while slows them all."""
    check = CommandCheck(name="pytest", command=COMMAND)
    samples: dict[str, list[float]] = {name: [] for name in (PROCESS, ONE, ALL, PASSING, MODULE)}
    texts, changed, right = failing(), changing_module(), repeat(source(0))
    async with Prover.open(check, workplace) as prover:
        await prover.baseline()
        fresh_process(workplace, next(texts))  # fills the caches of the system
        for _ in range(ROUNDS):
            samples[PROCESS].append(fresh_process(workplace, next(texts)))
            samples[ONE] += await one_by_one(prover, islice(texts, PORTION), "failed")
            samples[ALL].append(await at_once(prover, list(islice(texts, PORTION))))
            samples[MODULE] += await one_by_one(prover, islice(changed, PORTION // 4), "failed")
            samples[PASSING] += await one_by_one(prover, islice(right, PORTION // 4), "passed")
        memory = {EARLY: resident()}
        for _ in range(LONG // PORTION):
            await at_once(prover, list(islice(texts, PORTION)))
        memory[LATE] = resident()
    return samples, memory


def fresh_process(workplace: Workplace, text: str) -> float:
    """A candidate on disk, tried by a process of its own."""
    file = workplace.root / "steps_0.py"
    original = file.read_text()
    file.write_text(text)
    began = time.perf_counter()
    done = subprocess.run(
        COMMAND.split(),
        cwd=workplace.root,
        env=dict(workplace.environment),
        capture_output=True,
        check=False,
    )
    cost = (time.perf_counter() - began) * 1e3
    assert done.returncode == 1, done.stdout
    file.write_text(original)
    return cost


async def one_by_one(prover: Prover, texts: Iterator[str], end: str) -> list[float]:
    samples = []
    for text in texts:
        began = time.perf_counter()
        trial = await prover.prove({"steps_0.py": text})
        samples.append((time.perf_counter() - began) * 1e3)
        assert trial.end == end, trial
    return samples


async def at_once(prover: Prover, texts: list[str]) -> float:
    """As many at a time as a search has: what each takes, on the average."""
    count = len(texts)

    async def work() -> None:
        while texts:
            trial = await prover.prove({"steps_0.py": texts.pop()})
            assert trial.end == "failed", trial

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(2 * (os.cpu_count() or 1))))
    return (time.perf_counter() - began) * 1e3 / count


def resident() -> float:
    """What this process's descendants have in memory, in MiB; what they share counts once."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    total = 0
    for pid in ours - {os.getpid()}:
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        total += next(int(row.split()[1]) for row in rollup.splitlines() if row.startswith("Pss:"))
    return total / 1024
