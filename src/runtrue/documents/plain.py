"""Plain data: what JSON can hold, within limits."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, TypeAlias

#: The way to a value inside of plain data, from the outside in.
Pointer: TypeAlias = tuple[str | int, ...]

#: The largest file that is read.
MAX_BYTES = 10_000_000
#: Deeper nesting would exhaust the stack of something further on.
MAX_DEPTH = 100

#: Up to here Python reads and writes an integer whatever its settings are.
_MAX_DIGITS = 640
_MAX_BITS = 2048

_SURROGATE = re.compile("[\ud800-\udfff]")


class Misread(Exception):
    """A text is not a document; `offset` is the character at fault, where that is known."""

    def __init__(self, problem: str, offset: int | None = None) -> None:
        self.problem = problem
        self.offset = offset
        super().__init__(problem)


@dataclass(frozen=True, slots=True)
class NotPlain:
    """A value that plain data cannot hold, and why."""

    pointer: Pointer
    problem: str

    def __str__(self) -> str:
        pointer = "".join(f"/{part}" for part in self.pointer)
        return f"the value at {pointer!r} {self.problem}" if pointer else f"it {self.problem}"


def find_flaw(data: object) -> NotPlain | None:
    """Return the first value that is not plain, or None."""
    left: list[tuple[Pointer, Any]] = [((), data)]
    while left:
        pointer, value = left.pop()
        if len(pointer) > MAX_DEPTH:
            return NotPlain(pointer, f"is nested more than {MAX_DEPTH} levels deep")
        if problem := _problem(value):
            return NotPlain(pointer, problem)
        if isinstance(value, dict):
            left.extend(((*pointer, key), value[key]) for key in reversed(value))
        elif isinstance(value, list):
            last = len(value) - 1
            left.extend(((*pointer, last - n), item) for n, item in enumerate(reversed(value)))
    return None


def read_int(text: str) -> int | float:
    """Return the integer written in a text; one that is too long is infinite."""
    if len(text) > _MAX_DIGITS:
        return math.inf
    return int(text, 0) if text[:2] in {"0o", "0x"} else int(text)


def _problem(value: object) -> str | None:
    # Exact types: something that merely behaves like text comes back as another thing.
    exact = type(value)
    if exact is str:
        return _text_problem(value)  # type: ignore[arg-type]
    if isinstance(value, dict):
        return _keys_problem(value)
    if isinstance(value, int) and abs(value).bit_length() > _MAX_BITS:
        return "is too large a number for JSON"
    if isinstance(value, float) and not math.isfinite(value):
        return "is not a number that JSON can hold"
    if exact in {bool, int, float, list, type(None)}:
        return None
    return f"is of the type {exact.__name__}, which JSON cannot hold"


def _text_problem(text: str) -> str | None:
    return (
        "contains half of a surrogate pair, which is not valid text"
        if _SURROGATE.search(text)
        else None
    )


def _keys_problem(members: dict[object, object]) -> str | None:
    for key in members:
        if type(key) is not str:
            return f"has the key {key!r}, which is not text"
        if _SURROGATE.search(key):
            return "has a key with half of a surrogate pair, which is not valid text"
    return None
