"""Progress: how far a plan is, as data that reports are made of."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace
from enum import StrEnum

from runtrue.loop import Bounds, Confidence, Finding, History, Spent
from runtrue.plan.amendment import Amended
from runtrue.plan.states import FIRST, Happening, Position, transition
from runtrue.plan.strategy import Step, Strategy

_NOTHING = Spent()

#: What a file that may be deleted is preceded by, among what is approved.
DELETED = "delete "
#: The same for a candidate that somebody has edited outside of the bounds.
EDITED = "edited "


class StepState(StrEnum):
    """How it stands with one step."""

    PENDING = "pending"
    PROCESSING = "processing"
    DONE = "done"
    FAILED = "failed"
    #: A person said no to it.
    UNDONE = "undone"
    #: A person said that it is not to be done.
    SKIPPED = "skipped"

    @property
    def is_over(self) -> bool:
        """True if nothing is left to do for the step."""
        return self in (StepState.DONE, StepState.SKIPPED)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """What was done for a step once. `refused` is why nothing of it was kept, if so."""

    step: str
    actor: str
    description: str
    files: tuple[str, ...] = ()
    #: Files that judge, which were put back as they were.
    restored: tuple[str, ...] = ()
    #: Files that it made and git ignores, so that they are no part of the result.
    ignored: tuple[str, ...] = ()
    #: Files outside of the bounds; because of them nothing was kept.
    outside: tuple[str, ...] = ()
    refused: str | None = None
    seconds: float = 0.0
    usage: dict[str, float] | None = None
    confidence: Confidence | None = None
    #: A person had it undone.
    undone: bool = False


@dataclass(frozen=True, slots=True)
class ActInputs:
    """What is to be done onto which candidate, and what is known beforehand."""

    candidate: str
    base: str
    step: Step
    bounds: Bounds
    strategy: Strategy
    findings: tuple[Finding, ...]
    guidance: tuple[str, ...]
    approved: tuple[str, ...]
    #: The seconds that are left of the plan's time.
    left: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome:
    """The candidate after a step, and what was done; `finding` is why nothing of it was kept."""

    candidate: str
    result: StepResult
    finding: Finding | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepAhead:
    """A step that was done beside others, from the candidate `base`, and is to be merged."""

    base: str
    candidate: str
    result: StepResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategizing:
    """One strategy that was made, or revised, or was to be."""

    by: str
    description: str
    #: The step that was to be replaced; none: the whole strategy was made.
    step: str | None = None
    findings: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    #: Whether a person had just said what to do.
    told: bool = False
    failure: str | None = None
    usage: dict[str, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """The validations and fixes of one step, or of the whole at the end (no step)."""

    step: str | None
    history: History


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """Steps that are to take the place of one."""

    step: Step
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]
    #: What a person has approved on the way.
    approved: tuple[str, ...]
    #: What it took to make.
    spent: Spent


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a plan is."""

    position: Position = FIRST
    strategy: Strategy | None = None
    states: dict[str, StepState] = field(default_factory=dict)
    #: The step that is being done, or was last.
    step: str | None = None
    results: tuple[StepResult, ...] = ()
    strategies: tuple[Strategizing, ...] = ()
    #: Ended chapters; the one that is open is the plan run's `history`.
    chapters: tuple[Chapter, ...] = ()
    #: What was used up since a person last said something.
    spent: Spent = _NOTHING
    #: What people said, oldest first, outside of the cycle's own questions.
    said: tuple[str, ...] = ()
    #: The candidate that each validation has last passed on.
    proved: dict[str, str] = field(default_factory=dict)
    #: What a person has approved: signatures of steps, files to be deleted, and edited candidates.
    approved: tuple[str, ...] = ()
    #: The findings of the first time, for a step that is done again.
    findings: tuple[Finding, ...] = ()
    #: What people have changed about the plan itself, oldest first.
    amendments: tuple[Amended, ...] = ()
    #: The validations that a person waived, and why.
    waived: dict[str, str] = field(default_factory=dict)
    #: Why it was not applied, the last time that was wanted.
    refused: str | None = None

    def moved(self, happening: Happening) -> Progress:
        """Return the same after something has happened to the plan."""
        return replace(self, position=transition(self.position, happening))

    def with_state(self, step: str | None, state: StepState) -> Progress:
        """Return the same with another state of a step."""
        return self if step is None else replace(self, states={**self.states, step: state})

    @property
    def current(self) -> tuple[Step, Bounds] | None:
        """The step that is being done, and its bounds."""
        leaves = self.strategy.leaves() if self.strategy else ()
        return next(((step, bounds) for step, bounds in leaves if step.id == self.step), None)

    @property
    def pending(self) -> tuple[Step, Bounds] | None:
        """The first step that is not done, and its bounds."""
        leaves = self.strategy.leaves() if self.strategy else ()
        return next(((s, bounds) for s, bounds in leaves if not self.is_over(s.id)), None)

    def is_over(self, step_id: str) -> bool:
        """True if a step is done, or is not to be done."""
        return self.states.get(step_id, StepState.PENDING).is_over

    @property
    def is_later(self) -> bool:
        """True if the strategy was revised, or a person has spoken."""
        return bool(self.guidance()) or any(one.step for one in self.strategies)

    @property
    def allowed(self) -> tuple[str, ...]:
        """The patterns that people have allowed, as seen from the project."""
        answers = [answer for chapter in self.chapters for answer in chapter.history.answers]
        return tuple(path for answer in answers for path in answer.allowed)

    def guidance(self, history: History | None = None) -> tuple[str, ...]:
        """All that people have said, oldest first."""
        histories = [chapter.history for chapter in self.chapters]
        answers = [a for h in (*histories, *([history] if history else [])) for a in h.answers]
        return (*self.said, *(answer.text for answer in answers if answer.text))


def cost_of(usage: dict[str, float] | None) -> float:
    """Return what something cost, as far as that is known."""
    return (usage or {}).get("cost", 0.0)


def seen_from(prefix: str, files: tuple[str, ...]) -> tuple[str, ...]:
    """Files as seen from the project, of which some may lie outside."""
    return tuple(posixpath.relpath(file, prefix or ".") for file in files)
