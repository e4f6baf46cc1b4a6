"""Checks, fixers and a sandbox that live in memory: the cycle knows nothing but the seams."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtrue.flow import Event, Flow, Listener, Node
from runtrue.loop import (
    Action,
    Decision,
    Finding,
    FixTask,
    History,
    Mode,
    Outcome,
    Policy,
    Proposal,
    Skip,
    Verdict,
    Workplace,
    Workshop,
    repair_cycle,
)

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

    def changed(self, old: str, new: str) -> tuple[str, ...]:
        before, after = self.kept[old], self.kept[new]
        return tuple(f for f in sorted({*before, *after}) if before.get(f) != after.get(f))

    def put_back(self, files: tuple[str, ...], candidate: str) -> None:
        for file in files:
            self.files.pop(file, None)
            if file in self.kept[candidate]:
                self.files[file] = self.kept[candidate][file]

    def count_lines(self, old: str, new: str) -> tuple[int, int]:
        changed = self.changed(old, new)
        return (
            sum(file in self.kept[new] for file in changed),
            sum(file in self.kept[old] for file in changed),
        )

    def protected(self, files: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(file for file in files if file.startswith("test"))

    def workplace(self) -> Workplace:
        here = Path("sandbox")
        return Workplace(directory=here, root=here, scratch=here, environment={})


Judge = Callable[[Files], Iterable[Finding]]


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


class End(Node):
    terminal = True


def build(
    sandbox: MemorySandbox,
    checks: Iterable[MemoryCheck],
    ladder: Iterable[MemoryFixer | Skip],
    policy: Policy,
) -> Flow:
    """The cycle, ending where the loop that uses it would go on."""
    workshop = Workshop(sandbox=sandbox, checks=tuple(checks), ladder=tuple(ladder), policy=policy)
    check, decision = repair_cycle(workshop)
    end = End("end")
    decision - Action.ACCEPT >> end
    decision - Action.STOP >> end
    return Flow(check)


@dataclass
class Told:
    """How a cycle went."""

    shared: dict[str, Any]
    events: list[Event]

    @property
    def history(self) -> History:
        history: History = self.shared["history"]
        return history

    @property
    def decision(self) -> Decision:
        decision: Decision = self.shared["decision"]
        return decision


def run(
    sandbox: MemorySandbox,
    checks: Iterable[MemoryCheck],
    ladder: Iterable[MemoryFixer | Skip],
    policy: Policy | None = None,
) -> Told:
    """Drive the cycle in memory to its end."""
    events: list[Event] = []
    listener: Listener = events.append
    flow = build(sandbox, checks, ladder, policy or Policy())
    shared = asyncio.run(flow.run({"candidate": sandbox.first}, listeners=[listener]))
    return Told(shared, events)
