"""What a function lacks before it uses a variable is written first."""

from __future__ import annotations

import pytest

from tests.fixers.search.trying import failed, offers

TABLE = {
    "two variables at once": (
        "begin",
        "def count(xs):\n    for x in xs:\n        n += 1\n        names.append(x)\n"
        "    return n, names\n",
        "def count(xs):\n    n = 0\n    names = []\n    for x in xs:\n        n += 1\n"
        "        names.append(x)\n    return n, names\n",
    ),
    "a loop": (
        "loop",
        "def links(roads):\n    out = {}\n    out[road.a] = road.b\n    return out\n",
        "def links(roads):\n    out = {}\n    for road in roads:\n        out[road.a] = road.b\n"
        "    return out\n",
    ),
    "an order": (
        "sort",
        "def names(rows):\n    found = [row.name for row in rows]\n    return found[0]\n",
        "def names(rows):\n    found = [row.name for row in rows]\n    found.sort()\n"
        "    return found[0]\n",
    ),
}


@pytest.mark.parametrize("rule", TABLE)
def test_it_is_there_before_it_is_used(rule: str) -> None:
    kind, before, after = TABLE[rule]
    offers(kind, before, after)


def test_a_variable_begins_as_what_it_is_compared_with() -> None:
    source = """\
    def read(node):
        try:
            item = getattr(node, "item")
        except TypeError:
            pass
        if item is not NOT_FOUND:
            return item
    """
    message = "cannot access local variable 'item' where it is not associated with a value"
    failure = failed("UnboundLocalError", message, 6)
    wanted = source.replace("        try:\n", "        item = NOT_FOUND\n        try:\n")
    offers("begin", source, wanted, failure)
