"""Terms, wraps, slices, branches and conditions: something more, something less."""

from __future__ import annotations

import pytest

from runtrue.fixers.search.evidence import Failure, Value
from tests.fixers.search.proposed import becomes, in_body, written

TABLE = [
    ("unwrap", "best = list(names)", "best = names"),
    ("unwrap", "best = label.strip()", "best = label"),
    ("wrap", "if i < prices: best = i", "if i < len(prices): best = i"),
    ("wrap", "best = label == names[0]", "best = label.lower() == names[0]"),
    ("wrap", "best = names", "best = sorted(names)"),
    ("wrap", "best = names", "best = names[::-1]"),
    ("clamp", "count -= prices[i] - j", "count = max(0, count - (prices[i] - j))"),
    ("clamp", "best = limit - count", "best = max(0, limit - count)"),
    ("clamp", "best = prices[i]", "best = max(best, prices[i])"),
    ("term_drop", "best = prices[i] + 1", "best = prices[i]"),
    ("term_add", "best = prices[i]", "best = prices[i] + count"),
    ("scale", "best = limit - prices[i] * j", "best = limit - prices[i] * j / 100"),
    ("scale", "best = limit", "best = limit * 1000"),
    ("scale", "best = limit - count", "best = limit - count * 60"),
    ("grouping", "best = i + j * limit", "best = (i + j) * limit"),
    ("grouping", "best = (i + j) * limit", "best = i + j * limit"),
    ("grouping", "if i or j and limit: best = i", "if (i or j) and limit: best = i"),
    ("branch", "best = i if count else j", "best = j if count else i"),
    ("comprehension", "best = [x for x in names if x]", "best = [x for x in names]"),
    ("comprehension", "best = sum(x.size for x in names)", "best = sum(x for x in names)"),
    ("slice", "best = names[1:]", "best = names[:1]"),
    ("slice", "best = names[1:limit]", "best = names[:limit]"),
    ("index", "best = names[i]", "best = names[-1]"),
    ("index", "best = names[i]", "best = names"),
    ("subscript", "best = prices == limit", "best = prices[i] == limit"),
    ("subscript", "best = prices[i] - j", "best = prices[i] - prices[j]"),
    ("chain", "if 0 < i < limit: best = i", "if i < limit: best = i"),
    ("condition_drop", "if i and label: best = i", "if label: best = i"),
    ("condition", "if limit: best = i", "if limit is not None: best = i"),
    ("condition_add", "if label: best = i", "if label and count > limit: best = i"),
    (
        "condition_add",
        "while prices[j] < limit: best = i",
        "while j < len(prices) and prices[j] < limit: best = i",
    ),
]


@pytest.mark.parametrize(("kind", "before", "after"), TABLE)
def test_an_expression_becomes_the_one_that_was_meant(kind: str, before: str, after: str) -> None:
    becomes(kind, before, after)


@pytest.mark.parametrize(
    ("actual", "expected", "wanted"), [("250", "2.5", "/ 100"), ("3", "3000", "* 1000")]
)
def test_the_unit_that_a_test_tells_of_is_tried_first(
    actual: str, expected: str, wanted: str
) -> None:
    def value(text: str) -> Value:
        return Value(type="float" if "." in text else "int", repr=text)

    failure = Failure(
        test="t", exception="AssertionError", expected=value(expected), actual=value(actual)
    )
    made = written(in_body("best = price(i)"), failure)
    likely = [text for text, edit in made.items() if edit.kind == "scale" and edit.unlikely < 1]
    assert in_body(f"best = price(i) {wanted}") in likely


def test_what_is_scaled_already_is_not_scaled_by_the_same_again() -> None:
    made = written(in_body("best = limit * 100"))
    assert in_body("best = limit * 100 / 60") in made
    assert in_body("best = limit * 100 / 100") not in made
