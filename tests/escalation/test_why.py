"""Why a loop escalated: what the tests that pass still lack is always named."""

from __future__ import annotations

import pytest

from runtrue.escalation.why import sentence
from runtrue.loop import (
    COVERAGE_UNMET,
    TESTS_MISSING,
    Attempt,
    Condition,
    Fault,
    Finding,
    History,
    Location,
    Mode,
    Verdict,
)


def lacking(category: str, message: str, *kinds: str, file: str | None = None) -> Finding:
    return Finding(
        source="gate",
        category=category,
        message=message,
        fault=Fault.CANDIDATE,
        location=Location(file=file, symbol="gate"),
        attempted=kinds,
    )


LITTLE = lacking(COVERAGE_UNMET, "71 % of 80 % needed", file="shop.py")
KINDS = lacking(TESTS_MISSING, "no test of these kinds", "edge_cases", "error_handling")
FOUR = lacking(TESTS_MISSING, "no test of these kinds", "a", "b", "c", "d")
UNTESTED = lacking(TESTS_MISSING, "no test covers tax.py", "tax.py", file="tax.py")
BROKEN = lacking("AssertionError", "assert 3 == 6")


def told(*attempts: tuple[Finding, ...]) -> str:
    """The sentence after attempts that had these findings."""
    history = History(
        attempts=tuple(
            Attempt(
                number=number,
                candidate=f"c{number}",
                verdicts=(
                    Verdict(
                        check="gate", mode=Mode.REQUIRED, passed=not findings, findings=findings
                    ),
                ),
            )
            for number, findings in enumerate(attempts, 1)
        )
    )
    return sentence(Condition.COVERAGE_THRESHOLD_UNMET, history)


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ((LITTLE,), " and cover too little: `71 % of 80 % needed`."),
        ((KINDS,), ", and none is of these kinds: `edge_cases`, `error_handling`."),
        ((FOUR,), ", and none is of these kinds: `a`, `b`, `c`, `d`."),
        (
            (LITTLE, FOUR),
            " and cover too little: `71 % of 80 % needed`, "
            "and none is of these kinds: `a`, `b`, `c`, `d`.",
        ),
        ((UNTESTED,), " and cover too little: `no test covers tax.py`."),
    ],
)
def test_what_is_missing_is_named_all_of_it(findings: tuple[Finding, ...], expected: str) -> None:
    assert told(findings) == f"The tests of attempt 1 pass{expected}"


def test_the_attempt_whose_tests_pass_is_told_of_and_not_what_was_broken_after_it() -> None:
    expected = "The tests of attempt 1 pass, and none is of these kinds: `edge_cases`"
    assert told((KINDS,), (BROKEN,)).startswith(expected)
