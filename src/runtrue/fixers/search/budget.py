"""Budgets: the time and the number of candidates that a search may use."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from runtrue.usage import ProcessorTime

#: A search that mostly waits may take so many times its limit by the clock on the wall.
WAITING = 3.0


class SearchClock:
    """The seconds that a search has used: the same on a quiet and on a busy machine.

    That is the processor time of this process and those that it started, or a part of the time by
    the clock on the wall, if that is more.
    """

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._processor = ProcessorTime()
        self._used = self._processor.seconds()

    def __call__(self) -> float:
        """Return the seconds since it was made."""
        passed = time.monotonic() - self._began
        used = self._processor.seconds()
        if used is None or self._used is None:
            return passed
        return max(used - self._used, passed / WAITING)


@dataclass(slots=True)
class SearchBudget:
    """The rest for all searches of one proposal. Time runs as soon as the first of them begins."""

    seconds: float
    candidates: int
    clock: Callable[[], float] = field(default_factory=SearchClock)
    _until: float | None = None

    @property
    def left(self) -> float:
        """Seconds; all of them until time runs."""
        return self.seconds if self._until is None else self._until - self.clock()

    def begin(self, spent: float = 0.0) -> None:
        """Start the time, unless it runs; some may have been spent already."""
        if self._until is None:
            self._until = self.clock() + self.seconds - spent


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """How much a search may use up: until when, and how many candidates."""

    until: float
    candidates: int
    jobs: int = 1
    clock: Callable[[], float] = time.monotonic

    @property
    def seconds(self) -> float:
        """The time that is left."""
        return self.until - self.clock()
