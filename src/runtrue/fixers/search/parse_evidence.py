"""Parse the messages of the processes that run candidates into evidence."""

from __future__ import annotations

from typing import Any

from runtrue.fixers.search.evidence import Failure, Frame, MeasuredTest, Value


def case_of(test: str, plain: dict[str, Any], traced: dict[str, Any]) -> MeasuredTest:
    """Return one test, from a run for its outcome and a run for its lines."""
    passed = plain["outcome"] != "failed"
    return MeasuredTest(
        test=test,
        passed=passed,
        seconds=plain["seconds"],
        lines={file: frozenset(lines) for file, lines in traced["lines"].items()},
        failure=None if passed else failure_from(plain["failure"] or {"test": test}),
    )


def failure_from(found: dict[str, Any]) -> Failure:
    """Return why a test fails, from the plugin's message."""
    return Failure(
        test=found["test"],
        exception=found.get("exception") or "Failed",
        message=found.get("message") or "",
        frames=tuple(_frame(one) for one in found.get("frames", ())),
        attribute=found.get("attribute"),
        key=found.get("key"),
        name=found.get("name"),
        missing_from=_value(found.get("missing_from")),
        expected=_value(found.get("expected")),
        actual=_value(found.get("actual")),
        operator=found.get("operator"),
        timed_out=bool(found.get("timed_out")),
    )


def dead_failure(test: str, answer: dict[str, Any]) -> dict[str, Any]:
    """Return the message for a test that ended the process, or had to be ended with it."""
    late = answer["end"] == "timeout"
    failure = {
        "test": test,
        "exception": "TimeUp" if late else "Died",
        "message": answer.get("detail") or "the test did not end in time",
        "timed_out": late,
    }
    return {
        "outcome": "failed",
        "seconds": 0.0,
        "failure": failure,
        "lines": {},
        "touches": True,
    }


def _frame(found: dict[str, Any]) -> Frame:
    values = {name: _value(value) for name, value in found["values"].items()}
    return Frame(
        file=found["file"],
        line=found["line"],
        function=found["function"],
        values={name: value for name, value in values.items() if value is not None},
    )


def _value(found: dict[str, Any] | None) -> Value | None:
    if found is None:
        return None
    return Value(
        type=found["type"],
        repr=found.get("repr"),
        keys=tuple(found.get("keys", ())),
        attributes=tuple(found.get("attributes", ())),
    )
