"""Trials: what came of running the tests on one candidate."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class End(StrEnum):
    """How a trial ended."""

    PASSED = "passed"
    FAILED = "failed"
    #: A test did not end in time.
    TIMEOUT = "timeout"
    #: The process ended before it had said how the tests went, or was killed at a limit.
    DIED = "died"
    #: Something that judges the candidate was changed while it ran.
    TAMPERED = "tampered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What came of one candidate. Unless it passed, `killer` is the test that it failed at."""

    end: End
    killer: str | None = None
    #: Of the tests that failed before, those that were seen to pass.
    mended: tuple[str, ...] = ()
    seconds: float = 0.0
    detail: str = ""
