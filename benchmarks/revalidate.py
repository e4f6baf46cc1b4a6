"""What the fix-then-revalidate loop itself takes for a retry, with few and with many validations.

The sandbox is in memory, and validations and fixer take no time; the journal is a real one. Every
validation fails until the last fix, so that each retry runs them all: the worst there is.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measure import Contender, Row, Table, Target, interleave, row
from runtrue.flow import Journal, Owner, Run, RunState
from runtrue.loop import (
    Fault,
    Finding,
    FixTask,
    Location,
    Mode,
    Policy,
    Proposal,
    Verdict,
    Workplace,
    Workshop,
)
from runtrue.plan.context import PlanRun
from runtrue.plan.diagnosis import PlanAnalyst
from runtrue.plan.orchestrator import FixThenRevalidateOrchestrator
from runtrue.plan.strategists import BoundsStrategist

ROUNDS = 21
COUNTS = (1, 10, 100)
#: Fixes in one run; what is timed lies between the first and the last, one retry less.
FIXES = 4

LIMIT_MS = 2.0
FILE = "handler.py"


def run() -> Table:
    with journal_on_disk() as folder, Journal(Path(folder, "journal.db")) as journal:
        names = {count: f"{count} validation{'s' if count > 1 else ''}" for count in COUNTS}
        samples = interleave(
            {names[count]: retry(journal, count) for count in COUNTS}, rounds=ROUNDS
        )
    one, few, many = names.values()
    each = {
        f"{name}, each": [sample / count for sample in samples[name]]
        for count, name in names.items()
    }
    first = row(samples, one)
    rows: tuple[Row, ...] = (
        Row(
            one,
            first.cost,
            first.quartiles,
            f"{LIMIT_MS:g} ms",
            first.cost / LIMIT_MS,
            Target("≤", 1),
        ),
        row(samples, few),
        row(samples, many),
        row(each, f"{few}, each"),
        row(each, f"{many}, each", of=f"{few}, each", target=Target("≤", 2)),
    )
    return Table(
        title="revalidate: the loop's own time for a retry (fix, validate, diagnose, decide)",
        unit="ms",
        rows=rows,
        notes=(
            f"medians of {ROUNDS} interleaved rounds of {FIXES - 1} retries; durable, on disk",
            "every validation fails each time, and has one finding",
        ),
    )


def journal_on_disk() -> tempfile.TemporaryDirectory[str]:
    """A directory that is gone afterwards, and not in memory as /tmp often is."""
    return tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp"))  # noqa: S108


def retry(journal: Journal, validations: int) -> Contender:
    """The milliseconds that a retry takes, in one run of the loop."""

    def sample() -> float:
        sandbox = CountingSandbox()
        fixer = CountingFixer(sandbox)
        workshop = Workshop(
            sandbox=sandbox,
            checks=tuple(FailingCheck(sandbox, f"v{number}") for number in range(validations)),
            ladder=(fixer,),
            policy=Policy(retry_limit=FIXES, abort_on_regression=False),
            analyst=PlanAnalyst(),
        )
        orchestrator = FixThenRevalidateOrchestrator(workshop, BoundsStrategist(), instruction="")
        claim = journal.claim(journal.create("plan", "bench", {}), Owner.this_process())
        unused: Any = None
        plan = PlanRun(run_id="bench", request=unused, candidate=sandbox.snapshot())
        run = Run.recorded(journal, claim)
        asyncio.run(run.execute(partial(orchestrator.revalidate, plan=plan)))
        journal.finish(claim, RunState.PASSED, {})
        assert len(fixer.asked) == FIXES
        return (fixer.asked[-1] - fixer.asked[0]) * 1e3 / (FIXES - 1)

    return sample


class CountingSandbox:
    """Candidates are numbers, one higher with every edit."""

    def __init__(self) -> None:
        self.content = 0

    def restore(self, candidate: str) -> None:
        self.content = int(candidate)

    def snapshot(self) -> str:
        return str(self.content)

    def found(self, left: str) -> str:
        return self.snapshot()

    def changed(self, old: str, new: str) -> tuple[str, ...]:
        return () if old == new else (FILE,)

    def put_back(self, files: tuple[str, ...], candidate: str) -> None:
        raise AssertionError("nothing here judges")

    def settle(self, candidate: str, patch: Path) -> str:
        return ""

    def demand_leaving(self, candidate: str) -> None:
        pass

    def missing(self, files: tuple[str, ...], candidate: str) -> tuple[str, ...]:
        return ()

    def read(self, file: str, candidate: str) -> bytes | None:
        return candidate.encode()

    def difference(self, old: str, new: str) -> str:
        return ""

    def count_lines(self, old: str, new: str) -> tuple[int, int]:
        return 1, 1

    def protected(
        self, files: tuple[str, ...], between: tuple[str, str] | None = None
    ) -> tuple[str, ...]:
        return ()

    def content_hash(self, file: str, candidate: str) -> str | None:
        return candidate

    def may_add(self, file: str, candidate: str) -> bool:
        return False

    def workplace(self) -> Workplace:
        here = Path("sandbox")
        return Workplace(directory=here, root=here, scratch=here, environment={})


class FailingCheck:
    """Passes only what was fixed often enough."""

    mode = Mode.REQUIRED

    def __init__(self, sandbox: CountingSandbox, name: str) -> None:
        self.sandbox = sandbox
        self.name = name
        self.command = f"validate {name}"
        finding = Finding(
            source=name,
            category="assertion",
            message=f"{name}: the total is 100, and not 110",
            fault=Fault.CANDIDATE,
            location=Location(file=FILE, line=2),
            data={"paths": [FILE], "lines": [2], "expected": 110, "actual": 100},
        )
        # Made beforehand: that is a validation's own time, and not the loop's.
        self.failed = Verdict(check=name, mode=self.mode, passed=False, findings=(finding,))
        self.passed = Verdict(check=name, mode=self.mode, passed=True)

    async def run(self, workplace: Workplace) -> Verdict:
        return self.passed if self.sandbox.content >= FIXES else self.failed


class CountingFixer:
    """Makes another candidate each time, and notes when it was asked."""

    name = "agent"
    trusted = False
    repeatable = True
    side_effect = False

    def __init__(self, sandbox: CountingSandbox) -> None:
        self.sandbox = sandbox
        self.asked: list[float] = []

    def unavailable(self) -> str | None:
        return None

    def accepts(self, finding: Finding) -> bool:
        return True

    async def propose(self, task: FixTask, workplace: Workplace) -> Proposal:
        self.asked.append(time.perf_counter())
        self.sandbox.content = len(self.asked)
        return Proposal(description="counted")
