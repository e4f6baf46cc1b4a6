"""Words: how a complaint about what people wrote is put."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggestion(word: str, known: Iterable[str]) -> str:
    """What a message says of the word that was probably meant, if there is one."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def is_one_edit(word: str, other: str) -> bool:
    """Whether one letter more, less or other, or two that are swapped, make a word another."""
    pairs = enumerate(zip(word, other, strict=False))
    start = next((n for n, (a, b) in pairs if a != b), min(len(word), len(other)))
    a, b = word[start:], other[start:]
    swapped = a[:2] == b[:2][::-1] and a[2:] == b[2:]
    return word != other and (a[1:] == b[1:] or a[1:] == b or a == b[1:] or swapped)


def lower_first(text: str) -> str:
    """A sentence as what follows a colon."""
    return text[:1].lower() + text[1:]


def printable(text: str) -> str:
    """A text in which nothing moves the cursor or ends the line."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
