"""Entries: the list that a task speaks of, as it really came back, its fields and their values.

Words of a task are bound to what is there: a field by its name, a value by the field that holds it.
What fits several places equally well is ambiguous, and nothing is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any

from runtrue.fields import SURE, Ranked, rank_paths
from runtrue.planner.built_in.word_forms import agrees, is_akin, one_letter_apart, stem
from runtrue.planner.words import singular, split_name, word_set
from runtrue.workflow import Missing, Path, parse_path

#: How many entries are looked at, and how deep their objects.
_MOST_SEEN, _MOST_INNER, _DEEPEST = 500, 20, 3
#: Words of a name that add nothing to it.
_LIGHT = word_set("at on is has count num number total of the value")
#: What an object is called by.
_LABELS = (
    *("name", "title", "login", "label", "username", "code", "value"),
    *("fullName", "full_name", "displayName", "display_name"),
)
_DATE = re.compile(r"\d{4}-\d{2}(-\d{2}([T ].*)?)?|\d{4}/\d{2}/\d{2}")
#: Short forms of words for entries, and words for people.
_ALSO = {"repository": "repo", "repo": "repository", "organization": "org", "photo": "picture"}
#: Names of entries in two words, of which a path has only the first.
_COMPOUNDS = {"pull": "request", "merge": "request", "line": "item", "work": "item"}
_PERSONS = word_set("user member person customer client employee contact subscriber account")
#: Words of names that say what a value is measured in, or that it is a date.
_UNITS = word_set(
    "c f k celsius fahrenheit km kmh kph mph ms m kg g cm usd eur gbp utc pct percent "
    "second seconds sec minutes hours days bytes kb mb gb cents"
)
_OF_DATES = word_set("dat date tim time timestamp day")
#: Short forms in names of fields.
_SHORT_FORMS = {
    **dict.fromkeys(("no", "nr", "num", "nbr"), "number"),
    **{"qty": "quantity", "amt": "amount", "desc": "description", "addr": "addres"},
}
#: Last words of names that say little: what stands before them says of what.
_GENERIC_HEADS = word_set("id nam name number cod code typ type key url link valu value dat date")
_GENERIC_HEADS |= word_set("tim time statu status stat state")
#: What stands before "name" and leaves it the name of the entry.
_SORTS_OF_NAME = word_set("common full display official long complet")

#: Names and indexes, and _EVERY.
Steps = tuple[Any, ...]
#: The step `[*]`.
_EVERY = parse_path("$[*]").steps[0]


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
    #: The paths that a person set, by the words for them.
    chosen: Mapping[str, str] = field(default_factory=dict)
    #: Candidates of phrases that were in doubt, by phrase.
    doubts: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def columns(self) -> dict[Steps, list[Any]]:
        """The values of every field, by its steps."""
        found: dict[Steps, list[Any]] = {}
        rows = list(islice(self.rows, _MOST_SEEN))
        for row in rows:
            for steps, value in _fields(row, ()):
                found.setdefault(steps, []).append(value)
        for steps, values in tuple(found.items()):
            for inner in _inner_fields(steps, values):
                found[inner] = [_at(row, inner) for row in rows]
        return found

    @cached_property
    def names(self) -> frozenset[str]:
        """The paths of all fields."""
        return frozenset(map(_spell, self.columns))

    # -- fields --------------------------------------------------------------------------------

    def field(self, words: Sequence[str]) -> str | None:
        """Return the path of the field that words name, or None."""
        return self.named_field(words) or self._by_meaning(words)

    def amount(self, path: str) -> str:
        """Return where the number of a field is: in itself, or in `amount` and the like."""
        inner = (f"{path}.{name}" for name in ("amount", "value", "total", "average"))
        if self.numbers(path):
            return path
        return next((one for one in inner if self.numbers(one)), path)

    def number_near(self, word: str) -> str | None:
        """Return the one field of numbers whose name is like a participle: `discountPercent`."""
        near = [
            _spell(steps)
            for steps in self.columns
            if word.endswith(("ed", "ing")) and is_akin(word, str(steps[-1]))
        ]
        near = [path for path in near if self.numbers(path)]
        return near[0] if len(near) == 1 else None

    def named_field(self, words: Sequence[str]) -> str | None:
        """Return the path of the field that is called so, or None."""
        if (path := self.chosen.get("_".join(words))) is not None:
            return str(parse_path(path)) if self.leads(path) else None
        said = [stem(part) for word in words for part in word.strip("_").split("_")]
        costs = {
            steps: cost for steps in self.columns if (cost := self._cost(said, steps)) is not None
        }
        if not costs and said in (["dat"], ["date"]) and len(dates := self.dates()) == 1:
            return dates[0]
        if not costs:
            return self._by_spelling(words)
        least = min(costs.values())
        best = [steps for steps, cost in costs.items() if cost == least]
        if len(best) > 1 and not self._same_everywhere(best):
            self.doubts[" ".join(words)] = tuple(_spell(steps) for steps in best)
            return None
        return _spell(best[0])

    def _same_everywhere(self, fields: Sequence[Steps]) -> bool:
        """True if all entries have one and the same at several fields: then any of them will do."""
        first, *others = (self.columns[steps] for steps in fields)
        is_known = any(value is not None for value in first)
        return is_known and all(values == first for values in others)

    def _by_spelling(self, words: Sequence[str]) -> str | None:
        """Return the one field whose name differs by a single letter from a long word."""
        said = "".join(words).lower()
        near = [
            steps
            for steps in self.columns
            if len(steps) == 1 and one_letter_apart(said, "".join(split_name(str(steps[0]))))
        ]
        return _spell(near[0]) if len(near) == 1 else None

    def _cost(self, said: list[str], steps: Steps) -> float | None:
        names = [_stems(step) for step in _names(steps)]
        leaf, parents = names[-1], [word for step in names[:-1] for word in step]
        is_whole = "".join(said) in ("".join(leaf), stem("".join(split_name(str(steps[-1])))))
        said = [_SHORT_FORMS.get(word, word) for word in said]
        if said[1:] and said[-1] not in {*leaf, *parents} and self._agrees(said[-1], steps):
            said = said[:-1]  # "family name", where the field is `family` and holds texts.
        if not set(said) <= {*leaf, *parents} and not is_whole:
            return None
        extra = [word for word in leaf if word not in said and not self._is_light(word, steps)]
        if is_whole:
            extra = []
        depth = 0.1 * len(steps) + 0.5 * len([word for word in parents if word not in said])
        if extra and self._is_head([word for word in said if word not in parents], leaf, extra):
            depth, extra = depth + 0.8, []
        if not extra:
            value = next((v for v in self.columns[steps] if v is not None), None)
            light = 0.05 * len([word for word in leaf if word not in said])
            return depth + light + (1.5 if isinstance(value, Mapping) else 0.0)
        own = str(steps[-1])
        is_label = len(names) > 1 and own in _LABELS and set(said) == set(names[-2])
        return depth + 1.0 + 0.01 * _LABELS.index(own) if is_label else None

    def _is_light(self, word: str, steps: Steps) -> bool:
        """True for a word of a name that people leave out: `count`, a unit, `date` of a date."""
        dated = word in _OF_DATES and _are_dates(self.columns[steps])
        is_light = word in _LIGHT or word in _UNITS or dated or any(map(str.isdigit, word))
        # `albumTitle` is the title of an album.
        return is_light or any(stem(noun) == word for noun in self.nouns)

    def _agrees(self, word: str, steps: Steps) -> bool:
        """True if a word says no more than what kind of values a field holds."""
        path = _spell(steps)
        if word in ("nam", "name"):
            return self.texts(path)
        if word in _OF_DATES:
            return _are_dates(self.columns[steps])
        return word in ("number", "amount", "count") and self.numbers(path)

    def _is_head(self, said: list[str], leaf: list[str], extra: list[str]) -> bool:
        """True if words are the last ones of a name, which say what it is: `hourlyRate`."""
        own = [word for word in leaf if word not in _UNITS]
        if not said or own[-len(said) :] != said:
            return False
        is_name = said[-1] in ("nam", "name") and set(extra) <= _SORTS_OF_NAME
        return is_name or not set(said) <= _GENERIC_HEADS

    def _by_meaning(self, words: Sequence[str]) -> str | None:
        phrase = " ".join(words)
        if phrase in self.doubts or "_".join(words) in self.chosen:
            return None
        ranked = self.rank(phrase)
        if not ranked:
            return None
        if ranked[0].confidence >= SURE:
            return ranked[0].path
        self.doubts[phrase] = tuple(one.path for one in ranked[:3])
        return None

    def rank(self, phrase: str) -> list[Ranked]:
        """Rank the fields of an entry that a phrase may mean, the likeliest first."""
        if not all(isinstance(row, Mapping) for row in self.rows[:1]):
            return []
        rows = list(self.rows[:3])
        guess = "$[0]." + "_".join(re.findall(r"\w+", phrase))
        ranked = rank_paths(guess, f"{phrase} of each", self.url, rows) if rows else []
        inner = [(tuple(parse_path(one.path).steps[1:]), one) for one in ranked]
        if not inner or inner[0][0] not in self.columns:
            return []
        return [replace(one, path=_spell(s)) for s, one in inner if s in self.columns]

    def leads(self, path: str) -> bool:
        """True if an entry has something at a path."""
        steps = parse_path(path)
        return any(not isinstance(steps.find(row), Missing) for row in self.rows[:_MOST_SEEN])

    def values(self, path: str) -> list[Any]:
        """Return what the entries have at a path; `null` where it is missing."""
        found = (parse_path(path).find(row) for row in self.rows)
        return [None if isinstance(value, Missing) else value for value in found]

    def numbers(self, path: str) -> bool:
        """True if a field holds numbers, or texts that spell them."""
        return bool(values := self._present(path)) and all(_is_number(value) for value in values)

    def dates(self) -> list[str]:
        """Return the fields that hold dates."""
        return [_spell(steps) for steps, values in self.columns.items() if _are_dates(values)]

    def years(self) -> list[str]:
        """Return the fields that hold the number of a year."""
        return [
            _spell(steps)
            for steps, values in self.columns.items()
            if "year" in split_name(str(steps[-1]))
            and all(isinstance(v, int) for v in values if v is not None)
        ]

    def label(self) -> str | None:
        """Return the field that an entry is called by, if there is one."""
        single = [steps for steps in self.columns if len(steps) == 1]
        names = {"".join(split_name(str(steps[0]))): steps for steps in single}
        for name in (
            "name",
            "fullname",
            "title",
            "displayname",
            "login",
            "username",
            "subject",
            "summary",
            "label",
        ):
            if name in names and self.texts(_spell(names[name])):
                return _spell(names[name])
        # `plantName`, `albumTitle`
        heads = [s for s in single if split_name(str(s[0]))[-1:] in (("name",), ("title",))]
        heads = [s for s in heads if self.texts(_spell(s))]
        if len(heads) == 1:
            return _spell(heads[0])
        inner = [s for s in self.columns if len(s) == 2 and self._names_entry(str(s[0]))]
        named = [steps for steps in inner if steps[1] in ("name", "common", "title")]
        return _spell(named[0]) if len(named) == 1 else None

    def _names_entry(self, name: str) -> bool:
        return name in ("name", "metadata", "attributes", "properties") or self.is_noun(name)

    def tells_apart(self, path: str) -> bool:
        """True if a field holds another text in each entry."""
        values = self._present(path)
        texts = {value for value in values if isinstance(value, str)}
        return len(texts) == len(values) == len(self.rows)

    def lists(self, path: str) -> bool:
        """True if a field holds lists."""
        return any(isinstance(value, list) for value in self._present(path))

    def texts(self, path: str) -> bool:
        """True if a field holds texts."""
        return any(isinstance(value, str) for value in self._present(path))

    def _present(self, path: str) -> list[Any]:
        steps = tuple(parse_path(path).steps)
        return [value for value in self.columns.get(steps, ()) if value is not None]

    # -- values --------------------------------------------------------------------------------

    def flag(self, words: Sequence[str]) -> Held | None:
        """Return the condition that an adjective sets: a field that is true or false."""
        name = "".join(words)
        for steps, values in self.columns.items():
            present = [value for value in values if value is not None]
            if not present or not all(isinstance(value, bool) for value in present):
                continue
            own = [w for w in split_name(str(steps[-1])) if w not in ("is", "has", "are")]
            plain = "".join(own)
            if len(words) > 1 and plain.removesuffix("s") not in (name, name.removesuffix("s")):
                continue  # What is said beside "cancelled" is not said by it.
            if (meant := agrees(name, plain)) is not None:
                return Held(_spell(steps), "==", meant)
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
        if self._same_everywhere(order):
            return found[first]
        if _variety(self.columns[first]) * 2 <= _variety(self.columns[second]):
            return found[first]
        self.doubts[phrase] = tuple(map(_spell, order[:3]))
        return None

    def value_within(self, phrase: str, path: str) -> Held | None:
        """Return where a value is held at a path, or in what is there: `boards[0].name`."""
        if (held := self.value(phrase, path)) is not None:
            return held
        held = self.value(phrase)
        return held if held and held.path.startswith((f"{path}.", f"{path}[")) else None

    def absent(self, word: str) -> str | None:
        """Return the field that "unassigned" speaks of: some entries have `null` there."""
        near = [
            steps
            for steps, values in self.columns.items()
            if len(steps) == 1 and None in values and is_akin(word, str(steps[0]))
        ]
        return _spell(near[0]) if len(near) == 1 else None

    def value_near(self, phrase: str, word: str, also: frozenset[str]) -> Held | None:
        """Return where a value is held in the fields whose names are like a word, or `also`."""
        found = [
            held
            for steps, values in self.columns.items()
            if any(
                is_akin(word, name) or not also.isdisjoint(split_name(name))
                for name in _names(steps)
            )
            and (held := _held(_spell(steps), phrase, values))
        ]
        best = [
            held
            for held in found
            if self._same_everywhere([parse_path(h.path).steps for h in (held, *found)])
        ]
        return found[0] if len(found) == 1 or best else None

    def sole(self, conditions: Sequence[Held]) -> bool:
        """True if conditions say which one entry is meant, by what it equals."""
        if not conditions or any(held.operator != "==" for held in conditions):
            return False
        found = [
            row for row in self.rows if all(_value(row, h.path) == h.value for h in conditions)
        ]
        return len(found) == 1

    def is_noun(self, word: str) -> bool:
        """True if a word is one for an entry."""
        one = singular(word)
        if one in self.nouns or self._is_compound(word) or _ALSO.get(one) in self.nouns:
            return True
        return one in _PERSONS and bool(self.nouns & _PERSONS)

    def _is_compound(self, word: str) -> bool:
        """True for the second word of such as "pull requests", whose path is `/pulls`."""
        return any(_COMPOUNDS.get(noun) == singular(word) for noun in self.nouns)


def _fields(value: Any, steps: Steps) -> Iterator[tuple[Steps, Any]]:
    if not isinstance(value, Mapping):
        return
    for name, inner in value.items():
        here = (*steps, str(name))
        yield here, inner
        if len(here) < _DEEPEST:
            yield from _fields(inner, here)


def _inner_fields(steps: Steps, values: list[Any]) -> Iterator[Steps]:
    """Yield the fields of objects in a list: `$.labels[*].name`, `$.weather[0].main`."""
    lists = [value for value in values if isinstance(value, list)]
    seen = [one for value in lists for one in islice(value, _MOST_INNER) if isinstance(one, dict)]
    if not seen:
        return
    # A list that never has more than one entry is an object in disguise.
    is_single = all(len(value) <= 1 for value in lists)
    for name in dict.fromkeys(name for one in seen for name in one):
        yield (*steps, 0 if is_single else _EVERY, str(name))


def _at(row: Any, steps: Steps) -> Any:
    found = Path(steps).find(row)
    return None if isinstance(found, Missing) else found


def _stems(name: str) -> list[str]:
    return [_SHORT_FORMS.get(word, stem(word)) for word in split_name(name)]


def _names(steps: Steps) -> list[str]:
    return [step for step in steps if isinstance(step, str)]


def _value(row: Any, path: str) -> Any:
    return _at(row, parse_path(path).steps)


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
    plain = (re.sub(r"[\s_-]+", "", one), re.sub(r"[\s_-]+", "", other))
    # "open" is said of what is `opened`.
    return plain[0] == plain[1] or (len(other) > 3 and stem(plain[0]) == stem(plain[1]))


def _variety(values: Sequence[Any]) -> int:
    return len({repr(value) for value in values})


def _are_dates(values: Sequence[Any]) -> bool:
    present = [value for value in values if value is not None]
    return bool(present) and all(isinstance(v, str) and _DATE.match(v) for v in present)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float) or (
        isinstance(value, str) and re.fullmatch(r"[+-]?\d+(\.\d+)?", value.strip()) is not None
    )


def _spell(steps: Steps) -> str:
    return str(Path(steps))


def find_lists(
    value: Any, steps: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
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
