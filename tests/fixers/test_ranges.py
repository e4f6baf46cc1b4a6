"""Of a long file, whole functions around what matters are shown."""

from __future__ import annotations

import pytest

from runtrue.fixers.ranges import relevant_ranges, words_in

PYTHON = """\
import os


class Till:
    @property
    def total(self):
        return self.sum

    def add(self, price):
        def inner():
            return price

        self.sum += inner()


def other():
    pass
"""


@pytest.mark.parametrize(
    ("lines", "names", "ranges"),
    [
        ({7}, (), [(5, 7)]),
        ({11}, (), [(10, 11)]),
        ({13}, (), [(9, 13)]),
        ((), {"total", "other"}, [(5, 7), (16, 17)]),
        ({7}, {"add"}, [(5, 7), (9, 13)]),
        ({1}, (), [(1, 18)]),
        ({99}, {"nothing"}, []),
    ],
)
def test_of_python_the_innermost_function(
    lines: set[int], names: set[str], ranges: list[tuple[int, int]]
) -> None:
    found = relevant_ranges("till.py", PYTHON, frozenset(lines), frozenset(names))
    assert found == ranges


def test_of_a_very_long_function_the_lines_around() -> None:
    text = "def f():\n" + "    x = 1\n" * 500
    assert relevant_ranges("f.py", text, frozenset({250})) == [(210, 290)]


@pytest.mark.parametrize(
    ("file", "definition"),
    [
        ("cart.ts", "export async function total(items: Item[]) {"),
        ("cart.js", "const total = (items) => {"),
        ("cart.go", "func (c *Cart) total() int {"),
        ("cart.rs", "pub fn total(items: &[u8]) -> u8 {"),
        ("broken.py", "def total(items:"),
    ],
)
def test_of_other_languages_what_follows_a_definition(file: str, definition: str) -> None:
    text = "\n".join(["// a line"] * 100 + [definition] + ["// more"] * 100)
    assert relevant_ranges(file, text, frozenset(), frozenset({"total"})) == [(101, 131)]


def test_words_are_the_names_in_ranges() -> None:
    assert words_in(PYTHON, [(6, 7)]) == {"def", "total", "self", "return", "sum"}
