"""Checks, fixers and a sandbox that live in memory: the cycle knows nothing but the seams."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runtrue.flow import (
    Claim,
    Event,
    Journal,
    Listener,
    Owner,
    Parked,
    Run,
)
from runtrue.loop import (
    Analysis,
    Attempt,
    Decision,
    Escalation,
    Finding,
    FixTask,
    History,
    Mode,
    Notice,
    Outcome,
    Policy,
    Proposal,
    RepairState,
    Skip,
    Trial,
    Verdict,
    Workplace,
    Workshop,
    repair,
)
from tests.loop.make import finding

Files = dict[str, str]


class MemorySandbox:
    """Candidates as dictionaries from file to content. What judges them begins with `test`."""

    def __init__(self, files: Files) -> None:
        self.files = dict(files)
        self.kept: dict[str, Files] = {}
        self.first = self.snapshot()

    def restore(self, candidate: str) -> None:
        self.files = dict(self.kept[candidate])

    def snapshot(self) -> str:
        content = json.dumps(self.files, sort_keys=True).encode()
        candidate = hashlib.sha256(content).hexdigest()[:8]
        self.kept[candidate] = dict(self.files)
        return candidate

    def found(self, left: str) -> str:
        return self.snapshot()

    def changed(self, old: str, new: str) -> tuple[str, ...]:
        before, after = self.kept[old], self.kept[new]
        return tuple(f for f in sorted({*before, *after}) if before.get(f) != after.get(f))

    def put_back(self, files: tuple[str, ...], candidate: str) -> None:
        for file in files:
            self.files.pop(file, None)
            if file in self.kept[candidate]:
                self.files[file] = self.kept[candidate][file]

    def missing(self, files: tuple[str, ...], candidate: str) -> tuple[str, ...]:
        return tuple(file for file in files if file not in self.kept[candidate])

    def read(self, file: str, candidate: str) -> bytes | None:
        text = self.kept[candidate].get(file)
        return None if text is None else text.encode()

    def count_lines(self, old: str, new: str) -> tuple[int, int]:
        changed = self.changed(old, new)
        return (
            sum(file in self.kept[new] for file in changed),
            sum(file in self.kept[old] for file in changed),
        )

    def difference(self, old: str, new: str) -> str:
        files = [file for file in self.changed(old, new) if file in self.kept[new]]
        return "".join(f"+{line}\n" for f in files for line in self.kept[new][f].splitlines())

    def settle(self, candidate: str, patch: Path) -> str:
        self.restore(candidate)
        return self.difference(self.first, candidate)

    def demand_leaving(self, candidate: str) -> None:
        pass

    def protected(
        self, files: tuple[str, ...], between: tuple[str, str] | None = None
    ) -> tuple[str, ...]:
        return tuple(file for file in files if file.startswith("test"))

    def content_hash(self, file: str, candidate: str) -> str | None:
        text = self.kept[candidate].get(file)
        return None if text is None else hashlib.sha256(text.encode()).hexdigest()

    def may_add(self, file: str, candidate: str) -> bool:
        return file.startswith("test") and file not in self.kept[candidate]

    def workplace(self) -> Workplace:
        here = Path("sandbox")
        return Workplace(directory=here, root=here, scratch=here, environment={})


Judge = Callable[[Files], Iterable[Finding]]


def says(file: str, text: str) -> Judge:
    """A judge who wants `file` to say `text`, and has one finding otherwise."""

    def judge(files: Files) -> Iterator[Finding]:
        if files.get(f"{file}.py") != text:
            yield finding(f"{file} does not say {text}", file=f"{file}.py")

    return judge


@dataclass
class MemoryCheck:
    """Gives the findings that its judge finds in the files, and remembers what it was run on."""

    sandbox: MemorySandbox
    name: str
    judge: Judge
    mode: Mode = Mode.REQUIRED
    cases: Callable[[Files], dict[str, Outcome]] = field(default=lambda files: {})
    log: list[str] = field(default_factory=list)

    @property
    def command(self) -> str:
        return f"run {self.name}"

    async def run(self, workplace: Workplace) -> Verdict:
        await asyncio.sleep(0)
        self.log.append(self.name)
        found = tuple(self.judge(self.sandbox.files))
        return Verdict(
            check=self.name,
            mode=self.mode,
            passed=not found,
            findings=found,
            cases=self.cases(self.sandbox.files),
        )


#: How the cases of one run of a test command end; a finding stands for one without cases.
Script = list[dict[str, Outcome] | Finding]


@dataclass
class ScriptedTests:
    """A test command that ends each time as written down, the last way for ever."""

    runs: Script
    name: str = "tests"
    mode: Mode = Mode.REQUIRED
    command: str = "run tests"
    count: int = 0

    async def run(self, workplace: Workplace) -> Verdict:
        await asyncio.sleep(0)
        said = self.runs[min(self.count, len(self.runs) - 1)]
        self.count += 1
        if isinstance(said, Finding):
            return Verdict(check=self.name, mode=self.mode, passed=False, findings=(said,))
        bad = [c for c, outcome in said.items() if outcome in (Outcome.FAILED, Outcome.ERROR)]
        found = tuple(finding(f"{case} failed", symbol=case) for case in bad)
        return Verdict(
            check=self.name,
            mode=self.mode,
            passed=not found,
            findings=found,
            cases=dict(said),
            seconds=1.0,
        )


@dataclass
class MemoryGate:
    """Gives the findings that its judge finds in the files, and remembers what it was told."""

    sandbox: MemorySandbox
    judge_files: Judge
    name: str = "coverage"
    mode: Mode = Mode.REQUIRED
    trials: list[Trial] = field(default_factory=list)

    async def judge(self, workplace: Workplace, trial: Trial) -> Verdict:
        await asyncio.sleep(0)
        self.trials.append(trial)
        found = tuple(self.judge_files(self.sandbox.files))
        return Verdict(check=self.name, mode=self.mode, passed=not found, findings=found)


@dataclass
class MemoryAnalyst:
    """Counts the findings, and remembers what it was asked."""

    asked: list[tuple[Attempt, History]] = field(default_factory=list)
    blocking: bool = False

    def analyse(self, attempt: Attempt, history: History) -> Analysis:
        self.asked.append((attempt, history))
        return Analysis(root_cause=f"{len(attempt.blocking)} in attempt {attempt.number}")


@dataclass
class MemoryEscalator:
    """Remembers what was escalated, and dies of it as often as `crashes` says."""

    told: list[tuple[Escalation, History]] = field(default_factory=list)
    crashes: int = 0

    async def escalate(self, escalation: Escalation, history: History) -> Notice:
        await asyncio.sleep(0)
        self.told.append((escalation, history))
        if len(self.told) <= self.crashes:
            raise Killed
        report = f"{escalation.trigger.condition}-{escalation.attempts}"
        return Notice(report=report, channel="cli", delivered=True, detail="")


class Killed(BaseException):
    """Stands for the end of the process: nothing in the cycle may catch it."""


Edit = Callable[[Files], str | None]


def write(**files: str) -> Edit:
    """An edit that sets the content of files, named without their suffix."""

    def edit(content: Files) -> None:
        content.update({f"{name}.py": text for name, text in files.items()})

    return edit


def nothing(content: Files) -> None:
    """An edit that changes nothing."""


@dataclass
class MemoryFixer:
    """Makes its edits, one each time it is asked; an edit that returns a text has failed so."""

    sandbox: MemorySandbox
    name: str
    edits: list[Edit]
    trusted: bool = False
    repeatable: bool = True
    side_effect: bool = False
    missing: str | None = None
    only: Callable[[Finding], bool] = field(default=lambda finding: True)
    tasks: list[FixTask] = field(default_factory=list)
    saw: list[Files] = field(default_factory=list)

    def unavailable(self) -> str | None:
        return self.missing

    def accepts(self, finding: Finding) -> bool:
        return self.only(finding)

    async def propose(self, task: FixTask, workplace: Workplace) -> Proposal:
        await asyncio.sleep(0)
        self.tasks.append(task)
        self.saw.append(dict(self.sandbox.files))
        edit = self.edits.pop(0) if len(self.edits) > 1 else self.edits[0]
        return Proposal(description=f"{self.name} did it", failure=edit(self.sandbox.files))


AnyCheck = MemoryCheck | ScriptedTests


def build(
    sandbox: MemorySandbox,
    checks: Iterable[AnyCheck],
    ladder: Iterable[MemoryFixer | Skip],
    policy: Policy,
    **options: Any,
) -> Workshop:
    """What a repair works with; `options` are the workshop's."""
    return Workshop(
        sandbox=sandbox, checks=tuple(checks), ladder=tuple(ladder), policy=policy, **options
    )


