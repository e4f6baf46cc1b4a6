"""Budgets: the time and the number of candidates that a search may use."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(slots=True)
class SearchBudget:
    """The rest for all searches of one proposal. Time runs as soon as the first of them begins."""

    seconds: float
    candidates: int
    _until: float | None = None

    @property
    def left(self) -> float:
        """Seconds; all of them until time runs."""
        return self.seconds if self._until is None else self._until - time.monotonic()

    def begin(self, spent: float = 0.0) -> None:
        """Start the time, unless it runs; some may have been spent already."""
        if self._until is None:
            self._until = time.monotonic() + self.seconds - spent


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """How much a search may use up: until when, and how many candidates."""

    until: float
    candidates: int
    jobs: int = 1

    @property
    def seconds(self) -> float:
        """The time that is left."""
        return self.until - time.monotonic()
