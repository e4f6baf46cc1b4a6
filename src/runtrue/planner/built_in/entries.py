"""Entries: the list that a task speaks of, as it really came back, its fields and their values.

Words of a task are bound to what is there: a field by its name, a value by the field that holds it.
What fits several places equally well is ambiguous, and nothing is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

from runtrue.fields import SURE, rank_paths
from runtrue.planner.words import singular, split_name, word_set
from runtrue.workflow import Path, parse_path

#: How many entries are looked at, and how deep their objects.
_MOST_SEEN, _DEEPEST = 500, 3
#: Words of a name that add nothing to it.
_LIGHT = word_set("at on is has count num number total of the value")
#: What an object is called by.
_LABELS = ("name", "title", "login", "label", "username", "code", "value")
_DATE = re.compile(r"\d{4}-\d{2}(-\d{2}([T ].*)?)?|\d{4}/\d{2}/\d{2}")
_NEGATIONS = ("un", "in", "non", "not", "dis")

Steps = tuple[str, ...]


class Unclear(Exception):
    """Words fit nothing, or several things equally well; the message says which."""


@dataclass(frozen=True, slots=True)
class Held:
    """Where a value is: the field, how it is compared there, and the value as it is spelled."""

    path: str
    operator: str
    value: Any


@dataclass
class EntryTable:
    """The entries of a list, or the one object that there is."""

    rows: Sequence[Any]
    task: str = ""
    url: str = ""
    #: The words that a task may call an entry by, in the singular.
    nouns: frozenset[str] = frozenset()
    #: Candidates of phrases that were in doubt, by phrase.
    doubts: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def columns(self) -> dict[Steps, list[Any]]:
        """The values of every field, by its steps."""
        found: dict[Steps, list[Any]] = {}
        for row in islice(self.rows, _MOST_SEEN):
            for steps, value in _fields(row, ()):
                found.setdefault(steps, []).append(value)
        return found

    # -- fields --------------------------------------------------------------------------------

    def field(self, words: Sequence[str]) -> str | None:
        """Return the path of the field that words name, or None."""
        return self.named_field(words) or self._by_meaning(words)

    def named_field(self, words: Sequence[str]) -> str | None:
        """Return the path of the field that is called so, or None."""
        said = [_stem(word) for word in words]
        costs = {
            steps: cost for steps in self.columns if (cost := self._cost(said, steps)) is not None
        }
        if not costs:
            return None
        least = min(costs.values())
        best = [steps for steps, cost in costs.items() if cost == least]
        if len(best) > 1:
            self.doubts[" ".join(words)] = tuple(_spell(steps) for steps in best)
            return None
        return _spell(best[0])

    def _cost(self, said: list[str], steps: Steps) -> float | None:
        names = [[_stem(word) for word in split_name(step)] for step in steps]
        leaf, parents = names[-1], [word for step in names[:-1] for word in step]
        if not set(said) <= {*leaf, *parents} and "".join(said) != "".join(leaf):
            return None
        extra = [word for word in leaf if word not in said and word not in _LIGHT]
        if "".join(said) == "".join(leaf):
            extra = []
        depth = 0.1 * len(steps) + 0.5 * len([word for word in parents if word not in said])
        if not extra:
            value = next((v for v in self.columns[steps] if v is not None), None)
            light = 0.05 * len([word for word in leaf if word not in said])
            return depth + light + (1.5 if isinstance(value, Mapping) else 0.0)
        is_label = len(names) > 1 and steps[-1] in _LABELS and set(said) == set(names[-2])
        return depth + 1.0 + 0.01 * _LABELS.index(steps[-1]) if is_label else None

    def _by_meaning(self, words: Sequence[str]) -> str | None:
        phrase = " ".join(words)
        if phrase in self.doubts or not all(isinstance(row, Mapping) for row in self.rows[:1]):
            return None
        rows = list(self.rows[:3])
        guess = "$[0]." + "_".join(re.findall(r"\w+", phrase))
        ranked = rank_paths(guess, f"{phrase} of each", self.url, rows) if rows else []
        steps = [parse_path(one.path).steps for one in ranked]
        inner = [tuple(map(str, one[1:])) for one in steps]
        if not ranked or not inner[0] or inner[0] not in self.columns:
            return None
        if ranked[0].confidence >= SURE:
            return _spell(inner[0])
        self.doubts[phrase] = tuple(_spell(one) for one in inner[:3] if one in self.columns)
        return None

    def numbers(self, path: str) -> bool:
        """True if a field holds numbers, or texts that spell them."""
        return bool(values := self._present(path)) and all(_is_number(value) for value in values)

    def dates(self) -> list[str]:
        """Return the fields that hold dates."""
        return [
            _spell(steps)
            for steps, values in self.columns.items()
            if (present := [v for v in values if v is not None])
            and all(isinstance(v, str) and _DATE.match(v) for v in present)
        ]

    def texts(self, path: str) -> bool:
        """True if a field holds texts."""
        return any(isinstance(value, str) for value in self._present(path))

    def _present(self, path: str) -> list[Any]:
        steps = tuple(map(str, parse_path(path).steps))
        return [value for value in self.columns.get(steps, ()) if value is not None]

    # -- values --------------------------------------------------------------------------------

    def flag(self, words: Sequence[str]) -> Held | None:
        """Return the condition that an adjective sets: a field that is true or false."""
        name = "".join(words)
        for steps, values in self.columns.items():
            present = [value for value in values if value is not None]
            if not present or not all(isinstance(value, bool) for value in present):
                continue
            own = [w for w in split_name(steps[-1]) if w not in ("is", "has", "are")]
            plain = "".join(own)
            if _alike(name, plain):
                return Held(_spell(steps), "==", True)
            if any(_alike(name, f"{prefix}{plain}") for prefix in _NEGATIONS):
                return Held(_spell(steps), "==", False)
        return None

    def value(self, phrase: str, path: str | None = None) -> Held | None:
        """Return where a value is held, in one field or in any; None if that is not clear."""
        found: dict[Steps, Held] = {}
        for steps, values in self.columns.items():
            if path is not None and _spell(steps) != path:
                continue
            held = _held(_spell(steps), phrase, values)
            if held is not None:
                found[steps] = held
        if len(found) <= 1:
            return next(iter(found.values()), None)
        # A field with few values is an enumeration; one that differs everywhere is a name.
        order = sorted(found, key=lambda steps: (_variety(self.columns[steps]), len(steps)))
        first, second = order[:2]
        if _variety(self.columns[first]) * 2 <= _variety(self.columns[second]):
            return found[first]
        self.doubts[phrase] = tuple(map(_spell, order[:3]))
        return None

    def is_noun(self, word: str) -> bool:
        """True if a word is one for an entry."""
        return singular(word) in self.nouns


def _fields(value: Any, steps: Steps) -> Iterator[tuple[Steps, Any]]:
    if not isinstance(value, Mapping):
        return
    for name, inner in value.items():
        here = (*steps, str(name))
        yield here, inner
        if len(here) < _DEEPEST:
            yield from _fields(inner, here)


def _held(path: str, phrase: str, values: Iterable[Any]) -> Held | None:
    texts = dict.fromkeys(v for v in values if isinstance(v, str) and _same_text(v, phrase))
    if texts:
        spelled = list(texts)
        return Held(path, "==", spelled[0]) if len(spelled) == 1 else Held(path, "in", spelled)
    for value in values:
        for one in value if isinstance(value, list) else ():
            if isinstance(one, str) and _same_text(one, phrase):
                return Held(path, "contains", one)
    return None


def _same_text(value: str, phrase: str) -> bool:
    one, other = value.casefold().strip(), phrase.casefold().strip()
    if one == other:
        return True
    plain = (re.sub(r"[\s_-]+", " ", one), re.sub(r"[\s_-]+", " ", other))
    return plain[0] == plain[1] or (len(other) > 3 and singular(plain[0]) == singular(plain[1]))


def _variety(values: Sequence[Any]) -> int:
    return len({repr(value) for value in values})


def _alike(one: str, other: str) -> bool:
    return _stem(one) == _stem(other) and len(one) > 2


def _stem(word: str) -> str:
    """Return a word without the ending of a plural or a participle."""
    word = singular(word.lower())
    for ending in ("ing", "ed", "d"):
        if len(word) > len(ending) + 3 and word.endswith(ending) and ending != "d":
            word = word.removesuffix(ending)
            break
    return word.removesuffix("e") if len(word) > 3 else word


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float) or (
        isinstance(value, str) and re.fullmatch(r"[+-]?\d+(\.\d+)?", value.strip()) is not None
    )


def _spell(steps: Iterable[str]) -> str:
    return str(Path(tuple(steps)))


def find_lists(value: Any, steps: Steps = ()) -> Iterator[tuple[Steps, list[Any]]]:
    """Yield the lists of objects in a value, the outer ones first."""
    if isinstance(value, list):
        yield steps, value
    elif isinstance(value, Mapping) and len(steps) < _DEEPEST:
        for name, inner in value.items():
            if isinstance(inner, list):
                yield (*steps, str(name)), inner
        for name, inner in value.items():
            if isinstance(inner, Mapping):
                yield from find_lists(inner, (*steps, str(name)))
