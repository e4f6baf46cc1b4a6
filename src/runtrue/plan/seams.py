"""Seams: what the plan's flow needs from those who do steps and make strategies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from runtrue.loop import Bounds, Confidence, Finding, Workplace
from runtrue.plan.strategy import Step, Strategy

_UNBOUNDED = Bounds()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTask:
    """A step to do, and all that is known about it. Paths are as seen from the root."""

    step: Step
    bounds: Bounds
    instruction: str
    strategy: Strategy
    #: What was found wrong with what was done before, where the step was revised.
    findings: tuple[Finding, ...] = ()
    #: What people have said, oldest first.
    guidance: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorReply:
    """What an actor says it did. Whether it changed anything is seen from the files.

    `failure` is why it did nothing; `is_strategy` whether the strategy is to blame for that, as for
    a command that fails, and not the machine or the network.
    """

    description: str
    failure: str | None = None
    is_strategy: bool = False
    usage: dict[str, float] | None = None
    #: The files as they are to be, of an actor that leaves its edits to be made.
    texts: dict[str, str] | None = None
    #: How sure its edits are to be right and why, where something besides the checks says so.
    confidence: Confidence | None = None


class StepActor(Protocol):
    """Does a step, by editing the files of the workplace."""

    def unavailable(self) -> str | None:
        """Return why it cannot be used at all, if it cannot."""
        ...

    async def act(self, task: StepTask, workplace: Workplace) -> ActorReply:
        """Do it. What it breaks on is in the answer, never an exception."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyTask:
    """A strategy that is wanted: for all of an instruction, or for one step that did not work."""

    instruction: str
    #: The validations, each with how it is run.
    validations: tuple[str, ...]
    #: What people have said, oldest first.
    guidance: tuple[str, ...] = ()
    #: The present strategy, and the step of it that is to be replaced with all that is below.
    strategy: Strategy | None = None
    subtree: Step | None = None
    #: The bounds that hold for that step.
    bounds: Bounds = _UNBOUNDED
    #: What could not be fixed, and the files outside of the bounds that were needed for it.
    findings: tuple[Finding, ...] = ()
    needed: tuple[str, ...] = ()
    #: Whether a person has just said something about it.
    is_advised: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategized:
    """What a strategist came to: a whole strategy, or the steps that replace the subtree."""

    description: str
    strategy: Strategy | None = None
    steps: tuple[Step, ...] = ()
    #: Whether it is nothing but the same step, allowed what was needed.
    least: bool = False
    #: Why there is none.
    failure: str | None = None
    usage: dict[str, float] | None = None
    #: How long it took to make.
    seconds: float = 0.0


def least(step: Step, bounds: Bounds, paths: tuple[str, ...], why: str) -> Strategized:
    """The least revision: the same step, allowed some more paths, or simply done again."""
    wider = replace(step.bounds, paths=bounds.widened(paths).paths)
    what = f"{step.id} may change {', '.join(paths)} as well" if paths else f"{step.id} again"
    steps = (replace(step, bounds=wider if paths else step.bounds),)
    return Strategized(description=f"{what}: {why}", steps=steps, least=True)


class Strategist(Protocol):
    """Makes strategies, and revises them."""

    @property
    def name(self) -> str:
        """As it is shown."""
        ...

    async def strategize(self, task: StrategyTask, workplace: Workplace) -> Strategized:
        """A strategy for the whole instruction."""
        ...

    async def revise(self, task: StrategyTask, workplace: Workplace) -> Strategized:
        """Steps in place of the subtree, under which the findings can be fixed."""
        ...
