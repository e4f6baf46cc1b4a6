"""Evidence: what the tests have shown, seen from inside the run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from runtrue.fixers.search.messages import Sign, missed_attribute
from runtrue.typed_data import convert


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """Facts about one value: its type, a short representation, and what it offers."""

    type: str
    #: None where it was too long or raised.
    repr: str | None = None
    #: The keys of a mapping, as representations; the attributes of an object that are its own.
    keys: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One frame of a failure, in a file of the project, relative to the root."""

    file: str
    line: int
    function: str
    #: The locals (in a method, also the attributes of `self`, as `self.name`), where known.
    values: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why one test fails.

    `frames` are those in the project, the innermost last; for a test that only compares, the
    innermost is in the test. `attribute`, `key` and `name` are what an AttributeError, a KeyError
    and a NameError missed, `missing_from` what the object of an AttributeError, or the mapping of
    a KeyError, had instead. `expected` and `actual` are the two sides of a failed comparison.
    """

    test: str
    exception: str = "Failed"
    message: str = ""
    frames: tuple[Frame, ...] = ()
    attribute: str | None = None
    key: str | None = None
    name: str | None = None
    missing_from: Value | None = None
    expected: Value | None = None
    actual: Value | None = None
    #: The operator of the comparison: `==`, `is`, `in`, ….
    operator: str | None = None
    timed_out: bool = False

    def says(self, sign: Sign) -> bool:
        """True if the message says something."""
        return sign.is_in(self.message)

    @property
    def missed_attribute(self) -> str:
        """The attribute that an AttributeError missed."""
        return self.attribute or missed_attribute(self.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTest:
    """The outcome of one test before anything was changed, and the lines it ran.

    A module that cannot be imported is one failing case, named after the file.
    """

    test: str
    passed: bool
    seconds: float
    #: Lines that ran, by file; None where there was no time to trace it. Those that ran on import
    #: are in the baseline.
    lines: dict[str, frozenset[int]] | None = field(default_factory=dict)
    failure: Failure | None = None
    #: What tells its failure from others: it changes when an edit changes what the test sees.
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The tests before anything was changed: all that fail, and others as far as there was time."""

    cases: tuple[MeasuredTest, ...]
    #: Lines that ran while modules were imported, by file.
    imported: dict[str, frozenset[int]] = field(default_factory=dict)
    #: The files of the project that are tests, or configure them.
    tests: tuple[str, ...] = ()
    #: How the tests share state, if they do; then none runs beside another.
    shares: str | None = None
    #: Those with another outcome when they were run again.
    unsteady: frozenset[str] = frozenset()

    @property
    def failing(self) -> tuple[MeasuredTest, ...]:
        """The tests that fail."""
        return tuple(case for case in self.cases if not case.passed)


# -- from the messages of the processes that run candidates ------------------------------------


def measured_test(test: str, plain: dict[str, Any], traced: dict[str, Any] | None) -> MeasuredTest:
    """Return one test, from a run for its outcome and, if there was one, a run for its lines."""
    passed = plain["outcome"] != "failed"
    lines = None if traced is None else traced["lines"]
    return MeasuredTest(
        test=test,
        passed=passed,
        seconds=plain["seconds"],
        lines=None if lines is None else {file: frozenset(lines[file]) for file in lines},
        failure=None if passed else failure_from(plain["failure"] or {"test": test}),
        mark=plain.get("mark", ""),
    )


def failure_from(found: dict[str, Any]) -> Failure:
    """Return why a test fails, from the plugin's message."""
    try:
        return convert(found, Failure)
    except msgspec.ValidationError:  # the attributes of a program's exceptions may be anything
        return Failure(test=found["test"], exception=str(found.get("exception")))


def message_of_the_dead(test: str, answer: dict[str, Any]) -> dict[str, Any]:
    """Return the message for a test that ended the process, or had to be ended with it."""
    late = answer["end"] == "timeout"
    failure = {
        "test": test,
        "exception": "TimeUp" if late else "Died",
        "message": answer.get("detail") or "the test did not end in time",
        "timed_out": late,
    }
    rest = {"outcome": "failed", "seconds": 0.0, "lines": {}, "touches": True}
    return {**rest, "failure": failure}
