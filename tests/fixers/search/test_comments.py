"""Comments and strings that are code are tried as code; words are not."""

from __future__ import annotations

import pytest

from tests.fixers.search.trying import offers, proposed

TABLE = {
    "a line": (
        "def f(n):\n    i = 0\n    # n = str(n)\n    return n[i]\n",
        "def f(n):\n    i = 0\n    n = str(n)\n    return n[i]\n",
    ),
    "several lines": (
        "def f(xs):\n    t = 0\n    # for x in xs:\n    #     t += x\n    return t\n",
        "def f(xs):\n    t = 0\n    for x in xs:\n        t += x\n    return t\n",
    ),
    "the head of a block": (
        "def f(xs, k):\n    for x in xs:\n        # if x == k:\n        return x\n",
        "def f(xs, k):\n    for x in xs:\n        if x == k:\n            return x\n",
    ),
    "the rest of a line": (
        "def f(a, b):\n    return a  # + b\n",
        "def f(a, b):\n    return a + b\n",
    ),
    "a string": (
        'def f(x):\n    y = x\n    """\n    y += 1\n    """\n    return y\n',
        "def f(x):\n    y = x\n    y += 1\n    return y\n",
    ),
}


@pytest.mark.parametrize("rule", TABLE)
def test_what_was_commented_out_is_code_again(rule: str) -> None:
    offers("uncomment", *TABLE[rule])


def test_words_stay_words() -> None:
    source = (
        "def f(x):\n    # the answer\n    y = x  # see above\n    # TODO: nicer\n    return y\n"
    )
    assert "uncomment" not in {edit.kind for edit in proposed(source).values()}
