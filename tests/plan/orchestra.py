"""The orchestrator in memory: checks, fixers and strategists without any process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from runtrue.flow import (
    Claim,
    Event,
    Journal,
    Owner,
    Parked,
    Run,
)
from runtrue.loop import (
    EXPIRED,
    Bounds,
    Finding,
    Fixer,
    History,
    Mode,
    Policy,
    Revise,
    Spent,
    Workplace,
    Workshop,
)
from runtrue.plan.context import PlanRun
from runtrue.plan.orchestrator import FixThenRevalidateOrchestrator, Validated
from runtrue.plan.progress import Progress, StepState
from runtrue.plan.seams import Strategized, StrategyTask
from runtrue.plan.states import Phase, PlanState, Position
from runtrue.plan.strategy import Step, Strategy
from tests.loop.make import finding
from tests.loop.workshop import Files, Judge, MemoryCheck, MemoryFixer, MemorySandbox
from tests.plan.requests import make_request

#: What a plan's own profile comes to, as far as the loop looks at it.
POLICY = Policy(
    abort_on_regression=False,
    ask_human=True,
    retry_limit=3,
    revision=Revise.ASKED,
    stops_when_spent=True,
    flaky_reruns=0,
    transport_retries=1,
    format_retries=1,
)
AUTO = replace(POLICY, revision=Revise.AUTO)


def wants(check: str, **files: str) -> Judge:
    """A judge of that name who wants files, named without suffix, to say something."""

    def judge(content: Files) -> Iterator[Finding]:
        for name, text in files.items():
            if content.get(f"{name}.py") != text:
                yield finding(f"{name} does not say {text}", file=f"{name}.py", source=check)

    return judge


@dataclass
class MemoryStrategist:
    """Revises as it is told to, one way after another; the last one for ever."""

    ways: list[Callable[[StrategyTask], Strategized]]
    tasks: list[StrategyTask] = field(default_factory=list)
    name: str = "strategist"

    async def strategize(self, task: StrategyTask, workplace: Workplace) -> Strategized:
        raise AssertionError("the loop never makes a whole strategy")

    async def revise(self, task: StrategyTask, workplace: Workplace) -> Strategized:
        await asyncio.sleep(0)
        self.tasks.append(task)
        return (self.ways.pop(0) if len(self.ways) > 1 else self.ways[0])(task)


def widen(task: StrategyTask) -> Strategized:
    """The same step, with what was needed allowed."""
    assert task.subtree is not None
    bounds = task.bounds.widened(task.needed)
    return Strategized(description="wider", steps=(replace(task.subtree, bounds=bounds),))


def same(task: StrategyTask) -> Strategized:
    """The same step once more."""
    assert task.subtree is not None
    return Strategized(description="again", steps=(task.subtree,))


def fail(task: StrategyTask) -> Strategized:
    """No revision at all."""
    return Strategized(description="", failure="nothing comes to mind", usage={"cost": 0.25})


def redo(plan: PlanRun) -> None:
    """Stand for the step that is done again, by an actor who changes nothing."""
    progress = plan.progress
    assert progress.pending is not None
    step, bounds = progress.pending
    plan.advance(step=step.id)
    plan.bounds = bounds
    plan.open_chapter(History(earlier=progress.spent, is_later=progress.is_later))


@dataclass
class Orchestra:
    """One step of a plan that is being validated, driven from question to question."""

    journal: Journal
    sandbox: MemorySandbox
    checks: tuple[MemoryCheck, ...]
    fixers: tuple[Fixer, ...]
    policy: Policy = POLICY
    strategist: MemoryStrategist = field(default_factory=lambda: MemoryStrategist([fail]))
    bounds: Bounds = field(default_factory=Bounds)
    approves: bool = False
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.run_id = self.journal.create("test", "", {})

    async def work(self, run: Run, plan: PlanRun) -> None:
        """Validate the step, and do it again as long as the strategy is revised."""
        workshop = Workshop(
            sandbox=self.sandbox,
            checks=self.checks,
            ladder=self.fixers,
            policy=self.policy,
        )
        orchestrator = FixThenRevalidateOrchestrator(
            workshop,
            self.strategist,
            instruction="say it",
            approves_revisions=self.approves,
        )
        while await orchestrator.revalidate(run, plan) is Validated.REVISED:
            redo(plan)

    def plan(self) -> PlanRun:
        step = Step(id="s1", description="say it", bounds=self.bounds)
        progress = Progress(
            position=Position(Phase.EXECUTE, PlanState.PROCESSING),
            strategy=Strategy(steps=(step,)),
            states={"s1": StepState.PROCESSING},
            step="s1",
        )
        return PlanRun(
            run_id=self.run_id,
            request=make_request(),
            candidate=self.sandbox.first,
            since=self.sandbox.first,
            origin=self.sandbox.first,
            bounds=self.bounds,
            progress=progress,
            in_chapter=True,
        )

    def drive(self) -> PlanRun:
        """Drive it to its end. Raises Parked at a question."""
        claim: Claim = self.journal.claim(self.run_id, Owner.this_process(), force=True)
        plan = self.plan()
        run = Run.recorded(self.journal, claim, listeners=[self.events.append])
        asyncio.run(run.execute(lambda run: self.work(run, plan)))
        return plan

    def question(self) -> Any:
        """Drive it to its next question."""
        try:
            self.drive()
        except Parked as parked:
            return parked.question
        raise AssertionError("it has ended, and asked nothing")

    def answer(self, said: Any) -> None:
        """Say something to it."""
        self.journal.answer(self.run_id, said)

    def play(self, answers: Iterable[Any] = ()) -> PlanRun:
        """Drive it to its end, with these answers, and with none in time after them."""
        left = list(answers)
        while True:
            try:
                return self.drive()
            except Parked:
                self.answer(left.pop(0) if left else EXPIRED)

    def told(self, kind: str) -> list[dict[str, Any]]:
        """What the events of a kind tell."""
        return [event.payload for event in self.events if event.kind == kind]


def orchestra(
    journal: Journal,
    files: Files,
    *judges: tuple[str, Judge],
    edits: Callable[[MemorySandbox], Iterable[MemoryFixer]],
    informational: Iterable[tuple[str, Judge]] = (),
    **options: Any,
) -> Orchestra:
    """A step whose candidate is `files`; `edits` makes its fixers."""
    sandbox = MemorySandbox(files)
    log: list[str] = []
    checks = [MemoryCheck(sandbox, name, judge, log=log) for name, judge in judges]
    checks += [
        MemoryCheck(sandbox, name, judge, mode=Mode.INFORMATIONAL, log=log)
        for name, judge in informational
    ]
    return Orchestra(journal, sandbox, tuple(checks), tuple(edits(sandbox)), **options)


def spent(plan: PlanRun) -> Spent:
    """What was used up in the end."""
    return plan.progress.spent
