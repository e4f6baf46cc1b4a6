"""Alternatives: edits by line, and what a person said as a test."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.loop.alternatives import Alternative, Example, chosen, replaced, replacements

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), max_size=8).map("".join)


@given(TEXTS, TEXTS)
def test_replacements_make_one_text_of_another(before: str, after: str) -> None:
    assert replaced(before, replacements("a.py", before, after)) == after


@pytest.mark.parametrize(
    ("call", "module", "gives", "line"),
    [
        ("cost(50)", "shop", "0", "    assert cost(50) == 0\n"),
        ("cost(50, express=True)", "shop", "[1, 'a']", "== [1, 'a']\n"),
        ("cost(-1)", "shop", "raises ValueError", "    with pytest.raises(ValueError):\n"),
        ("cost(50)", "shop", "Money 3", None),
        ("cost(Cart())", "shop", "3", None),
        ("Cart.cost(1)", "", "3", None),
        ("cost('aaaa… 900 0ab)", "shop", "3", None),
    ],
)
def test_an_example_is_a_test_where_it_can_be_written(
    call: str, module: str, gives: str, line: str | None
) -> None:
    test = Example(call=call, gives="?", instead="?", module=module).as_test(gives)
    assert (test is None) is (line is None)
    if test is not None and line is not None:
        assert line in test
        compile(test, "test.py", "exec")


def test_alternatives_are_numbered_from_two() -> None:
    example = Example(call="f()", gives="1", instead="2")
    one, two = (
        Alternative(says=name, confidence=0.1, diff="", edits=(), example=example)
        for name in ("one", "two")
    )
    assert chosen((one, two), " 2 ") is one
    assert chosen((one, two), "3") is two
    for answer in ("1", "4", "0", "yes", "", "-2"):
        assert chosen((one, two), answer) is None
