"""Calibration: whether fixes that were called so sure were right so often.

Only fixes that a person judged count: applied or agreed to, or declined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

#: Where one group of confidences ends and the next begins.
_EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, slots=True)
class JudgedFix:
    """A fix with its confidence, and whether a person took it."""

    confidence: float
    accepted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationGroup:
    """Fixes of about the same confidence."""

    low: float
    high: float
    fixes: int
    accepted: int
    #: Their mean confidence.
    confidence: float

    @property
    def share(self) -> float:
        """The share of them that people took."""
        return self.accepted / self.fixes


def calibration_of(judged: Sequence[JudgedFix]) -> tuple[CalibrationGroup, ...]:
    """Return how often fixes were accepted, by how sure they were; groups without any left out."""
    found = []
    for low, high in pairwise(_EDGES):
        some = [
            one for one in judged if low <= one.confidence < high or one.confidence == high == 1
        ]
        if some:
            found.append(
                CalibrationGroup(
                    low=low,
                    high=high,
                    fixes=len(some),
                    accepted=sum(one.accepted for one in some),
                    confidence=sum(one.confidence for one in some) / len(some),
                )
            )
    return tuple(found)
