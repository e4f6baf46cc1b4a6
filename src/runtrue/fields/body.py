"""Body: the places within JSON data, a bounded number of them, the shallow ones first."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from runtrue.fields.query import Query
from runtrue.fields.thesaurus import likeness, terms_of

#: No more places than this are looked at, none deeper, and of one object no more names.
MOST_SPOTS, DEEPEST, MOST_NAMES = 3_000, 30, 1_000
#: A longer name is somebody's text used as a key, and no name to look for.
LONGEST_NAME = 200
#: In a list, how many entries are searched for one that holds a value the user named, and how
#: many for a name that the entries before do not have.
SEARCHED, COMPARED = 50, 5
#: A longer text is not what an entry of a list calls itself.
LONGEST_LABEL = 40
#: An object of more names is more than a value with a label.
MOST_LABELLED = 20
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


@dataclass(frozen=True, slots=True)
class Spot:
    """One place: its steps, what is there, and the object or list it is in."""

    steps: tuple[str | int, ...]
    value: object
    parent: Spot | None
    #: The list that it is in, or one above it, has an entry that holds what the user named, and
    #: this is it (True) or is not (False); None where no list has one.
    is_named: bool | None = None
    #: What an entry of a list calls itself: of `{"name": "color", "value": "red"}`, `color`.
    label: str | None = None


def spots(body: object, query: Query) -> Iterator[Spot]:
    """Yield every place that may be meant; in lists, the entries that the query is about."""
    todo = deque([Spot((), body, None)])
    room = MOST_SPOTS
    while todo and room:
        spot = todo.popleft()
        if spot.steps:
            room -= 1
            yield spot
        if len(spot.steps) >= DEEPEST or len(todo) > room:
            continue
        if isinstance(spot.value, dict):
            for name, value in islice(spot.value.items(), MOST_NAMES):
                if isinstance(name, str) and len(name) <= LONGEST_NAME:
                    label = _label(value, query, in_list=False)
                    todo.append(Spot((*spot.steps, name), value, spot, spot.is_named, label))
        elif isinstance(spot.value, list):
            todo.extend(_entries(spot, spot.value, query))


def _entries(spot: Spot, values: list[object], query: Query) -> Iterator[Spot]:
    named = _named_entry(values, query)
    wanted = {0} if named is None else {named, 0}
    wanted |= {index for index in query.indexes if -len(values) <= index < len(values)}
    labels = {n: _label(v, query, in_list=True) for n, v in enumerate(values[:SEARCHED])}
    wanted |= {n for n, label in labels.items() if label and _is_asked(label, query)}
    for index in sorted({index % len(values) for index in wanted}) if values else ():
        is_named = spot.is_named if named is None else index == named
        yield Spot((*spot.steps, index), values[index], spot, is_named, labels.get(index))
    # Entries may differ: what only a later one has is also there.
    seen: set[str] = set()
    for index, value in enumerate(values[:COMPARED]):
        if not isinstance(value, dict):
            break
        names = [n for n in islice(value, MOST_NAMES) if isinstance(n, str)]
        if index not in wanted:
            entry = Spot((*spot.steps, index), value, spot, spot.is_named, labels.get(index))
            for name in (n for n in names if n not in seen and len(n) <= LONGEST_NAME):
                yield Spot((*entry.steps, name), value[name], entry, spot.is_named)
        seen.update(names)


#: Under these an object says what it is, and under those what its value is.
_LABELS = (
    *("name", "key", "label", "field", "types", "type", "code", "id", "job", "role", "title"),
    *("source", "system", "size", "kind", "use", "rel", "variable", "attribute", "parameter"),
    *("property", "metric", "measure", "question", "header", "display_name", "displayname"),
)
VALUES = ("value", "values", "content", "text", "#text", "long_name", "amount")


def is_pair(value: object) -> bool:
    """True if an object is a value with a label, and no more than that."""
    return (
        isinstance(value, dict)
        and len(value) <= 6
        and any(isinstance(name, str) and name.lower() in VALUES for name in value)
    )


def _label(value: object, query: Query, *, in_list: bool) -> str | None:
    """Return what an object calls itself, preferably as the guess calls it."""
    labels = _labels(value, in_list=in_list)
    asked = (label for label in labels if _is_asked(label, query))
    return next(asked, labels[0] if labels else None)


def _labels(value: object, *, in_list: bool) -> list[str]:
    """Return all that an object calls itself; outside of a list, it must have a value, too."""
    if not isinstance(value, dict) or len(value) > MOST_LABELLED:
        return []
    lowered = {name.lower(): name for name in value if isinstance(name, str)}
    if not in_list and not any(name in lowered for name in VALUES):
        return []
    labels: list[str] = []
    for name in _LABELS:
        text = value[lowered[name]] if name in lowered else None
        texts = text[:3] if isinstance(text, list) else (text,)
        labels += [t for t in texts if isinstance(t, str) and 1 < len(t) <= LONGEST_LABEL]
    return labels


def _is_asked(label: str, query: Query) -> bool:
    """True if the guess ends with what an entry calls itself."""
    terms = terms_of(label)[0]
    asked = [term.text for term in query.leaf if term.weight >= 0.6]
    near = [max([likeness(term, one) for one in terms], default=0.0) for term in asked]
    if not near or len(terms) > 4 or min(near) < 0.75:
        return False
    # A `street_number` is not the street.
    return max(likeness(terms[-1], term) for term in asked) >= 0.75


def _named_entry(values: list[object], query: Query) -> int | None:
    """Return the index of the one entry that holds or calls itself what the user named."""
    if len(values) < 2:
        return None
    found = [n for n, one in enumerate(values[:SEARCHED]) if holds(one, query.named)]
    if not found and not query.indexes:
        asked = {t.text for t in (*query.leaf, *query.head, *query.rest) if t.weight > 0.9}
        labels = [_labels(one, in_list=True) for one in values[:SEARCHED]]
        found = [
            n
            for n, texts in enumerate(labels)
            if any(asked.intersection(terms_of(text)[0][-1:]) for text in texts)
        ]
    return found[0] if len(found) == 1 else None


def holds(value: object, named: frozenset[str]) -> bool:
    """True if the user named a value, or one right within it."""
    inner = islice(value.values(), MOST_NAMES) if isinstance(value, dict) else (value,)
    return any(is_named(one, named) for one in inner)


def is_named(value: object, named: frozenset[str]) -> bool:
    """True if the user named a value."""
    if isinstance(value, str):
        return 1 < len(value) <= LONGEST_NAME and value.lower() in named
    return isinstance(value, int) and not isinstance(value, bool) and _digits(value) in named


def _digits(value: int) -> str:
    return str(value) if abs(value) < 1 << 64 else ""


def spell(steps: tuple[str | int, ...]) -> str:
    """Spell the path of these steps, as in `$.a[0]['c d']`."""
    return "$" + "".join(_spell_step(step) for step in steps)


def _spell_step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if _BARE.match(step):
        return f".{step}"
    return "['" + "".join(map(_escaped, step)) + "']"


def _escaped(char: str) -> str:
    if char in "'\\":
        return "\\" + char
    code = ord(char)
    # Half of a surrogate pair has no escape sequence; it stands for itself.
    if char.isprintable() or 0xD800 <= code <= 0xDFFF:
        return char
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
