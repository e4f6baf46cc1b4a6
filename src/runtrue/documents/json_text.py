"""JSON without duplicate keys, with the offset of every value in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from runtrue.documents.plain import Misread, Pointer, read_int
from runtrue.documents.words import lower_first

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[][{},:]|[^][{},:"\s]+')


class _DuplicateKey(Exception):
    pass


def read(text: str) -> Any:
    """Return the data of a text. Raises Misread."""
    try:
        return json.loads(text, object_pairs_hook=_members, parse_int=read_int)
    except json.JSONDecodeError as error:
        message = re.sub(" at$", " here", lower_first(error.msg))
        raise Misread(f"is not valid JSON: {message}", error.pos) from error
    except _DuplicateKey:
        raise _duplicate(text) from None


def dump(data: Any) -> str:
    """Return plain data as readable JSON."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def offsets(text: str) -> Iterator[tuple[Pointer, int]]:
    """Yield each value's pointer and offset in order, a member's being that of its key.

    Expects valid JSON, at least up to where the caller stops.
    """
    path: list[str | int] = []
    at_key = False
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in {"]", "}"}:
            path.pop()
        elif sign == ",":
            last = path[-1]
            at_key = isinstance(last, str)
            if isinstance(last, int):
                path[-1] = last + 1
        elif sign == ":":
            at_key = False
        elif at_key:
            path[-1] = json.loads(sign)
            yield tuple(path), token.start()
        else:
            if not path or isinstance(path[-1], int):
                yield tuple(path), token.start()
            if sign in {"{", "["}:
                path.append("" if sign == "{" else 0)
                at_key = sign == "{"


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _DuplicateKey
    return members


def _duplicate(text: str) -> Misread:
    seen: dict[Pointer, int] = {}
    for pointer, offset in offsets(text):
        if pointer in seen:
            line = text.count("\n", 0, seen[pointer]) + 1
            return Misread(f"the key {pointer[-1]!r} appears twice, first on line {line}", offset)
        seen[pointer] = offset
    raise AssertionError("called for a text without duplicate keys")
