"""Strategies: the ordered steps of a plan, as a tree, and the bounds of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from msgspec import UNSET, UnsetType

from runtrue.loop import Bounds

_UNBOUNDED = Bounds()


class Actor(StrEnum):
    """Who does a step."""

    COMMAND = "command"
    TOOL = "tool"
    SEARCH = "search"
    MODEL = "model"
    AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing to do, or, with steps of its own, what they have in common.

    `command` is for the actor `command`, and required there. `network` says that it needs one.
    `fixes` says that the command can be run again on its own result, to fix what is found there.
    `needs` names the steps that it builds upon; where it is left out, these are all before it.
    """

    id: str
    description: str
    actor: Actor = Actor.AGENT
    command: str | None = None
    bounds: Bounds = _UNBOUNDED
    network: bool = False
    fixes: bool = False
    #: Left out of records where it is not said: those of earlier versions have none.
    needs: tuple[str, ...] | UnsetType = UNSET
    steps: tuple[Step, ...] = ()

    @property
    def signature(self) -> str:
        """What is done by it, in words: what a person approves is this, and nothing else."""
        outside = " with the network" if self.network else ""
        return f"{self.actor}{outside}: {self.command or self.description}"

    @property
    def is_leaf(self) -> bool:
        """True if it is something to do itself."""
        return not self.steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """How an instruction is to be carried out: step by step, within bounds."""

    steps: tuple[Step, ...] = ()
    bounds: Bounds = _UNBOUNDED

    def leaves(self) -> Iterator[tuple[Step, Bounds]]:
        """The steps to do, in order, each with the bounds that hold for it."""
        yield from _leaves(self.steps, self.bounds)

    def all_steps(self) -> Iterator[tuple[int, Step]]:
        """All steps, with how deep they lie, as they are shown."""
        yield from _all(self.steps, 0)

    def step(self, step_id: str) -> Step | None:
        """The step of that id."""
        return next((step for _, step in self.all_steps() if step.id == step_id), None)

    def needs(self) -> dict[str, frozenset[str]]:
        """Return the steps to do that each step to do builds upon, by their ids."""
        return dict(_needs(self.steps, frozenset(), {}))

    def bounds_around(self, step_id: str) -> Bounds:
        """Return the bounds that hold around a step, its own left out."""
        return _around(self.steps, self.bounds, step_id) or self.bounds

    def replaced(self, step_id: str, steps: tuple[Step, ...]) -> Strategy:
        """Return the same with one step, and all below it, exchanged for others."""
        return replace(self, steps=_replaced(self.steps, step_id, steps))


def _leaves(steps: tuple[Step, ...], outer: Bounds) -> Iterator[tuple[Step, Bounds]]:
    for step in steps:
        bounds = step.bounds.within(outer)
        if step.is_leaf:
            yield step, bounds
        else:
            yield from _leaves(step.steps, bounds)


def _needs(
    steps: tuple[Step, ...], around: frozenset[str], known: dict[str, frozenset[str]]
) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each leaf with what it needs; `known` are the leaves of the steps seen so far."""
    before: frozenset[str] = frozenset()
    for step in steps:
        own = before
        if step.needs is not UNSET and all(name in known for name in step.needs):
            own = frozenset().union(*(known[name] for name in step.needs))
        if step.is_leaf:
            yield step.id, around | own
        else:
            yield from _needs(step.steps, around | own, known)
        known[step.id] = frozenset(leaf.id for leaf, _ in _leaves((step,), _UNBOUNDED))
        before |= known[step.id]


def _around(steps: tuple[Step, ...], outer: Bounds, step_id: str) -> Bounds | None:
    for step in steps:
        if step.id == step_id:
            return outer
        if found := _around(step.steps, step.bounds.within(outer), step_id):
            return found
    return None


def _all(steps: tuple[Step, ...], depth: int) -> Iterator[tuple[int, Step]]:
    for step in steps:
        yield depth, step
        yield from _all(step.steps, depth + 1)


def _replaced(steps: tuple[Step, ...], step_id: str, others: tuple[Step, ...]) -> tuple[Step, ...]:
    found: list[Step] = []
    for step in steps:
        if step.id == step_id:
            found += others
        else:
            found.append(replace(step, steps=_replaced(step.steps, step_id, others)))
    return tuple(found)
