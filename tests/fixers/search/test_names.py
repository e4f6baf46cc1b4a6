"""A name that is wrong, or nowhere, becomes one that is there: the likeliest first."""

from __future__ import annotations

import pytest

from runtrue.fixers.search.evidence import Failure
from tests.fixers.search.proposed import becomes, written

TABLE = [
    ("variable", "best = prices[i]", "best = prices[j]"),
    ("variable", "best = count", "best = limit"),
    ("undefined", "best = price[i]", "best = prices[i]"),
    ("undefined", "best = lenght(prices)", "best = len(prices)"),
    ("undefined", "best = nothing", "best = None"),
    ("attribute", "best = heapq.heappsh(prices, 1)", "best = heapq.heappush(prices, 1)"),
    ("attribute", "best = label.startwith('x')", "best = label.startswith('x')"),
]

ACCOUNT = """\
class Account:
    def __init__(self, owner, balance):
        self.owner = owner
        self.balance = balance

    def deposit(self, amount):
        self.balance += amount

    def move(self, other, amount):
        other.deposit(amount)
        return PLACE
"""


@pytest.mark.parametrize(("kind", "before", "after"), TABLE)
def test_a_name_becomes_the_one_that_was_meant(kind: str, before: str, after: str) -> None:
    becomes(kind, before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("self.owner", "self.balance"),
        ("self.amount", "amount"),
        ("balance", "self.balance"),
        ("self.ballance", "self.balance"),
        ("self.withdraw(amount)", "self.deposit(amount)"),
        ("other.blance", "other.balance"),
    ],
)
def test_an_attribute_becomes_one_of_the_class(before: str, after: str) -> None:
    assert ACCOUNT.replace("PLACE", after) in written(ACCOUNT.replace("PLACE", before))


def test_a_name_that_is_nowhere_is_put_right_wherever_it_is_used() -> None:
    text = "def f(items):\n    n = len(itms)\n    return itms[n - 1]\n"
    edit = written(text)[text.replace("itms", "items")]
    assert edit.kind == "undefined"
    assert "2 places" in edit.says


def test_the_name_most_alike_comes_first() -> None:
    text = "def f(total, count, items):\n    return totl\n"
    made = written(text)
    ranked = sorted(made, key=lambda one: made[one].unlikely)
    assert ranked[0] == text.replace("totl", "total")


def test_a_name_that_a_test_missed_is_taken_for_one_that_is_nowhere() -> None:
    text = "def f(items):\n    if items:\n        item = 1\n    return item\n"
    failure = Failure(test="test_f", exception="UnboundLocalError", name="item")
    assert written(text, failure)[text.replace("return item", "return items")].kind == "undefined"


def test_a_local_is_a_variable_though_a_function_elsewhere_has_its_name() -> None:
    text = """\
def valid(address):
    name, at, domain = address.partition("@")
    return "." in name and domain


def domain(address):
    return address.rpartition("@")[2]
"""
    made = written(text)
    assert made[text.replace("in name", "in domain")].kind == "variable"


@pytest.mark.parametrize("head", ["@property\n    def", "@limit.setter\n    def"])
def test_a_property_that_asks_itself_means_the_field_behind_it(head: str) -> None:
    text = f"class Tank:\n    {head} limit(self, *new):\n        return self.limit\n"
    edit = written(text)[text.replace("self.limit", "self._limit")]
    assert edit.kind == "attribute"


def test_a_property_is_taken_for_a_field_and_not_for_a_method() -> None:
    text = """\
class Tank:
    def __init__(self, size):
        self._size = size

    @property
    def size(self):
        return self._size

    def litres(self):
        return self._size * 10
"""
    made = written(text)
    assert text.replace("self._size * 10", "self.size * 10") in made
    assert text.replace("self._size * 10", "self.litres * 10") not in made
