"""Conditions: asked of what was forgotten, and about None alone."""

from __future__ import annotations

import pytest

from tests.fixers.search.proposed import written

_DEF = "def f(start, end, xs):\n    if {}:\n        return start, end\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # 0 and "" are values.
        ("not start", "start is None"),
        ("start", "start is not None"),
        ("start is None", "start is None and end is None"),
        ("start.day > 1", "start.day > 1 or end.day > 1"),
        ("xs[0] == start and xs[1] == end", "len(xs) > 1 and xs[0] == start and xs[1] == end"),
    ],
)
def test_a_condition_becomes_another(before: str, after: str) -> None:
    made = written(_DEF.format(before))
    assert _DEF.format(after) in made, "\n".join(made)


def test_a_negated_name_is_not_written_as_nobody_would() -> None:
    assert not [text for text in written(_DEF.format("not start")) if "not start is" in text]


def test_a_condition_on_an_attribute_is_asked_of_another_of_the_same_object() -> None:
    source = "def f(a):\n    use(a.filter, a.reverse)\n    if {}:\n        return a\n"
    made = written(source.format("a.filter is not None"))
    assert source.format("a.filter is not None or a.reverse is not None") in made
