"""Cases that were not thought of are dealt with."""

from __future__ import annotations

import pytest

from runtrue.fixers.search.evidence import Value
from tests.fixers.search.trying import failed, offers, proposed

NONE = Value(type="NoneType", repr="None")


def test_nothing_is_averaged_to_nothing() -> None:
    before = "def mean(xs):\n    return sum(xs) / len(xs)\n"
    after = "def mean(xs):\n    if len(xs) == 0:\n        return 0\n    return sum(xs) / len(xs)\n"
    zero = failed("ZeroDivisionError", "division by zero", 2, expected=Value(type="int", repr="0"))
    offers("guard", before, after, zero)


def test_an_empty_list_is_asked_for_first() -> None:
    before = "def first(xs):\n    return xs[0]\n"
    after = "def first(xs):\n    if not xs:\n        return None\n    return xs[0]\n"
    offers("guard", before, after, failed("IndexError", "list index out of range", 2))


def test_none_is_passed_over_in_a_loop() -> None:
    before = "for user in users:\n    names.append(user.name)\n"
    after = (
        "for user in users:\n    if user is None:\n        continue\n    names.append(user.name)\n"
    )
    message = "'NoneType' object has no attribute 'name'"
    edit = offers("guard", before, after, failed("AttributeError", message, 2, user=NONE))
    assert edit.unlikely < 1.5


def test_a_statement_is_done_only_where_it_can_be() -> None:
    before = "def drop(cart, item):\n    cart.total -= cart.prices[item]\n    return cart\n"
    after = (
        "def drop(cart, item):\n    if item in cart.prices:\n"
        "        cart.total -= cart.prices[item]\n    return cart\n"
    )
    offers("guard", before, after, failed("KeyError", "'pen'", 2))


def test_a_recursion_ends() -> None:
    before = "def fact(n):\n    return n * fact(n - 1)\n"
    after = "def fact(n):\n    if n <= 1:\n        return 1\n    return n * fact(n - 1)\n"
    deep = failed("RecursionError", "maximum recursion depth exceeded", 2)
    assert not offers("base_case", before, after, deep).doubt


def test_a_default_is_made_anew_for_each_call() -> None:
    before = 'def add(x, xs=[]):\n    """Add."""\n    xs.append(x)\n    return xs\n'
    after = (
        'def add(x, xs=None):\n    """Add."""\n    if xs is None:\n        xs = []\n'
        "    xs.append(x)\n    return xs\n"
    )
    offers("default", before, after)


LOOKUPS = {
    "a count": (
        "counts[word] += 1\n",
        "counts[word] = counts.get(word, 0) + 1\n",
    ),
    "a group": (
        "groups[key].append(row)\n",
        "groups.setdefault(key, []).append(row)\n",
    ),
    "a setting": ("level = settings['level']\n", "level = settings.get('level')\n"),
}


@pytest.mark.parametrize("rule", LOOKUPS)
def test_a_key_that_is_not_there_yet(rule: str) -> None:
    before, after = LOOKUPS[rule]
    offers("get", before, after, failed("KeyError", "'x'", 1))


def test_a_file_with_windows_lines_keeps_its_line_ends() -> None:
    before = "def first(items):\r\n    return items[0]\r\n"
    after = (
        "def first(items):\r\n    if not items:\r\n        return None\r\n    return items[0]\r\n"
    )
    found = proposed(before, failed("IndexError", "list index out of range", 2))
    assert found[after].kind == "guard"
    assert not [text for text in found if text.count("\n") != text.count("\r\n")]
