"""Operators are taken for one another, conditions turned round, and counts are off by one."""

from __future__ import annotations

import pytest

from tests.fixers.search.proposed import becomes, written

TABLE = [
    ("comparison", "if prices[i] < limit: count += 1", "if prices[i] <= limit: count += 1"),
    ("comparison", "if label in names: best = i", "if label not in names: best = i"),
    ("comparison", "if label is 'x': best = i", "if label == 'x': best = i"),
    ("boolean", "if i and j: best = i", "if i or j: best = i"),
    ("boolean", "if i and j and count: best = i", "if i and j or count: best = i"),
    ("boolean", "if (i == 1) & (j == 2): best = i", "if i == 1 and j == 2: best = i"),
    ("negation", "if label.isdigit(): best = i", "if not label.isdigit(): best = i"),
    ("negation", "while not names: best = i", "while names: best = i"),
    ("negation", "best = -limit", "best = limit"),
    ("sign", "best = max(limit, prices[i])", "best = max(-limit, prices[i])"),
    ("arithmetic", "best = prices[i] + limit", "best = prices[i] - limit"),
    ("arithmetic", "best = limit / 2", "best = limit // 2"),
    # What was grouped stays grouped, and also what reads as the eye groups it.
    ("arithmetic", "best = i + j + limit", "best = (i + j) * limit"),
    ("arithmetic", "best = i + j + limit", "best = i + j * limit"),
    ("augmented", "count -= prices[i]", "count += prices[i]"),
    ("off_by_one", "best = prices[j]", "best = prices[j - 1]"),
    ("off_by_one", "best = sum(prices[:limit])", "best = sum(prices[:limit + 1])"),
    (
        "off_by_one",
        "if prices[i] == grid[i][j]: best = i",
        "if prices[i - 1] == grid[i][j]: best = i",
    ),
    (
        "sign",
        "best = sorted(grid, key=lambda row: (row[i], row[j]))",
        "best = sorted(grid, key=lambda row: (-row[i], row[j]))",
    ),
    ("sign", "if i < j: best = i", "if i < -j: best = i"),
    ("off_by_one", "best = prices[i] - prices[j]", "best = prices[i - 1] - prices[j - 1]"),
]


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize(("kind", "before", "after"), TABLE)
def test_an_operation_becomes_the_one_that_was_meant(kind: str, before: str, after: str) -> None:
    becomes(kind, before, after)


def test_the_plain_slip_is_likelier_than_the_strange_one() -> None:
    near = becomes("comparison", "if i < j: best = i", "if i <= j: best = i")
    far = becomes("comparison", "if i < j: best = i", "if i == j: best = i")
    assert near.unlikely < far.unlikely


def test_only_the_operator_is_written_anew() -> None:
    text = "def f(a, b):\n    return (a   <  # why\n            b)\n"
    assert text.replace("<  #", "<=  #") in written(text)


def test_a_text_is_not_made_a_difference() -> None:
    made = written('def f(a: str):\n    return a + "x"\n')
    assert 'def f(a: str):\n    return a - "x"\n' not in made
