"""Words for messages about what people wrote."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that was probably meant."""
    return next(iter(difflib.get_close_matches(word, list(known), n=1)), None)


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)`, or nothing if no known word is close."""
    close = closest(word, known)
    return f" (did you mean {close!r}?)" if close is not None else ""


def unknown_key(key: str, known: Iterable[str]) -> str:
    """Return the message for a key that nothing reads."""
    known = list(known)
    return f"unknown key{suggestion(key, known)}; known here: {', '.join(known)}"


def is_one_edit(word: str, other: str) -> bool:
    """Return whether inserting, deleting, replacing or swapping letters once gives `other`."""
    pairs = enumerate(zip(word, other, strict=False))
    start = next((n for n, (a, b) in pairs if a != b), min(len(word), len(other)))
    a, b = word[start:], other[start:]
    swapped = a[:2] == b[:2][::-1] and a[2:] == b[2:]
    return word != other and (a[1:] == b[1:] or a[1:] == b or a == b[1:] or swapped)


def lower_first(text: str) -> str:
    """Return a sentence so that it can follow a colon."""
    return text[:1].lower() + text[1:]
