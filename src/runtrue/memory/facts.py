"""Facts of the debug memory: failures that were seen, fixes that were verified."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from runtrue.loop import Cause, Finding, cause_of
from runtrue.memory.shapes import code_shape_of, shape_of
from runtrue.memory.template import FixTemplate

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Project:
    """A project: an id that stays the same from run to run, and the path that people know."""

    id: str
    path: str

    @classmethod
    def at(cls, directory: Path) -> Project:
        """Return the project in a directory of the user's, not in a sandbox."""
        path = str(directory.resolve())
        raw = path.encode(errors="surrogateescape")
        return cls(hashlib.blake2b(raw, digest_size=8).hexdigest(), path)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailure:
    """A failure of one project, and how often it was seen there."""

    id: int
    fingerprint: str
    shape: str
    error_type: str
    cause: Cause
    language: str
    message: str
    file: str | None
    test: str | None
    project: str
    path: str
    seen: int
    first_seen: float
    last_seen: float
    last_run: str
    learning: str
    escalated: bool
    #: Equal for lines of code that failed and differ in names and values only; empty if not known.
    code_shape: str = ""

    @property
    def name(self) -> str:
        """Its name for `runtrue memory show`."""
        return f"failure-{self.id}"

    def is_like(self, finding: Finding) -> bool:
        """True if a finding has the same cause, in code of the same form."""
        own = code_shape_of(finding)
        if cause_of(finding) is not self.cause:
            return False
        return (
            own == self.code_shape if own and self.code_shape else shape_of(finding) == self.shape
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberedFix:
    """A fix after which all checks passed, and how often it was tried and passed since.

    `fixer` is the one that first made it. Without a template it cannot be made elsewhere.
    """

    id: int
    fingerprint: str
    shape: str
    error_type: str
    cause: Cause
    language: str
    diff: str
    template: FixTemplate | None
    fixer: str
    tried: int
    passed: int
    project: str
    path: str
    first_seen: float
    last_seen: float
    learning: str
    escalated: bool

    @property
    def name(self) -> str:
        """Its name for `runtrue memory show`."""
        return f"fix-{self.id}"

    @property
    def confidence(self) -> float:
        """The probability that it passes once more, by the rule of succession."""
        return (self.passed + 1) / (self.tried + 2)

    @property
    def is_proven(self) -> bool:
        """True if it can be made again, and has not failed more often than it passed."""
        return self.template is not None and self.tried <= 2 * self.passed


class Rank(IntEnum):
    """The match between a remembered fix and a failure; the nearest first."""

    FINGERPRINT = 0
    SHAPE = 1
    CAUSE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedFix:
    """A fix that may work for a failure, and what they have in common."""

    fix: RememberedFix
    rank: Rank


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarFailure:
    """A known failure that is like another (1.0: says the same), with its verified fixes."""

    failure: KnownFailure
    score: float
    fixes: tuple[RememberedFix, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """The days for which something is kept after it was last seen."""

    days: float = 30
    learning_days: float = 60
    escalated_days: float = 90


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of failures and fixes."""

    failures: int = 0
    fixes: int = 0
