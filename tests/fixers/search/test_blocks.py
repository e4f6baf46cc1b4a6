"""Statements are taken out, borrowed, moved and swapped."""

from __future__ import annotations

import pytest

from tests.fixers.search.trying import offers, proposed

TABLE = {
    "a statement too many is taken out": (
        "delete",
        """
        def total(prices):
            total = sum(prices)
            total = 0
            return total
        """,
        """
        def total(prices):
            total = sum(prices)
            return total
        """,
    ),
    "the only statement of a block leaves pass": (
        "delete",
        """
        for name in names:
            log(name)  # all of them
        """,
        """
        for name in names:
            pass  # all of them
        """,
    ),
    "a condition that should not be there": (
        "unconditional",
        """
        def add(self, item):
            if item.price > 0:
                self.items.append(item)
                self.count += 1
        """,
        """
        def add(self, item):
            self.items.append(item)
            self.count += 1
        """,
    ),
    "a statement that the other branch has": (
        "borrow",
        """
        def push(self, item):
            if self.full:
                self.items.pop()
                self.size += 1
            else:
                self.items.append(item)
        """,
        """
        def push(self, item):
            if self.full:
                self.items.pop()
                self.size += 1
            else:
                self.items.append(item)
                self.size += 1
        """,
    ),
    "two statements the wrong way round": (
        "move",
        """
        def shift(a, b):
            a = b  # first
            old = a
            return old
        """,
        """
        def shift(a, b):
            old = a
            a = b  # first
            return old
        """,
    ),
    "a return inside the loop": (
        "move_out",
        """
        def total(rows):
            result = 0
            for row in rows:
                result += row.price
                return result
        """,
        """
        def total(rows):
            result = 0
            for row in rows:
                result += row.price
            return result
        """,
    ),
    "a beginning inside the loop": (
        "move_out",
        """
        def total(rows):
            for row in rows:
                result = 0
                result += row.price
            return result
        """,
        """
        def total(rows):
            result = 0
            for row in rows:
                result += row.price
            return result
        """,
    ),
    "a step behind the loop": (
        "move_in",
        """
        def count(n):
            i = 0
            while i < n:
                show(i)
            i += 1
            return i
        """,
        """
        def count(n):
            i = 0
            while i < n:
                show(i)
                i += 1
            return i
        """,
    ),
    "a list that has to be new for each round": (
        "move_in",
        """
        def table(rows):
            line = []
            for row in rows:
                line.append(row)
                show(line)
        """,
        """
        def table(rows):
            for row in rows:
                line = []
                line.append(row)
                show(line)
        """,
    ),
}


@pytest.mark.parametrize("rule", TABLE)
def test_a_statement_gets_to_its_place(rule: str) -> None:
    kind, before, after = TABLE[rule]
    offers(kind, before, after)


def test_taking_a_check_out_is_doubted() -> None:
    before = """
        def pay(amount):
            if amount < 0:
                raise ValueError(amount)
            return amount
        """
    after = """
        def pay(amount):
            return amount
        """
    assert offers("delete", before, after).doubt


def test_a_string_over_several_lines_is_never_indented_anew() -> None:
    source = 'def f(x):\n    if x:\n        y = """a\n        b"""\n        g(y)\n'
    kinds = {edit.kind for text, edit in proposed(source).items() if '"""a\n    b"""' in text}
    assert not kinds
