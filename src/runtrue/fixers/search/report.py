"""Reports: the scope, the progress and the result of a search session, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from runtrue.checks import CommandCheck
from runtrue.fixers.search.measurement import UNKNOWN, CheckOutcome
from runtrue.flow import Event
from runtrue.loop import Example, Workplace


class Stopped(StrEnum):
    """Why a search ended."""

    ENOUGH = "enough"
    EXHAUSTED = "exhausted"
    TIME = "time"
    CANDIDATES = "candidates"
    #: The tests could no longer be run; the last of the steps says why.
    UNPROVABLE = "unprovable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """The files with an edit made, what it changes, and the confidence in it."""

    texts: dict[str, str]
    says: str
    kinds: tuple[str, ...]
    confidence: float
    doubt: str | None = None
    alike: int | None = None
    #: The failing tests that it does not fix.
    left: tuple[str, ...] = ()
    #: Other lines, as `file:line`, in which what it corrects is written too.
    twins: tuple[str, ...] = ()
    #: An input on which it behaves otherwise than the best one, of the first that behaves so.
    example: Example | None = None


@dataclass(slots=True, kw_only=True)
class SearchReport:
    """The result of a session: the solutions, best first, and its steps."""

    solutions: list[Solution] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    tried: int = 0
    seconds: float = 0.0
    stopped: Stopped = Stopped.EXHAUSTED
    #: The most suspect lines, as `file:line`.
    suspects: list[str] = field(default_factory=list)
    causes: tuple[str, ...] = ()
    #: The check's failing tests, and a digest of each file that was edited.
    tests: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return it as it is recorded and shown."""
        return {
            "candidates": self.tried,
            "seconds": round(self.seconds, 3),
            "rate": round(self.tried / self.seconds, 1) if self.seconds else None,
            "stopped": str(self.stopped),
            "suspects": self.suspects,
            "causes": list(self.causes),
            "searched": {"tests": list(self.tests), "files": self.files},
            "steps": self.steps,
            "solutions": [
                {
                    "says": one.says,
                    "kinds": list(one.kinds),
                    "confidence": one.confidence,
                    "doubt": one.doubt,
                    "alike": one.alike,
                    "left": list(one.left),
                    "twins": list(one.twins),
                }
                for one in self.solutions
            ],
        }


class Searching(Event):
    """The progress of a session: edits tried, their rate, those that pass, the first of them."""

    tried: int
    rate: int
    passing: int
    best: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchScope:
    """The task of a session: the check, the files it may edit, the tests to fix."""

    check: CommandCheck
    workplace: Workplace
    #: Returns whether a file, relative to the root, may be edited.
    may_edit: Callable[[str], bool]
    #: The files that findings lead to, the likeliest first.
    leads: tuple[str, ...]
    #: What the check has shown, and the tests that fail for reasons outside of the program.
    outcome: CheckOutcome = UNKNOWN
    excused: frozenset[str] = frozenset()
