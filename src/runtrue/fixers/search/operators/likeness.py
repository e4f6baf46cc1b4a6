"""Likeness: how much two names are alike, as slips of the pen go."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import lru_cache

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")


@lru_cache(maxsize=8192)
def likeness(one: str, other: str) -> float:
    """From 0 to 1: by letters, and by the words that names in `camelCase` or `snake_case` share."""
    letters = SequenceMatcher(None, one.lower(), other.lower(), autojunk=False).ratio()
    ours = {word.lower() for word in _WORD.findall(one)}
    theirs = {word.lower() for word in _WORD.findall(other)}
    shared = len(ours & theirs) / max(len(ours | theirs), 1)
    return max(letters, 0.4 + 0.6 * shared if shared else 0.0)


def by_likeness(name: str, others: Iterable[str]) -> list[tuple[str, float]]:
    """Other names with their likeness, the most alike first; else in the order they came."""
    found = [(other, likeness(name, other)) for other in others if other != name]
    return sorted(found, key=lambda pair: -pair[1])
