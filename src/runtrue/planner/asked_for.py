"""What is asked for: the values in a node's params that the task names, such as a user or an id."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from runtrue.errors import UsageError
from runtrue.planner.named import is_said
from runtrue.planner.words import singulars
from runtrue.workflow import Registry

#: A reference, or what is between the marks of a path.
_PIECE = re.compile(r"\$\{[^{}]*\}|[^/$]+|\$")
_ORIGIN = re.compile(r"\A[^/?#]*//[^/?#]*")


def left_out(
    type_: str, before: Mapping[str, Any], after: Mapping[str, Any], registry: Registry, task: str
) -> list[str]:
    """Return the values that the task names and that another version of params does without."""
    try:
        node = registry.node(type_)
    except UsageError:
        node = None
    ignored = frozenset() if node is None else node.reading | node.verbatim
    had, has = _values(before, ignored), _values(after, ignored)
    lost = []
    for place, values in had.items():
        left = [_folded(value) for value in has.get(place, ())]
        for value in values:
            if _folded(value) in left:
                left.remove(_folded(value))
            # A reference may move, unless something else takes its place.
            elif is_said(value, task) or (value.startswith("${") and left):
                lost.append(value)
    return lost


def _values(params: Mapping[str, Any], ignored: frozenset[str]) -> dict[str, list[str]]:
    """Return the values in params by where they are: a param, or the path of a URL."""
    found: dict[str, list[str]] = {}
    for name, value in params.items():
        if name in ignored:
            continue
        if name == "url" and isinstance(value, str):
            path, _, query = value.partition("#")[0].partition("?")
            path = _ORIGIN.sub("", path)
            found["path"] = [unquote(piece) for piece in _PIECE.findall(path)]
            found.setdefault("query", []).extend(
                unquote(pair.partition("=")[2]) for pair in query.split("&")
            )
        else:
            # What was in the query of a URL may become a param of its own.
            place = "query" if name == "params" else name
            found.setdefault(place, []).extend(_scalars(value))
    return {place: [value for value in values if value] for place, values in found.items()}


def _scalars(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
        # References are compared by their roots.
        elif isinstance(one, str | int | float) and not isinstance(one, bool):
            yield from () if "${" in str(one) else (str(one),)


def _folded(value: str) -> tuple[str, ...]:
    """Return a value so that `/user` and `/users` are the same."""
    if value.startswith("${"):
        return ("${", re.split(r"[.\[}]", value[2:])[0])
    return tuple(sorted(singulars(value))) or (value,)
