"""Vectors: static embeddings of common words, as small as they can be.

They are distilled by `scripts/vectors.py` from those of WordLlama, whose MIT licence is in
`vectors.LICENSE`; its rows stem from the input tables of language models. No model runs here.
"""

from __future__ import annotations

import math
from array import array
from functools import cache, lru_cache
from operator import mul
from pathlib import Path

from runtrue.fields.words import stem

_FILE = Path(__file__).with_name("vectors.bin")
#: Numbers a word, each a signed byte.
WIDTH = 96


@cache
def _table() -> tuple[dict[str, int], bytes]:
    words, _, numbers = _FILE.read_bytes().partition(b"\n\n")
    return {word: n for n, word in enumerate(words.decode().split("\n"))}, numbers


@lru_cache(maxsize=4096)
def _row(word: str) -> tuple[array[int], float] | None:
    rows, numbers = _table()
    at = rows.get(word)
    if at is None:
        return None
    row = array("b", numbers[at * WIDTH : (at + 1) * WIDTH])
    return row, math.sqrt(sum(map(mul, row, row)))


def cosine(one: str, other: str) -> float:
    """Return how alike two stemmed words are used in ordinary text; 0 if one is unknown."""
    first, second = _row(one), _row(other)
    if first is None or second is None:
        return 0.0
    product: int = sum(map(mul, first[0], second[0]))
    return product / (first[1] * second[1] or 1.0)


def is_word(word: str) -> bool:
    """True if the word is a common one."""
    return stem(word) in _table()[0]
