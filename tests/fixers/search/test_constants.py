"""Numbers near the one written, texts like the one written; what a test expects only with doubt."""

from __future__ import annotations

import pytest

from runtrue.fixers.search.evidence import Failure, Value
from tests.fixers.search.proposed import becomes, written

TABLE = [
    ("constant", "best = 3", "best = 4"),
    ("constant", "best = 3", "best = 10"),  # the default of `limit`
    ("constant", "best = -1", "best = 1"),
    ("constant", "best = 0x10", "best = 0x11"),
    ("constant", "best = 1_000", "best = 10_000"),
    ("constant", "best = True", "best = False"),
    ("constant", "best = None", "best = []"),
    ("constant", "best = []", "best = {}"),
    ("string", 'best = label == "sum"', 'best = label == "Sum"'),
    ("string", "best = label.split('-')", "best = label.split('_')"),
    ("string", 'best = "Total "', 'best = "Total"'),
    ("interpolation", 'best = "{label} of {limit}"', 'best = f"{label} of {limit}"'),
]


@pytest.mark.parametrize(("kind", "before", "after"), TABLE)
def test_a_constant_becomes_the_one_that_was_meant(kind: str, before: str, after: str) -> None:
    becomes(kind, before, after)


def compared(expected: str, actual: str) -> Failure:
    return Failure(
        test="test_it",
        exception="AssertionError",
        expected=Value(type="object", repr=expected),
        actual=Value(type="object", repr=actual),
    )


def test_a_text_is_corrected_by_what_the_test_expects_of_its_part() -> None:
    text = 'def greet(name):\n    return "Helo, " + name\n'
    made = written(text, compared("'Hello, Ada'", "'Helo, Ada'"))
    edit = made[text.replace("Helo", "Hello")]
    assert edit.kind == "string"
    assert edit.doubt is None


def test_the_value_that_a_test_expects_is_written_with_doubt() -> None:
    text = "def answer():\n    return 7\n"
    edit = written(text, compared("42", "7"))[text.replace("7", "42")]
    assert edit.kind == "expected"
    assert edit.doubt is not None


def test_a_returned_expression_is_given_up_only_with_doubt() -> None:
    text = "def first(items):\n    return items.pop()\n"
    edit = written(text, compared("0", "3"))[text.replace("items.pop()", "0")]
    assert edit.doubt is not None
    assert edit.unlikely > 5


@pytest.mark.parametrize(
    ("written_as", "expected", "actual", "meant"),
    [
        ("38.3495", "283.495 ± 2.8e-04", "383.495", "28.3495"),  # ten times too much
        ("0.5", "12.25", "12.5", "0.25"),  # too much by as much
        ("70", "420", "490", "60"),
        ("70", "480", "490", "60"),
    ],
)
def test_a_number_is_derived_from_how_far_off_the_result_is(
    written_as: str, expected: str, actual: str, meant: str
) -> None:
    text = f"def f(n):\n    return n * {written_as}\n"
    edit = written(text, compared(expected, actual))[text.replace(written_as, meant)]
    assert edit.kind in ("expected", "constant")
