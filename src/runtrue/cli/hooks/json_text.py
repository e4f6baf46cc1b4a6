"""Edit JSON as text, so all that others wrote in a file stays as they wrote it."""

from __future__ import annotations

import json
import re
import textwrap
from dataclasses import dataclass
from typing import Any

#: Keys and indexes that lead to a value.
JsonPath = tuple[str | int, ...]

_SPACE = " \t\r\n"
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class _Item:
    """A member of an object or an element of a list: where it begins, and its value."""

    key: str | None
    begin: int
    value: int
    end: int


def _items(text: str, start: int) -> tuple[list[_Item], int]:
    """Return the items of the object or list that opens at `start`, and where it closes."""
    items: list[_Item] = []
    at = _skip(text, start + 1)
    while text[at] not in "]}":
        begin, key = at, None
        if text[start] == "{":
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        items.append(_Item(key, begin, at, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return items, at


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def with_entry(text: str, keys: tuple[str, ...], entry: Any) -> str:
    """Return the text with one more entry in the list at `keys`, made of what is not there yet."""
    start = _skip(text, 0)
    new: Any = [entry]
    for key in reversed(keys):
        new = {key: new}
    for key in keys:
        found = next((item for item in _items(text, start)[0] if item.key == key), None)
        if found is None:
            return _append(text, start, f"{json.dumps(key)}: ", new[key])
        start, new = found.value, new[key]
    return _append(text, start, "", entry)


def with_member(text: str, key: str, value: Any) -> str:
    """Return the text of an object with one more member."""
    return _append(text, _skip(text, 0), f"{json.dumps(key)}: ", value)


def _append(text: str, start: int, name: str, value: Any) -> str:
    """Return the text with a value at the end of the container that opens at `start`."""
    items, close = _items(text, start)
    outer = text[text.rfind("\n", 0, start) + 1 : start]
    outer = outer[: len(outer) - len(outer.lstrip())]
    unit = _unit(text)
    if not items:
        inner = outer + unit
        body = _indented(name, value, inner, unit)
        return f"{text[: start + 1]}\n{inner}{body}\n{outer}{text[close:]}"
    last = items[-1]
    # As the last one is set apart from what is before it.
    before = items[-2].end if len(items) > 1 else start
    gap = text[before : last.begin].lstrip("{[").partition(",")[2 if len(items) > 1 else 0]
    inner = gap.rpartition("\n")[2]
    body = _indented(name, value, inner, unit) if "\n" in gap else f"{name}{json.dumps(value)}"
    return f"{text[: last.end]},{gap or ' '}{body}{text[last.end :]}"


def _indented(name: str, value: Any, inner: str, unit: str) -> str:
    dumped = json.dumps(value, indent=unit, ensure_ascii=False)
    return name + textwrap.indent(dumped, inner).lstrip()


def _unit(text: str) -> str:
    """Return the indentation of one level."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def without(text: str, path: JsonPath) -> str:
    """Return the text without the value at `path`, nor containers that hold nothing else."""
    start, places = _skip(text, 0), []
    for step in path:
        items, close = _items(text, start)
        index = step if isinstance(step, int) else [item.key for item in items].index(step)
        places.append((start, close, items, index))
        start = items[index].value
    for start, close, items, index in reversed(places):
        if len(items) == 1 and (start, close, items, index) != places[0]:
            continue
        if len(items) == 1:
            return text[: start + 1] + text[close:]
        if index + 1 < len(items):
            return text[: items[index].begin] + text[items[index + 1].begin :]
        return text[: items[index - 1].end] + text[items[index].end :]
    return text
