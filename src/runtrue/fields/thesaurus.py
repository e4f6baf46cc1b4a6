"""Thesaurus: how near two words are in meaning, and which of them exclude each other."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

from runtrue.fields.vectors import cosine, is_word
from runtrue.fields.words import root, stem, words_of

#: A phrase within a name: (begin, end, phrase).
Span = tuple[int, int, str]

_FILE = Path(__file__).with_name("thesaurus.txt")
#: The likeness of two words by how they are related, from 0 for unlike to 1 for the same word.
SAME_FAMILY, SAME_MEANING, RELATED, SHORTENED, MISSPELT = 0.9, 0.78, 0.6, 0.75, 0.75
#: A cosine below the first says nothing; the second is what a cosine of 1 would be worth.
COSINE_FROM, COSINE_WORTH = 0.15, 0.75


@dataclass(frozen=True, slots=True)
class Thesaurus:
    """The lines of the file by word; phrases are joined by `_`."""

    short: dict[str, str] = field(default_factory=dict)
    same: dict[str, set[int]] = field(default_factory=dict)
    related: dict[str, set[int]] = field(default_factory=dict)
    excluded: dict[str, set[int]] = field(default_factory=dict)
    phrases: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)


@cache
def thesaurus() -> Thesaurus:
    """Return the thesaurus of the package, read when it is first needed."""
    found = Thesaurus()
    lines = [line.split() for line in _FILE.read_text("utf-8").splitlines() if line.strip()]
    lines = [line for line in lines if not line[0].startswith("#")]
    for word, sign, *rest in lines:
        if sign == ":":
            found.short[word] = rest[0]
    for number, (sign, *words) in enumerate(lines):
        group = {"=": found.same, "~": found.related, "!": found.excluded}.get(sign)
        if group is None:
            continue
        for word in words:
            found.words.update(word.split("_"))
            term = _term(found, word)
            group.setdefault(term, set()).add(number)
            if "_" in term:
                found.phrases.add(term)
    return found


def _term(known: Thesaurus, word: str) -> str:
    """Return a word, or a phrase joined by `_`, in the form in which all are compared."""
    if word not in known.short and word.endswith("s") and word[:-1] in known.short:
        word = word[:-1]
    if word in known.short:
        return "_".join(map(stem, known.short[word].split("_")))
    return "_".join(stem(known.short.get(part, part)) for part in word.split("_"))


@lru_cache(maxsize=16384)
def terms_of(text: str) -> tuple[tuple[str, ...], tuple[Span, ...]]:
    """Return the terms of a name, and the phrases in it as (begin, end, phrase)."""
    known = thesaurus()
    terms: list[str] = []
    words = _counted(_spanned(words_of(text)))
    at = 0
    while at < len(words):
        pair = "_".join(words[at : at + 2])
        if "_" in pair and pair in known.short:
            terms += _term(known, pair).split("_")
            at += 2
            continue
        for word in _parts(words[at]):
            terms += _term(known, word).split("_")
        at += 1
    return tuple(terms), spans_of(terms)


_SPANS = {("24", "h"): "day", ("24", "hr"): "day", ("1", "d"): "day", ("7", "d"): "week"}
_SPANS |= {("30", "d"): "month", ("1", "y"): "year", ("52", "week"): "year", ("52", "w"): "year"}


def _spanned(words: list[str]) -> list[str]:
    """Name the first span of time: `low_24h` is of the day."""
    for at in range(len(words) - 1):
        span = _SPANS.get((words[at], words[at + 1]))
        if span is not None:
            return [*words[:at], span, *words[at + 2 :]]
    return words


_NUMBERS = frozenset(("num", "number", "no", "nr", "nbr", "n"))


def _counted(words: list[str]) -> list[str]:
    """Say `count` for a `number` that begins a name or is "of" something."""

    def counts(at: int) -> bool:
        return words[at] in _NUMBERS and (at == 0 or words[at + 1] == "of")

    return ["count" if counts(at) else word for at, word in enumerate(words[:-1])] + words[-1:]


def spans_of(terms: Sequence[str]) -> tuple[Span, ...]:
    """Return the phrases among some terms, as (begin, end, phrase)."""
    phrases = thesaurus().phrases
    spans = []
    for begin in range(len(terms) - 1):
        for end in (begin + 2, begin + 3):
            phrase = "_".join(terms[begin:end])
            if end <= len(terms) and phrase in phrases:
                spans.append((begin, end, phrase))
    return tuple(spans)


@lru_cache(maxsize=4096)
def _parts(word: str) -> tuple[str, ...]:
    """Split an unknown word into known ones: `dealname` is `deal` and `name`."""
    if len(word) < 7 or not word.isascii() or _is_known(word):
        return (word,)
    cuts = [at for at in range(3, len(word) - 2) if _is_known(word[at:])]
    for at in cuts:
        if _is_known(word[:at]):
            return word[:at], word[at:]
    for at in cuts:
        before = _parts(word[:at])
        if len(before) > 1:
            return *before, word[at:]
    return (word,)


def is_resource(word: str) -> bool:
    """True if the thesaurus has the word: it means a thing and is not somebody's name."""
    return stem(word) in thesaurus().same


@lru_cache(maxsize=1024)
def kindred(term: str) -> frozenset[str]:
    """Return the terms that share a line with one, and so mean or may mean the same."""
    known = thesaurus()
    found: set[str] = set()
    for group in (known.same, known.related):
        lines = group.get(term, _NONE)
        if lines:
            found.update(other for other, others in group.items() if lines & others)
    return frozenset(found)


def _is_known(word: str) -> bool:
    known = thesaurus()
    return word in known.short or word in known.words or stem(word) in known.same or is_word(word)


def likeness(one: str, other: str) -> float:
    """Return how near two terms are, from 0 to 1."""
    if one == other:
        return 1.0
    return _likeness(one, other) if one < other else _likeness(other, one)


@lru_cache(maxsize=65536)
def _likeness(one: str, other: str) -> float:
    known = thesaurus()
    if known.same.get(one, _NONE) & known.same.get(other, _NONE):
        return SAME_MEANING
    if known.excluded.get(one, _NONE) & known.excluded.get(other, _NONE):
        return 0.0
    if root(one) == root(other):
        return SAME_FAMILY
    if "_" in one or "_" in other:
        joined = one.replace("_", "") == other.replace("_", "")
        return 1.0 if joined else 0.0
    best = 0.0
    if known.related.get(one, _NONE) & known.related.get(other, _NONE):
        best = RELATED
    short, long = sorted((one, other), key=len)
    if len(short) >= 3 and len(long) >= 5 and long.startswith(short):
        best = max(best, SHORTENED if len(short) >= 4 else RELATED)
    elif len(short) >= 5 and short[0] == long[0] and _misspelt(short, long):
        best = max(best, MISSPELT)
    near = (cosine(one, other) - COSINE_FROM) / (1 - COSINE_FROM)
    return max(best, COSINE_WORTH * near)


_NONE: frozenset[int] = frozenset()


def _misspelt(short: str, long: str) -> bool:
    if len(long) - len(short) > 2:
        return False
    return difflib.SequenceMatcher(None, short, long).ratio() >= 0.85