@dataclass
class Told:
    """How a cycle went."""

    state: RepairState
    events: list[Event]

    @property
    def history(self) -> History:
        return self.state.history

    @property
    def decision(self) -> Decision:
        return self.state.last_decision

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """What the events of a kind tell."""
        return [event.payload for event in self.events if event.kind == kind]


def run(
    sandbox: MemorySandbox,
    checks: Iterable[AnyCheck],
    ladder: Iterable[MemoryFixer | Skip],
    policy: Policy | None = None,
    *,
    before: tuple[Verdict, ...] = (),
    **options: Any,
) -> Told:
    """Drive the cycle in memory to its end."""
    events: list[Event] = []
    listener: Listener = events.append
    workshop = build(sandbox, checks, ladder, policy or Policy(), **options)
    state = RepairState(candidate=sandbox.first, history=History(before=before))
    cycle = Run(listeners=[listener]).execute(lambda run: repair(run, workshop, state))
    asyncio.run(cycle)
    return Told(state, events)


@dataclass
class Durable:
    """One run of a cycle in a journal, driven segment by segment, each from a fresh store."""

    journal: Journal
    sandbox: MemorySandbox
    workshop: Workshop

    def __post_init__(self) -> None:
        self.run_id = self.journal.create("test", "", {})

    def drive(self, *, force: bool = False) -> RepairState:
        claim: Claim = self.journal.claim(self.run_id, Owner.this_process(), force=True)
        state = RepairState(candidate=self.sandbox.first)
        run = Run.recorded(self.journal, claim, force=force)
        asyncio.run(run.execute(lambda run: repair(run, self.workshop, state)))
        return state

    def drive_to_question(self) -> Any:
        with pytest.raises(Parked) as parked:
            self.drive()
        return parked.value.question
