"""What the operators for expressions propose for a program, for the tests of each of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from textwrap import dedent

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.evidence import Failure
from runtrue.fixers.search.operators.expressions import EXPRESSIONS
from runtrue.fixers.search.operators.seam import EditSite
from runtrue.fixers.search.program import Program

_SITES = (ast.expr, ast.stmt, ast.arg, ast.keyword, ast.excepthandler)


def proposed(text: str, *failures: Failure, strings: tuple[str, ...] = ()) -> Iterator[Edit]:
    """All edits of expressions, at all nodes of a program."""
    program = Program("shop.py", dedent(text))
    for node in ast.walk(program.tree):
        if isinstance(node, _SITES):
            for operator in EXPRESSIONS:
                site = EditSite(program=program, node=node, failures=failures, strings=strings)
                yield from operator(site)


def written(text: str, *failures: Failure, strings: tuple[str, ...] = ()) -> dict[str, Edit]:
    """The programs that the edits make, each with the likeliest edit that makes it."""
    text = dedent(text)
    found: dict[str, Edit] = {}
    for edit in sorted(proposed(text, *failures, strings=strings), key=lambda one: one.unlikely):
        found.setdefault(edit.applied(text), edit)
    return found


def in_body(line: str) -> str:
    """A line of a function in the little program that the tables are about."""
    return SHOP.replace("PLACE", line)


#: A function with a bit of everything in scope.
SHOP = '''\
import heapq
import math

LIMIT = 50


def discount(price, rate=0):
    return price * rate


def total(prices: list[int], names: list[str], limit: int = 10, label: str = "Sum"):
    """Adds up."""
    count = 0
    best = 0
    grid = [[0] * limit for _ in prices]
    for i in range(len(prices)):
        for j in range(i):
            PLACE  # as agreed
            count += prices[i] * grid[i][j]
    if count > limit:
        return best
    return f"{label}: {count}"
'''


def becomes(kind: str, before: str, after: str, *failures: Failure) -> Edit:
    """The edit of a kind that makes one line of the little program another; fails without."""
    made = written(in_body(before), *failures)
    wanted = in_body(after)
    assert wanted in made, f"`{before}` does not become `{after}`"
    assert made[wanted].kind == kind
    return made[wanted]
