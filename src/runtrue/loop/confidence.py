"""Confidence: how sure a fix is to be right beyond the checks that it passed, and why."""

from __future__ import annotations

from dataclasses import dataclass

#: A fix with a suspicious sign is not surer than this.
SUSPICIOUS = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """A probability from 0 to 1, and what it rests on."""

    value: float
    reason: str
