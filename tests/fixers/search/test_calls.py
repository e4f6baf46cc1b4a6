"""Calls: siblings, ranges, arguments and operands swapped, dropped and added."""

from __future__ import annotations

import pytest

from runtrue.fixers.search.evidence import Failure, Frame
from tests.fixers.search.proposed import becomes, written

TABLE = [
    ("argument_swap", "best = discount(i, limit)", "best = discount(limit, i)"),
    ("argument_swap", "discount(price=i, rate=j)", "discount(price=j, rate=i)"),
    ("star", "best = zip(grid)", "best = zip(*grid)"),
    ("star", "best = discount(*prices)", "best = discount(prices)"),
    ("argument_add", "best = grid.popitem()", "best = grid.popitem(last=False)"),
    ("operand_swap", "best = prices[i] - limit", "best = limit - prices[i]"),
    ("operand_swap", "if names in label: best = i", "if label in names: best = i"),
    ("tuple_swap", "best, count = i, j", "best, count = j, i"),
    ("index_swap", "best = grid[i][j]", "best = grid[j][i]"),
    ("element", "best = 0, len(prices)", "best = len(prices)"),
    ("sibling", "best = min(best, i)", "best = max(best, i)"),
    ("sibling", "names.append(label)", "names.extend(label)"),
    ("sibling", "best = math.floor(limit)", "best = math.ceil(limit)"),
    ("sibling", "best = prices.pop()", "best = prices.pop(0)"),
    ("sibling", "best = label.lower()", "best = label.upper()"),
    ("argument_drop", "best = sorted(prices, reverse=True)", "best = sorted(prices)"),
    ("argument_add", "best = sorted(prices)", "best = sorted(prices, reverse=True)"),
    (
        "argument_add",
        "best = sorted(x for x in names)",
        "best = sorted((x for x in names), key=len)",
    ),
    ("argument_add", "best = discount(i)", "best = discount(i, limit)"),
    ("range", "for x in range(limit): best = x", "for x in range(1, limit): best = x"),
    (
        "range",
        "for x in range(i, limit): best = x",
        "for x in range(limit - 1, i - 1, -1): best = x",
    ),
    ("range", "for x in prices: best = x", "for x in range(len(prices)): best = x"),
    ("instead", "best = missing(i, limit)", "best = i + limit"),
    ("instead", "sort_them(prices)", "prices.sort()"),
]


@pytest.mark.parametrize(("kind", "before", "after"), TABLE)
def test_a_call_becomes_the_one_that_was_meant(kind: str, before: str, after: str) -> None:
    becomes(kind, before, after)


def test_the_same_slip_is_put_right_at_all_calls_that_are_alike() -> None:
    text = "def f(best, b, c):\n    best = min(best, b)\n    return min(best, c)\n"
    assert text.replace("min", "max") in written(text)


def test_elements_are_given_one_by_one_where_a_call_was_refused() -> None:
    text = "def f(point):\n    return place(point)\n"
    frame = Frame(file="shop.py", line=2, function="f")
    refused = Failure(test="test_f", exception="TypeError", frames=(frame,))
    after = text.replace("place(point)", "place(*point)")
    assert written(text, refused)[after].kind == "star"
    assert after not in written(text)


@pytest.mark.parametrize(
    ("kind", "head", "key"),
    [
        (
            "Tea",
            "class Tea:\n    def __init__(self, price):\n        self.price = price\n",
            "one.price",
        ),
        ("dict", "def name(row):\n    return row['name']\n", "one['name']"),
    ],
)
def test_what_has_no_order_is_sorted_by_what_it_has(kind: str, head: str, key: str) -> None:
    text = f"{head}\n\ndef f(rows):\n    return sorted(rows)\n"
    frame = Frame(file="shop.py", line=text.count("\n"), function="f")
    told = f"'<' not supported between instances of '{kind}' and '{kind}'"
    refused = Failure(test="test_f", exception="TypeError", message=told, frames=(frame,))
    after = text.replace("sorted(rows)", f"sorted(rows, key=lambda one: {key})")
    assert written(text, refused)[after].kind == "argument_add"
    assert after not in written(text)
