"""Blocks end, return, yield, raise and branch where they should."""

from __future__ import annotations

import pytest

from tests.fixers.search.trying import offers

TABLE = {
    "break for continue": (
        "jump",
        "for x in xs:\n    if not x:\n        break\n    use(x)\n",
        "for x in xs:\n    if not x:\n        continue\n    use(x)\n",
    ),
    "a found item ends the search": (
        "end_block",
        "def f(xs):\n    for x in xs:\n        if x.ok:\n            found = x\n    return found\n",
        "def f(xs):\n    for x in xs:\n        if x.ok:\n            found = x\n            break\n"
        "    return found\n",
    ),
    "a builder returns what it built": (
        "return",
        "def names(rows):\n    result = []\n"
        "    for row in rows:\n        result.append(row.name)\n",
        "def names(rows):\n    result = []\n    for row in rows:\n        result.append(row.name)\n"
        "    return result\n",
    ),
    "a last expression is returned": (
        "return",
        "def area(self):\n    self.width * self.height\n",
        "def area(self):\n    return self.width * self.height\n",
    ),
    "a recursive call is returned": (
        "return",
        "def find(node, key):\n    if node.key == key:\n"
        "        return node\n    find(node.next, key)\n",
        "def find(node, key):\n    if node.key == key:\n        return node\n"
        "    return find(node.next, key)\n",
    ),
    "a decorator returns its wrapper": (
        "return",
        "def logged(f):\n    def wrapper(*args):\n        return f(*args)\n",
        "def logged(f):\n    def wrapper(*args):\n        return f(*args)\n    return wrapper\n",
    ),
    "a generator does not stop": (
        "yield",
        "def pages(n):\n    for i in range(n):\n        return page(i)\n",
        "def pages(n):\n    for i in range(n):\n        yield page(i)\n",
    ),
    "what a generator inside gives": (
        "yield",
        "def walk(node):\n    yield node\n"
        "    for child in node.children:\n        yield walk(child)\n",
        "def walk(node):\n    yield node\n    for child in node.children:\n"
        "        yield from walk(child)\n",
    ),
    "an exception is raised": (
        "raise",
        "def check(age):\n    if age < 0:\n        ValueError('age')\n",
        "def check(age):\n    if age < 0:\n        raise ValueError('age')\n",
    ),
    "a loop that was an if": (
        "clause",
        "def strip(s):\n    if s.endswith('/'):\n        s = s[:-1]\n    return s\n",
        "def strip(s):\n    while s.endswith('/'):\n        s = s[:-1]\n    return s\n",
    ),
    "an elif that was an if": (
        "clause",
        "if a:\n    x = 1\nif b:\n    x = 2\nelse:\n    x = 3\n",
        "if a:\n    x = 1\nelif b:\n    x = 2\nelse:\n    x = 3\n",
    ),
    "nothing was found only after all were seen": (
        "else",
        "def has(xs, y):\n    for x in xs:\n        if x == y:\n            return True\n"
        "        else:\n            return False\n",
        "def has(xs, y):\n    for x in xs:\n        if x == y:\n            return True\n"
        "    return False\n",
    ),
}


@pytest.mark.parametrize("rule", TABLE)
def test_a_block_goes_where_it_should(rule: str) -> None:
    kind, before, after = TABLE[rule]
    offers(kind, before, after)
