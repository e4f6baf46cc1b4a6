"""Small nodes and drivers that several tests of the kernel share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from runtrue.flow import (
    Claim,
    Event,
    Flow,
    Journal,
    Listener,
    Node,
    Outcome,
    Owner,
    Run,
    RunState,
    Segment,
    StepRow,
    replay,
)

Shared = dict[str, Any]


class Work(Node):
    """Does what it is given, on what the shared store holds under its name's inputs."""

    terminal = True

    def __init__(
        self,
        work: Callable[[Any], Any],
        name: str = "work",
        *,
        reads: str = "in",
        writes: str = "out",
    ) -> None:
        super().__init__(name)
        self.work = work
        self.reads = reads
        self.writes = writes

    def prep(self, shared: Shared) -> Any:
        return shared.get(self.reads)

    def exec(self, inputs: Any) -> Any:
        return self.work(inputs)

    def post(self, shared: Shared, inputs: Any, result: Any) -> None:
        shared[self.writes] = result


def new_claim(journal: Journal, run_id: str | None = None, *, force: bool = False) -> Claim:
    """The claim of this process on a new run, or on one that is there."""
    return journal.claim(
        run_id or journal.create("test", "a test", {}), Owner.this_process(), force=force
    )


def drive(
    journal: Journal,
    flow: Flow,
    shared: Shared | None = None,
    *,
    claim: Claim | None = None,
    listeners: Iterable[Listener] = (),
    force: bool = False,
) -> Shared:
    """Drive a run of `flow` durably, until it ends or parks, and give its shared store."""
    shared = {} if shared is None else shared
    claim = claim or new_claim(journal)
    run = Run.recorded(journal, claim, listeners=listeners, force=force)
    asyncio.run(run.execute(lambda run: flow.walk(run, shared)))
    return shared


def flow_segment(
    flow: Flow,
    shared: Shared,
    *,
    outcome: Callable[[Shared], Outcome] = lambda shared: (RunState.PASSED, {}),
    **settings: Any,
) -> Segment:
    """A segment that runs `flow` over `shared`, and reads its outcome off there."""

    async def work(run: Run) -> Outcome:
        await flow.walk(run, shared)
        return outcome(shared)

    return Segment(work, state=shared, **settings)


def replay_flow(flow: Flow, shared: Shared, steps: list[StepRow]) -> None:
    """Bring `shared` to where the recorded steps leave it, executing nothing."""
    asyncio.run(replay(lambda run: flow.walk(run, shared), steps))


def finished(steps: list[StepRow]) -> list[str]:
    """The names of the nodes whose results are recorded, in order."""
    return [step.node for step in steps if step.result is not None]


class Heard:
    """A listener that keeps what it hears."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    @property
    def kinds(self) -> list[tuple[str, str]]:
        return [(event.kind, event.origin) for event in self.events]
