"""Shown: what the failing tests tell about one place of a program."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TypeGuard

from runtrue.fields import rank_names
from runtrue.fixers.search.evidence import Failure, Value
from runtrue.fixers.search.operators.layout import own_statements
from runtrue.fixers.search.operators.seam import EditSite
from runtrue.fixers.search.program import Function

#: What a function gives when it has nothing to give, by the type of what it gives otherwise.
EMPTY = {
    "NoneType": "None",
    "list": "[]",
    "int": "0",
    "str": '""',
    "bool": "False",
    "dict": "{}",
    "float": "0.0",
    "tuple": "()",
    "set": "set()",
}


def raised(site: EditSite, *exceptions: str) -> Iterator[Failure]:
    """The failures that were raised on the lines of the site's statement, of some types."""
    statement = site.program.statement_of(site.node)
    last = statement.end_lineno or statement.lineno
    for failure in site.failures:
        if not failure.frames or (exceptions and failure.exception not in exceptions):
            continue
        frame = failure.frames[-1]
        if frame.file == site.program.file and statement.lineno <= frame.line <= last:
            yield failure


def value_of(failure: Failure, name: str) -> Value | None:
    """Return the value of a local of the innermost frame."""
    return failure.frames[-1].values.get(name) if failure.frames else None


def expected_types(site: EditSite) -> list[str]:
    """The types of what the failing tests expect, the first first."""
    return list(dict.fromkeys(one.expected.type for one in site.failures if one.expected))


def expected_reprs(site: EditSite) -> list[str]:
    """Return the short representations of what the failing tests expect."""
    seen = (one.expected.repr for one in site.failures if one.expected)
    return list(dict.fromkeys(text for text in seen if text and len(text) <= 20))


def literal_of(text: str | None) -> object:
    """A representation as the value it is, where it is a plain one."""
    try:
        # An approximate value is shown with its tolerance.
        return ast.literal_eval(text.partition(" ± ")[0]) if text is not None else ...
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ...


def is_number(value: object) -> TypeGuard[int | float]:
    """True if a value is a number that is small enough to calculate with."""
    return isinstance(value, int | float) and type(value) is not bool and abs(value) < 10**12


def defaults(site: EditSite, function: Function | None, most: int = 5) -> list[str]:
    """Return early results: what is returned elsewhere, or empty values of the right type."""
    found: dict[str, None] = {}
    if function is None:
        return []
    for one in own_statements(function):
        if isinstance(one, ast.Return):
            text = "None" if one.value is None else site.program.source(one.value)
            if text == "None" or _is_plain(one.value):
                found[text] = None
    for kind in expected_types(site):
        if kind in EMPTY:
            found[EMPTY[kind]] = None
    if function.returns is not None:
        wanted = site.program.source(function.returns).partition("[")[0].rpartition(".")[2]
        if (text := EMPTY.get(wanted.lower(), "")) != "":
            found[text] = None
    if "False" in found or "True" in found:
        found |= {"False": None, "True": None}
    if not found:
        found = dict.fromkeys(("None", "0", "[]", "False", '""'))
    return list(found)[:most]


def _is_plain(node: ast.expr | None) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return not node.elts
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Dict) and not node.keys)


@lru_cache(maxsize=1024)
def closest(guess: str, names: tuple[str, ...], most: int = 8) -> tuple[str, ...]:
    """Return the names that a wrong one may have meant, the likeliest first."""
    names = tuple(dict.fromkeys(name for name in names if name != guess))
    meant = {
        one.path: one.confidence for one in rank_names(guess, "", dict.fromkeys(names[:30], ""))
    }

    def likeness(name: str) -> float:
        low, other = guess.lower().strip("_"), name.lower().strip("_")
        alike = SequenceMatcher(None, low, other).ratio()
        return alike + meant.get(name, 0.0) + 0.3 * (low in other or other in low)

    return tuple(sorted(names, key=lambda name: -likeness(name))[:most])
