"""Complaints: the fields that the body of a refused request names, found by its structure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from runtrue.planner.words import word_set

#: The keys under which error formats put the name of a field, or the path to it: RFC 9457,
#: JSON:API, and the validators of the usual web frameworks.
_NAMING = word_set(
    "field fields fieldname param params parameter property attribute argument loc pointer "
    "instancepath propertypath"
)
#: These name a field in an entry of a list of errors, and elsewhere often something else: the path
#: of the request, for one.
_NAMING_IN_LISTS = word_set("path key name")
#: Objects under these keys have the names of fields for keys.
_BY_NAME = word_set(
    "errors fielderrors field_errors validation_errors validationerrors invalid_params "
    "invalidparams invalid_fields violations fieldviolations"
)
#: Names there that are of no field, or of all fields.
_NO_FIELDS = word_set("error message messages detail details warnings non_field_errors __all__")
_NO_FIELDS |= _BY_NAME | _NAMING | {"nonfielderrors"}
_MOST_LOOKED_AT, _MOST_NAMED, _DEEPEST = 500, 20, 8
_NAME = re.compile(r"[A-Za-z_][\w -]{0,60}")


def named_fields(body: Any) -> tuple[str, ...]:
    """Return the fields that an error's body complains of, each once, in its order."""
    names = (*_keyed(body), *_walk(body, [_MOST_LOOKED_AT], 0, in_list=False))
    return tuple(dict.fromkeys(names))[:_MOST_NAMED]


def _keyed(body: Any) -> Iterator[str]:
    """Yield the keys of `{"title": ["is required"], "name": [...]}`: messages by field."""
    if not isinstance(body, Mapping) or not 0 < len(body) <= _MOST_LOOKED_AT:
        return
    lists = (m for m in body.values() if isinstance(m, list) and m)
    messages = [m for m in lists if all(isinstance(text, str) for text in m)]
    names = [str(name) for name in body]
    if len(messages) == len(names) and all(_NAME.fullmatch(name) for name in names):
        yield from (name for name in names if name.casefold() not in _NO_FIELDS)


def _walk(value: Any, budget: list[int], depth: int, *, in_list: bool) -> Iterator[str]:
    budget[0] -= 1
    if budget[0] < 0 or depth > _DEEPEST:
        return
    if isinstance(value, list):
        for one in value[:_MOST_NAMED]:
            yield from _walk(one, budget, depth + 1, in_list=True)
    if not isinstance(value, Mapping):
        return
    for key, inner in value.items():
        folded = str(key).casefold()
        if folded in _NAMING or (in_list and folded in _NAMING_IN_LISTS):
            yield from _named(inner)
        elif folded in _BY_NAME and isinstance(inner, Mapping):
            # `{"errors": {"title": ["is missing"]}}`, and not `{"errors": {"message": "…"}}`.
            names = (str(name) for name, messages in inner.items() if isinstance(messages, list))
            yield from filter(_NAME.fullmatch, names)
        yield from _walk(inner, budget, depth + 1, in_list=False)


def _named(value: Any) -> Iterator[str]:
    """Yield the last name of `title`, `/data/title`, `body.title`, `["body", "title"]`."""
    if isinstance(value, list):
        names = [name for name in value if isinstance(name, str)]
        # A path leads to one field, from the part of the request to the name in it.
        value = names[-1] if names else None
    if isinstance(value, str):
        last = re.split(r"[./]", value.rstrip("./"))[-1]
        last = re.sub(r"\[\w*\]$", "", last)
        if _NAME.fullmatch(last):
            yield last
