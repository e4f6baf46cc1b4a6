"""What is meant in another language is said in Python."""

from __future__ import annotations

import pytest

from tests.fixers.search.trying import offers, proposed

TABLE = {
    "null": ("x = null\ny = null\n", "x = None\ny = None\n"),
    "true": ("ok = true\n", "ok = True\n"),
    "this": (
        "class A:\n    def f(self):\n        this.x = 1\n        return this.x\n",
        "class A:\n    def f(self):\n        self.x = 1\n        return self.x\n",
    ),
    "length": ("n = names.length\n", "n = len(names)\n"),
    "length of a call": ("n = names.length()\n", "n = len(names)\n"),
    "push": ("names.push(name)\n", "names.append(name)\n"),
    "contains": ("ok = names.contains(a + b)\n", "ok = (a + b) in names\n"),
    "a part of a condition": ("ok = not xs.isEmpty() and y\n", "ok = not (not xs) and y\n"),
    "substring": ("s = s.substring(1, n)\n", "s = s[1:n]\n"),
    "Math.max": ("x = Math.max(a, b)\n", "x = max(a, b)\n"),
    "Math.floor": ("x = Math.floor(a)\n", "import math\nx = math.floor(a)\n"),
    "parseInt": ("x = parseInt(text)\n", "x = int(text)\n"),
    "console": ("console.log(x)\n", "print(x)\n"),
    "increment": ("++i\n", "i += 1\n"),
    "put": ("ages.put(name, 3)\n", "ages[name] = 3\n"),
}


@pytest.mark.parametrize("rule", TABLE)
def test_an_idiom_is_translated(rule: str) -> None:
    offers("foreign", *TABLE[rule])


@pytest.mark.parametrize("call", ["append(xs)", "sqrt()", "cmp(a)"])
def test_a_call_with_too_few_arguments_is_not_translated(call: str) -> None:
    edits = proposed(f"x = {call}\n").values()
    assert not [edit for edit in edits if edit.kind == "foreign"]
