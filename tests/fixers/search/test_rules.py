"""Rules: templates get the brackets they need, patterns say what their holes stand for."""

from __future__ import annotations

import ast

import pytest

from runtrue.fixers.search.operators.precedence import COMPARE, SUM, TERNARY, Code
from runtrue.fixers.search.operators.rules import fill, matched

_SUM = Code("a + b", SUM)


@pytest.mark.parametrize(
    ("template", "parts", "text"),
    [
        ("{x} * 2", {"x": _SUM}, "(a + b) * 2"),
        ("{x} + 2", {"x": _SUM}, "a + b + 2"),
        ("len({x})", {"x": _SUM}, "len(a + b)"),
        ("{x}[::-1]", {"x": _SUM}, "(a + b)[::-1]"),
        ("{x}.real", {"x": "5"}, "(5).real"),
        ("({x} - 1) // {y}", {"x": _SUM, "y": "n"}, "(a + b - 1) // n"),
        ("({x} * 2) + 1", {"x": "n"}, "n * 2 + 1"),
        ("not {x}", {"x": Code("a if b else c", TERNARY)}, "not (a if b else c)"),
        ("{x} and {y}", {"x": Code("a < b", COMPARE), "y": "c"}, "a < b and c"),
    ],
)
def test_a_filled_template_has_the_brackets_it_needs(
    template: str, parts: dict[str, Code | str], text: str
) -> None:
    assert fill(template, **parts).text == text


@pytest.mark.parametrize(
    ("pattern", "source", "found"),
    [
        ("{x}.pop({i}, {*rest})", "a.b.pop(0, None)", {"x": "a.b", "i": "0"}),
        ("{x}.pop({i}, {*rest})", "xs.pop()", None),
        ("{x}.pop()", "xs.pop()", {"x": "xs"}),
        ("{x}.append({y})", "xs.append(*more)", None),
        ("{x}.append({y})", "xs.append(y, key=1)", None),
        ("{a} // {b}", "n // (m + 1)", {"a": "n", "b": "m + 1"}),
        ("{a} // {b}", "n / m", None),
    ],
)
def test_a_pattern_says_what_its_holes_stand_for(
    pattern: str, source: str, found: dict[str, str] | None
) -> None:
    holes = matched(pattern, ast.parse(source, mode="eval").body)
    texts = None if holes is None else {name: ast.unparse(one) for name, one in holes.items()}
    assert texts == found
