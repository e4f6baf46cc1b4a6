"""A candidate is compared by the piece that it changes, and the piece is as good as the whole."""

from __future__ import annotations

from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fixers.search.inside import load

MODULE = '''\
"""A shop — with prices."""
from __future__ import annotations

import functools
import os.path as paths

try:
    from json import *
    from json import dumps
except ImportError:
    import decimal

RATE = 2


def total(prices: list[Price], *, rate=RATE):
    """Add them up."""
    result = 0
    for price in prices:
        result += price * rate

    def inner(n):
        return result + n + functools.reduce(max, decimal.sum(paths.join(dumps.all())))

    return inner(0)
# the end of it


@functools.lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


class Basket(dict):
    __slots__ = ("__owner",)
    limit = 10

    def __init__(self, owner):
        super().__init__()
        self.__owner = owner

    def sign(self):
        return functools.partial(paths.join, self.__owner)

    @property
    def owner(self):
        return self.__owner

    async def checkout(self):
        return [fib(n) async for n in self.items if (m := n)]


if RATE > 1:

    def dear():
        return "yes"


one, two = total, lambda n: n + 1
'''
patch = load("runtrue_loader", "runtrue_patch")
CHANGES = [
    ("result = 0", "result = 1"),
    ("result += price", "result -= price"),
    ("        result += price * rate\n", "        if price:\n            result += price * rate\n"),
    ("return inner(0)\n", "return inner(0)\n\n    return None\n"),
    ("return inner(0)\n", "return inner(0)\nEXTRA = 1\n"),
    ("rate=RATE", "rate=RATE + 1"),
    ("n < 2", "n <= 2"),
    ("maxsize=None", "maxsize=5"),
    ("@functools.lru_cache(maxsize=None)\n", ""),
    ("def fib", "@total\ndef fib"),
    ("limit = 10", "limit = 11"),
    ("return self.__owner", "return self.__owner.name"),
    ("async for n", "async for _, n"),
    ("RATE = 2", "RATE = 3"),
    ('return "yes"', 'return "no"'),
    ("n + 1", "n + 2"),
    ("# the end of it", "# its end"),
    ("# the end of it", "print()"),
    ("class Basket(dict):", "class Basket(list):"),
    ("    return n if n < 2 else fib(n - 1) + fib(n - 2)\n", "    return (\n"),
    ("    return n if n < 2", '    return """ if n < 2'),
    ('"""Add them up."""', '"""Add them up.'),
    ("import functools\n", ""),
]


def functions_of(code: CodeType) -> dict[tuple[str, int], Any]:
    """All code that is somewhere in a code, by name and line, as what can be compared."""
    found = {}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found[constant.co_qualname, constant.co_firstlineno] = comparable(constant)
            found |= functions_of(constant)
    return found


def comparable(code: CodeType) -> Any:
    constants = [
        comparable(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts
    ]
    return (
        code.co_code,
        code.co_names,
        code.co_varnames,
        code.co_flags,
        constants,
        [*code.co_lines()],
    )


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(st.sampled_from(CHANGES), max_size=3, unique_by=lambda change: change[0]),
    ending=st.sampled_from(["\n", "\r\n"]),
    mark=st.sampled_from(["", "\ufeff"]),
    end=st.sampled_from(["", "\n", "\n\n"]),
)
def test_a_piece_compiles_to_what_it_is_in_the_whole(
    tmp_path: Path, changes: list[tuple[str, str]], ending: str, mark: str, end: str
) -> None:
    module = MODULE.rstrip("\n") + end
    path = tmp_path / "shop.py"
    path.write_bytes((mark + module).replace("\n", ending).encode())
    text = module
    for before, after in changes:
        text = text.replace(before, after)
    text = (mark + text).replace("\n", ending)
    whole_before = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    original = patch.Original(str(path))
    original.prepare(text)
    try:
        whole_after = compile(text.lstrip("\ufeff"), str(path), "exec", dont_inherit=True)
    except SyntaxError:
        with pytest.raises(SyntaxError):
            original.beside(text)
        return
    before, after = original.beside(text)
    assert functions_of(before).items() <= functions_of(whole_before).items()
    assert functions_of(after).items() <= functions_of(whole_after).items()
    # What is not in the piece is the same in both, wherever it is written.
    assert left(whole_before, before) == left(whole_after, after)
    assert outside(before, after) == outside(whole_before, whole_after)


def left(whole: CodeType, piece: CodeType) -> list[Any]:
    """What the functions of a module are that are not in one of its pieces, without lines."""
    inside = functions_of(piece)
    return [(key[0], what[:4]) for key, what in functions_of(whole).items() if key not in inside]


def outside(before: CodeType, after: CodeType) -> Any:
    """What differs beside functions; and else the functions that do."""
    changes: list[tuple[CodeType, CodeType]] = []
    why = patch._differences(before, after, changes)
    return why or [(old.co_qualname, new.co_qualname) for old, new in changes]


@pytest.mark.parametrize(
    ("before", "after", "compiled"),
    [
        ("result = 0", "result = 1", {"total"}),
        ("maxsize=None", "maxsize=5", {"fib"}),
        ("limit = 10", "limit = 11", {"Basket"}),
        ("RATE = 2", "RATE = 3", {"total", "fib", "Basket", "dear", "<lambda>"}),
    ],
)
def test_no_more_is_compiled_than_the_piece_that_differs(
    tmp_path: Path, before: str, after: str, compiled: set[str]
) -> None:
    path = tmp_path / "shop.py"
    path.write_text(MODULE)
    original = patch.Original(str(path))
    text = MODULE.replace(before, after)
    original.prepare(text)
    for code in original.beside(text):
        assert {one.co_name for one in code.co_consts if isinstance(one, CodeType)} == compiled
