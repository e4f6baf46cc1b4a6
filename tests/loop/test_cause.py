"""Causes are told from an error's type or a check's rule, never from what a message says."""

from __future__ import annotations

import pytest

from runtrue.loop import COVERAGE_UNMET, SECURITY_ISSUE, TESTS_MISSING, Cause, cause_of
from tests.loop.make import finding


@pytest.mark.parametrize(
    ("category", "cause"),
    [
        ("AssertionError", "wrong_value"),
        ("org.opentest4j.AssertionFailedError", "wrong_value"),
        ("junit.framework.ComparisonFailure", "wrong_value"),
        ("assertion", "wrong_value"),
        ("Failed", "wrong_value"),
        ("NameError", "missing_name"),
        ("ReferenceError", "missing_name"),
        ("ModuleNotFoundError", "missing_name"),
        ("AttributeError", "missing_member"),
        ("KeyError", "missing_member"),
        ("java.util.NoSuchElementException", "missing_member"),
        ("TypeError", "type_mismatch"),
        ("java.lang.ClassCastException", "type_mismatch"),
        ("java.lang.NullPointerException", "null_access"),
        ("IndexError", "out_of_range"),
        ("RangeError", "out_of_range"),
        ("java.lang.ArrayIndexOutOfBoundsException", "out_of_range"),
        ("ValueError", "bad_argument"),
        ("json.decoder.JSONDecodeError", "bad_argument"),
        ("java.lang.IllegalStateException", "bad_argument"),
        ("shop.errors.BasketError", "bad_argument"),
        ("ZeroDivisionError", "arithmetic"),
        ("java.lang.ArithmeticException", "arithmetic"),
        ("RecursionError", "recursion"),
        ("java.lang.StackOverflowError", "recursion"),
        ("SyntaxError", "syntax"),
        ("compile", "syntax"),
        ("timeout", "timeout"),
        ("asyncio.TimeoutError", "timeout"),
        ("signal", "crash"),
        ("panic", "crash"),
        ("SystemExit", "crash"),
        ("not_run", "not_run"),
        (COVERAGE_UNMET, "coverage"),
        (TESTS_MISSING, "missing_tests"),
        (SECURITY_ISSUE, "security"),
        ("ConnectionRefusedError", "outside"),
        ("java.io.IOException", "outside"),
        ("not_runnable", "outside"),
        ("no_report", "outside"),
        ("nothing_collected", "outside"),
        ("contradiction", "outside"),
        ("coverage_unknown", "outside"),
        ("scanner_broken", "outside"),
        ("F401", "static_check"),
        ("no-unused-vars", "static_check"),
        ("return-value", "static_check"),
        ("exit_code", "unknown"),
        ("failure", "unknown"),
        ("Error", "unknown"),
        ("", "unknown"),
    ],
)
def test_a_cause_is_told_from_the_category(category: str, cause: str) -> None:
    assert cause_of(finding(category=category)) == cause


@pytest.mark.parametrize("name", ["Exception", "java.lang.Exception", "java.lang.Throwable"])
def test_a_type_that_says_nothing_says_nothing_in_a_package_either(name: str) -> None:
    assert cause_of(finding(category=name)) is Cause.UNKNOWN


def test_the_words_of_a_message_say_nothing() -> None:
    told = finding("TypeError: timeout in a security panic", category="exit_code")
    assert cause_of(told) is Cause.UNKNOWN


def test_every_cause_can_be_reached() -> None:
    marks = test_a_cause_is_told_from_the_category.pytestmark  # type: ignore[attr-defined]
    assert {cause for _, cause in marks[0].args[1]} == set(Cause)
