"""Trials: the result of running the tests on one candidate."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class End(StrEnum):
    """How a trial ended."""

    PASSED = "passed"
    FAILED = "failed"
    #: A test did not end in time.
    TIMEOUT = "timeout"
    #: The process ended before it reported the outcome, or was killed at a limit.
    DIED = "died"
    #: A test, or what runs it, was changed while it ran.
    TAMPERED = "tampered"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofResult:
    """The result of one trial. Unless it passed, `killer` is the test that it failed at."""

    end: End
    killer: str | None = None
    #: The tests that failed before and now passed.
    fixed: tuple[str, ...] = ()
    seconds: float = 0.0
    detail: str = ""
    #: What tells the failure of the killer from others.
    mark: str = ""


class RecordedInput(NamedTuple):
    """An input on which candidates are compared: a call of one of the program's functions."""

    #: The module to import the function from, if a test can simply call it.
    module: str
    call: str
    #: The test that made this very call; None where its arguments were changed.
    test: str | None = None
