"""Budgets: the time and the candidates that all searches for one proposal have together."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(slots=True)
class Budget:
    """What is left. The time runs from when the tests have been run once, in the first search."""

    seconds: float
    candidates: int
    _until: float | None = None

    @property
    def left(self) -> float:
        """Seconds; all of them as long as nothing has begun."""
        return self.seconds if self._until is None else self._until - time.monotonic()

    @property
    def has_begun(self) -> bool:
        """Whether the time runs."""
        return self._until is not None

    def begin(self) -> None:
        """Let the time run, if it does not yet."""
        if self._until is None:
            self._until = time.monotonic() + self.seconds
