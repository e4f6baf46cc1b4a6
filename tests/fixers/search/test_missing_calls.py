"""A function that is nowhere is the operation that its name says."""

from __future__ import annotations

from tests.fixers.search.trying import offers


def test_a_function_that_is_nowhere_is_the_operation_it_names() -> None:
    before = "class A:\n    def f(self, a, b):\n        return self.less_than(a, b + 1)\n"
    after = "class A:\n    def f(self, a, b):\n        return a < (b + 1)\n"
    offers("absent", before, after)
    before = "class A:\n    def f(self, xs):\n        return self.max(xs) + 1\n"
    offers("absent", before, before.replace("self.max", "max"))


def test_a_call_that_nothing_is_done_with_was_to_be_returned() -> None:
    before = "def count(xs):\n    n = len(xs)\n    finish(n)\n"
    offers("absent", before, before.replace("finish(n)", "return n"))


def test_one_that_sorts() -> None:
    before = "def ordered(xs):\n    quick_sort(xs)\n    return xs\n"
    offers("absent", before, before.replace("quick_sort(xs)", "xs.sort()"))
