"""Reports: the scope, the progress and the result of a search session, as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from runtrue.checks import CommandCheck
from runtrue.fixers.search.measurement import UNKNOWN, CheckOutcome
from runtrue.flow import Event
from runtrue.loop import Example, Replacement, Workplace, replacements

if TYPE_CHECKING:
    from runtrue.fixers.search.rank import PassingEdits
    from runtrue.fixers.search.signs import Signs


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
    #: What the confidence rests on, where an edit was chosen among others.
    signs: Signs | None = None

    def edits(self, read: Callable[[str], str]) -> Iterator[Replacement]:
        """Yield the lines that it replaces in the files as they are."""
        for file, text in self.texts.items():
            yield from replacements(file, read(file), text)


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
    #: The edits that were last compared; None where they were not.
    passing: PassingEdits | None = None

    @classmethod
    def recorded(cls, trace: Mapping[str, Any], solutions: list[Solution]) -> SearchReport:
        """Return the report of a search that a trace is of."""
        return cls(
            solutions=solutions,
            steps=[{"step": "recorded"}],
            tried=trace["candidates"],
            stopped=Stopped(trace["stopped"]),
            suspects=list(trace["suspects"]),
            causes=tuple(trace["causes"]),
            tests=tuple(trace["searched"]["tests"]),
            files=dict(trace["searched"]["files"]),
        )

    def to_dict(self, read: Callable[[str], str]) -> dict[str, Any]:
        """Return it as it is recorded and shown; `read` returns the text of a file as it is."""
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
                    "signs": one.signs.features() if one.signs else {},
                    "example": asdict(one.example) if one.example else None,
                    "edits": [asdict(edit) for edit in one.edits(read)],
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
