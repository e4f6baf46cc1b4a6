"""Reports: what a repair is about, how far it has come, and what came of it, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from runtrue.checks import CommandCheck
from runtrue.fixers.search.stopped import Stopped
from runtrue.flow import Event
from runtrue.loop import Workplace


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """Files as they are to be, what was changed in them, and what speaks for it."""

    texts: dict[str, str]
    says: str
    kinds: tuple[str, ...]
    confidence: float
    doubt: str | None = None
    alike: int | None = None
    #: Of the failing tests, those it does not mend.
    left: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Report:
    """What came of a repair: the solutions, best first, and how it went, step by step."""

    solutions: list[Solution] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    tried: int = 0
    seconds: float = 0.0
    stopped: Stopped = Stopped.EXHAUSTED
    #: The lines that would be looked at first, as a person writes them.
    suspects: list[str] = field(default_factory=list)
    causes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As it is recorded and shown."""
        return {
            "candidates": self.tried,
            "seconds": round(self.seconds, 3),
            "rate": round(self.tried / self.seconds, 1) if self.seconds else None,
            "stopped": str(self.stopped),
            "suspects": self.suspects,
            "causes": list(self.causes),
            "steps": self.steps,
            "solutions": [
                {
                    "says": one.says,
                    "kinds": list(one.kinds),
                    "confidence": one.confidence,
                    "doubt": one.doubt,
                    "alike": one.alike,
                    "left": list(one.left),
                }
                for one in self.solutions
            ],
        }


class Searching(Event):
    """How far a repair has come: edits tried, how many a second, those that pass, the first."""

    tried: int
    rate: int
    passing: int
    best: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a repair is about: the check, the files that may be edited, the tests to mend."""

    check: CommandCheck
    workplace: Workplace
    #: Whether a file, named from the root, may be edited.
    may_edit: Callable[[str], bool]
    #: The files that findings lead to, the likeliest first.
    leads: tuple[str, ...]
    #: Tests that were seen to fail, and those that fail for reasons outside of the program.
    failing: frozenset[str] = frozenset()
    excused: frozenset[str] = frozenset()
