"""Values are kept, begun and added to."""

from __future__ import annotations

import pytest

from tests.fixers.search.trying import failed, offers

TABLE = {
    "a sum": ("augment", "total = price\n", "total += price\n"),
    "a new value": ("augment", "best += score\n", "best = score\n"),
    "text is not changed in place": (
        "keep",
        "name.replace(' ', '_')\n",
        "name = name.replace(' ', '_')\n",
    ),
    "sorted gives a new list": ("keep", "sorted(rows)\n", "rows = sorted(rows)\n"),
    "a comparison that was to assign": ("keep", "self.open == True\n", "self.open = True\n"),
    "sort gives None": ("in_place", "xs = xs.sort()\n", "xs.sort()\n"),
    "append gives None": (
        "in_place",
        "def add(xs, x):\n    return xs.append(x)\n",
        "def add(xs, x):\n    xs.append(x)\n    return xs\n",
    ),
    "a loop that counts": (
        "count_on",
        "while i < n:\n    show(i)\n",
        "while i < n:\n    show(i)\n    i += 1\n",
    ),
    "a counter of the module": (
        "declare",
        "count = 0\n\n\ndef hit():\n    count += 1\n    return count\n",
        "count = 0\n\n\ndef hit():\n    global count\n    count += 1\n    return count\n",
    ),
    "a counter of the function around": (
        "declare",
        "def counter():\n    n = 0\n\n    def step():\n"
        "        n += 1\n        return n\n\n    return step\n",
        "def counter():\n    n = 0\n\n    def step():\n        nonlocal n\n        n += 1\n"
        "        return n\n\n    return step\n",
    ),
    "a list that nobody began": (
        "begin",
        "def names(rows):\n    for row in rows:\n"
        "        found.append(row.name)\n    return found\n",
        "def names(rows):\n    found = []\n    for row in rows:\n        found.append(row.name)\n"
        "    return found\n",
    ),
    "one begun as its sibling is": (
        "begin",
        "def seats(n):\n    rows = [0] * n\n    rows_free[0] = 1\n    return rows, rows_free\n",
        "def seats(n):\n    rows = [0] * n\n    rows_free = [0] * n\n    rows_free[0] = 1\n"
        "    return rows, rows_free\n",
    ),
    "a method that was not called": ("call", "self.reset\n", "self.reset()\n"),
    "a method whose result was meant": (
        "call",
        "key = name.lower\n",
        "key = name.lower()\n",
    ),
}


@pytest.mark.parametrize("rule", TABLE)
def test_a_value_is_kept(rule: str) -> None:
    kind, before, after = TABLE[rule]
    offers(kind, before, after)


def test_a_name_that_was_read_too_early_begins_before() -> None:
    before = "def last(xs):\n    for x in xs:\n        best = x\n    return best\n"
    after = "def last(xs):\n    best = None\n    for x in xs:\n        best = x\n    return best\n"
    message = "cannot access local variable 'best' where it is not associated with a value"
    offers("begin", before, after, failed("UnboundLocalError", message, 4))
