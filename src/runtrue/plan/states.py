"""States: where a plan stands, and the one table of how it gets from there to anywhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from runtrue.errors import PlanError


class Phase(StrEnum):
    """What a plan is about to do, or doing."""

    STRATEGIZE = "strategize"
    EXECUTE = "execute"
    APPLY = "apply"


class PlanState(StrEnum):
    """How it stands with that."""

    QUEUED = "queued"
    PROCESSING = "processing"
    #: For a person, who is to give guidance or to approve something.
    WAITING = "waiting"
    #: Everything that was wanted is done and has passed; it is not applied yet.
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELLED = "cancelled"
    APPLIED = "applied"

    @property
    def is_terminal(self) -> bool:
        """True if nothing leads on from here."""
        return self in (PlanState.FAILED, PlanState.CANCELLED, PlanState.APPLIED)


class Happening(StrEnum):
    """What moves a plan from one position to another."""

    STARTED = "started"
    STRATEGIZED = "strategized"
    #: The strategy is revised: a part of it is executed again.
    REVISED = "revised"
    PAUSED = "paused"
    ANSWERED = "answered"
    VALIDATED = "validated"
    #: The content was changed after it had been validated.
    CHANGED = "changed"
    #: Steps were undone, and wait for the command to execute.
    ROLLED_BACK = "rolled back"
    #: Applying was refused; the content is as good as it was.
    REFUSED = "refused"
    APPLIED = "applied"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Position:
    """A phase with a state."""

    phase: Phase
    state: PlanState

    def __str__(self) -> str:
        return f"{self.phase}/{self.state}"


def _at(phase: Phase, state: PlanState) -> Position:
    return Position(phase, state)


_S, _E, _A = Phase.STRATEGIZE, Phase.EXECUTE, Phase.APPLY

FIRST = _at(_S, PlanState.QUEUED)

#: Every position that a plan can be in, and what can happen to it there.
TRANSITIONS: Mapping[Position, Mapping[Happening, Position]] = {
    _at(_S, PlanState.QUEUED): {
        Happening.STARTED: _at(_S, PlanState.PROCESSING),
        Happening.CANCELLED: _at(_S, PlanState.CANCELLED),
    },
    _at(_S, PlanState.PROCESSING): {
        Happening.STRATEGIZED: _at(_E, PlanState.QUEUED),
        Happening.PAUSED: _at(_S, PlanState.WAITING),
        Happening.FAILED: _at(_S, PlanState.FAILED),
        Happening.CANCELLED: _at(_S, PlanState.CANCELLED),
    },
    _at(_S, PlanState.WAITING): {
        Happening.ANSWERED: _at(_S, PlanState.PROCESSING),
        Happening.FAILED: _at(_S, PlanState.FAILED),
        Happening.CANCELLED: _at(_S, PlanState.CANCELLED),
    },
    _at(_E, PlanState.QUEUED): {
        Happening.STARTED: _at(_E, PlanState.PROCESSING),
        Happening.CANCELLED: _at(_E, PlanState.CANCELLED),
    },
    _at(_E, PlanState.PROCESSING): {
        Happening.REVISED: _at(_E, PlanState.PROCESSING),
        Happening.ROLLED_BACK: _at(_E, PlanState.QUEUED),
        Happening.PAUSED: _at(_E, PlanState.WAITING),
        Happening.VALIDATED: _at(_A, PlanState.COMPLETE),
        Happening.FAILED: _at(_E, PlanState.FAILED),
        Happening.CANCELLED: _at(_E, PlanState.CANCELLED),
    },
    _at(_E, PlanState.WAITING): {
        Happening.ANSWERED: _at(_E, PlanState.PROCESSING),
        Happening.FAILED: _at(_E, PlanState.FAILED),
        Happening.CANCELLED: _at(_E, PlanState.CANCELLED),
    },
    _at(_A, PlanState.COMPLETE): {
        Happening.STARTED: _at(_A, PlanState.PROCESSING),
        Happening.CHANGED: _at(_E, PlanState.PROCESSING),
        Happening.CANCELLED: _at(_A, PlanState.CANCELLED),
    },
    _at(_A, PlanState.PROCESSING): {
        Happening.APPLIED: _at(_A, PlanState.APPLIED),
        Happening.REFUSED: _at(_A, PlanState.COMPLETE),
        Happening.FAILED: _at(_A, PlanState.FAILED),
        Happening.CANCELLED: _at(_A, PlanState.CANCELLED),
    },
}


def transition(position: Position, happening: Happening) -> Position:
    """Return the next position of a plan. Raises PlanError for what cannot happen there."""
    possible = TRANSITIONS.get(position, {})
    if happening not in possible:
        known = ", ".join(sorted(possible)) or "nothing"
        raise PlanError(f"a plan in state {position} cannot be {happening}; allowed now: {known}")
    return possible[happening]
