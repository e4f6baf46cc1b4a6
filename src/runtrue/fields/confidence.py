"""Confidence: how sure the best of several scored answers is, from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["ABSENT", "confidences"]

#: What "it is not there" scores.
ABSENT = 3.46
#: How sure an answer is: a constant, and what the root of its lead over the next other, its score
#: beyond ABSENT and each of its doubts add.
_CONSTANT, _LEAD, _SCORE, _DOUBT = -1.07, 1.07, 0.38, -1.01
_LARGEST_LEAD = 5.0

_Steps = tuple[str | int, ...]


def confidences(
    paths: Sequence[_Steps], scores: Sequence[float], doubt: float, limit: int
) -> list[float]:
    """The confidence of each of the first answers; `scores` are sorted, the best first.

    `doubt` is how much was plainly said that the first answer does not have.
    What is within an answer, or around it, does not count as another one.
    """
    if not scores:
        return []
    top = scores[0]
    others = (s for path, s in zip(paths, scores, strict=True) if not _kin(path, paths[0]))
    lead = min(top - next(others, top - _LARGEST_LEAD), _LARGEST_LEAD)
    x = _CONSTANT + _LEAD * math.sqrt(lead) + _SCORE * (top - ABSENT) + _DOUBT * doubt
    best = _logistic(x)
    return [best * math.exp(score - top) for score in scores[:limit]]


def _kin(one: _Steps, other: _Steps) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, x))))
