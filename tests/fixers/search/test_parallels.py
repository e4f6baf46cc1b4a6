"""Parallels: code beside the wrong one that does the same for something else."""

from __future__ import annotations

import pytest

from runtrue.fixers.search.proposals import EditSet
from runtrue.fixers.search.signs import suits_a_test
from tests.fixers.search.proposed import written
from tests.fixers.search.trying import failed, offers, proposed


def test_an_expression_is_written_as_that_of_a_like_statement() -> None:
    source = """\
def start(dt, step, field):
    if field == 1:
        return ((dt.day - 1) % step) + 1
    return {}
"""
    made = written(source.format("dt.month % step"))
    assert source.format("(dt.month - 1) % step + 1") in made


def test_a_value_goes_to_the_variable_that_the_other_branches_assign() -> None:
    source = """\
    def read(kind):
        if kind is None:
            kind = str
        else:
            use = kind
        return use
    """
    failure = failed(
        "UnboundLocalError", "cannot access local variable 'use' where it is not associated", 6
    )
    edit = offers("target", source, source.replace("kind = str", "use = str"), failure)
    assert edit.unlikely < 1


def test_a_branch_is_added_for_another_constant_that_the_file_knows() -> None:
    source = """\
    def sort(items, mode):
        for item in items:
            if mode == KEEP:
                yield item
            else:
                raise ValueError(item)

    def is_drop(mode):
        return mode == DROP

    KEEP, DROP = 1, 2
    """
    wanted = source.replace(
        "            else:",
        "            elif mode == DROP:\n                continue\n            else:",
    )
    offers("case", source, wanted)


def test_a_branch_is_added_for_a_constant_that_is_named_like_the_one_asked_for() -> None:
    source = """\
    KEEP_EXTRA = 1
    DROP_EXTRA = 2
    SIZE = 3

    def sort(items, mode):
        for item in items:
            if mode == KEEP_EXTRA:
                yield item
            else:
                raise ValueError(item)
    """
    branch = "            elif mode == {}:\n                continue\n            else:"
    offers("case", source, source.replace("            else:", branch.format("DROP_EXTRA")))
    assert not any("mode == SIZE" in text for text in proposed(source))


def test_a_call_is_written_as_a_like_one_that_is_given_more() -> None:
    source = """\
def combine(pairs, how, part):
    _how = how if part else lambda x, y, i: how(x, y)
    for i, x, y in pairs:
        if x is None:
            yield _how(y, y, i)
        yield {}
"""
    assert source.format("_how(x, y, i)") in written(source.format("how(x, y)"))


def test_a_flag_of_the_function_switches_a_condition_off() -> None:
    source = "def f(items, strict=False):\n    if {}len(items) == 1:\n        return items[0]\n"
    assert source.format("not strict and ") in written(source.format(""))


def test_a_call_that_is_a_statement_is_not_replaced_by_another() -> None:
    source = """\
    class Cache:
        def put(self):
            self.free()
            return self.size()
    """
    assert source.replace("self.free()", "self.size()") not in proposed(source)


def test_a_call_of_the_class_replaces_one_of_something_that_is_not_there() -> None:
    source = """\
class Timer:
    def begin(self):
        self.start = {}

    def end(self):
        return clock() - self.start


def clock():
    return 1
"""
    assert source.format("clock()") in written(source.format("time.time()"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("kind == 'pre'", "kind in ('pre', 'post')"),
        ("kind.startswith('pre')", "kind.startswith(('pre', 'post'))"),
        ("kind in ('pre', 'both')", "kind in ('pre', 'both', 'post')"),
    ],
)
def test_a_text_that_a_failing_test_is_about_is_let_in_with_others(before: str, after: str) -> None:
    source = "def f(kind):\n    return {}\n"
    failure = failed("AssertionError", "assert False\n + where False = f('post')", 9)
    edit = offers("case", source.format(before), source.format(after), failure)
    # It is taken from the test: it may be right for no other.
    assert suits_a_test(EditSet(edits=(edit,), cost=1.0))
    assert source.format(after) not in proposed(source.format(before))
