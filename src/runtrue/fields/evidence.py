"""Evidence: what speaks for and against a name or a place being the one that is looked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runtrue.fields.body import LONGEST_LABEL, VALUES, Spot, is_named, is_pair
from runtrue.fields.comparison import UNMET, WEIGHTY, Comparison, Hits, Name, TermGroup, joined
from runtrue.fields.query import WRAPPERS, Query
from runtrue.fields.shapes import Shape, ValueType, fit, shape_of
from runtrue.fields.thesaurus import likeness, terms_of
from runtrue.fields.words import stem

#: Numbers by name, most of them from 0 to 1; `rank.WEIGHTS` has the weight of each.
Evidence = dict[str, float]

#: Values that stand for what they are in by their looks, where such a value is asked for.
_CARRIES = {Shape.URL: 0.8, Shape.DATE: 0.7, Shape.EPOCH: 0.6}
#: A parent's name says less about a value than its own.
_FROM_PARENT = 0.85
#: What counts for the guess's other names where it has none.
_NO_PARENTS = 0.8
#: Types that a name has for certain when it says so.
_CERTAIN = {ValueType[name] for name in ("COUNT", "DATE", "FLAG", "URL", "ID", "EMAIL")}


def evidence_of_name(comparison: Comparison, own: Name, hits: Hits) -> Evidence:
    """Return the evidence about a name that has no value and no place."""
    leaf, _, head, _ = comparison.groups
    return {
        "same": float(_is_same(own)),
        "leaf": _harmonic(leaf.covered(hits[0]), own.by_leaf),
        "reach": leaf.covered(hits[0]),
        "by_any": own.by_any,
        "extra": own.extra,
        "head": head.covered(hits[2]),
        "headleaf": head.covered(own.hits[2]),
        "parents": _NO_PARENTS,
        "offtype": _off_type(comparison.query, own.types),
        "unmet": _unmet(leaf, hits[0]),
        "missed": comparison.missed(hits[0], hits[1]),
    }


def evidence_of_spots(query: Query, spots: Iterable[Spot]) -> list[tuple[Spot, Evidence]]:
    """Compare every place of a body with the query."""
    comparison = Comparison(query)
    every = list(spots)
    comparison.look_around(every)
    # What the guess goes through is not what it looks for, unless there is nothing within it.
    passed = {query.steps[:n] for n in range(len(query.steps))}
    return [
        (spot, _evidence_of_spot(query, comparison, spot))
        for spot in every
        if spot.steps not in passed or not isinstance(spot.value, (dict, list))
    ]


def _evidence_of_spot(query: Query, comparison: Comparison, spot: Spot) -> Evidence:
    leaf, parents, head, _ = comparison.groups
    names = [step for step in spot.steps if isinstance(step, str)]
    own = comparison.name(names[-1] if names else "")
    holder = spot.parent
    if not isinstance(spot.steps[-1], str) and holder is not None:
        holder = holder.parent
    above, strays, met_above = comparison.path(holder)
    hits = joined(own.hits, above, _FROM_PARENT)
    shape = shape_of(spot.value)
    fits = fit(query.wanted, shape)
    met = _met_by_shape(leaf, hits[0], shape)
    by_name = _harmonic(leaf.covered(_met_by_shape(leaf, own.hits[0], shape)), own.by_guess)
    carries = max(own.carries, _CARRIES.get(shape, 0.0) if fits > 0 else 0.0)
    carrier = carries * _stands_for(comparison, spot, names, met) if carries else 0.0
    alike = max(by_name, 0.92 * carrier)
    is_container = shape in (Shape.LIST, Shape.OBJECT)
    holder_met = _holder_met(leaf, parents, hits[1])
    # The user may just as well name one thing and ask for another.
    confirms = (
        alike > 0.6
        and holder_met > 0.7
        and strays < 0.5
        and (fits > 0 or shape in (Shape.WORD, Shape.TEXT))
    )
    wants_list = query.plural and not query.wanted & {ValueType.COUNT, ValueType.NUMBER}
    unlike = fit(query.guessed, shape) < 0 or (shape is Shape.CODE and _is_title(leaf))
    above_met = parents.covered(list(map(max, hits[1], comparison.about_parents)))
    is_one_text = isinstance(spot.value, str) and isinstance(spot.steps[-1], str)
    return {
        # Its name is the guess's last one, but for spelling, number, tense or abbreviation.
        "same": max(1.0 - strays, 0.0) if _is_same(own) else 0.0,
        # How much its name, or what it stands for, and the guess's last name are alike.
        "leaf": alike,
        # How far the guess's last name is met by the whole path and the value's shape.
        "reach": leaf.covered(met),
        # How far its name is met by anything that was said.
        "by_any": own.by_any,
        # How many words of its name nothing said comes near to.
        "extra": own.extra,
        # How far the path meets what the sentence asks for; then its own name alone.
        "head": head.covered(hits[2]),
        "headleaf": head.covered(own.hits[2]),
        # How far the path meets the guess's other names.
        "parents": above_met if parents.terms else _NO_PARENTS,
        # How many of the names above it are about something else.
        "stray": strays,
        # An object above has the same name nearer to the top.
        "shadowed": 1.0 - met_above if _is_shadowed(spot) else 0.0,
        # The value looks like what is asked for; like something else; … than the guess says.
        "fit": max(fits, 0.0),
        "misfit": max(-fits, 0.0),
        "unlike": float(unlike),
        # A flag or a date that nobody asked for.
        "odd": float(shape in _ODD and _ODD[shape] not in query.wanted),
        # Its name says that it is of another type.
        "offtype": _off_type(query, own.types),
        # The guess is the name, id, … of something, and the path is not about that.
        "unheld": 1.0 - holder_met,
        # It is an object or a list, and none is asked for.
        "container": float(is_container and not (shape is Shape.LIST and wants_list)),
        # Below 0 in another entry of a list than the one asked for.
        "entry": _entry_fit(query, spot),
        # How many lists are entered that neither guess nor sentence goes into.
        "entries": _extra_lists(query, spot),
        # It is for the API's own use.
        "housekeeping": float(own.housekeeping or _is_label(spot, names)),
        # It holds a value that the user named, times `leaf`.
        "named": alike if is_named(spot.value, query.named) and confirms else 0.0,
        "null": 1.0 if shape is Shape.NULL else 0.5 * (shape is Shape.EMPTY),
        # It is a link into the API itself.
        "machine": float(shape is Shape.URL and _is_machine_link(str(spot.value), query.host)),
        # It stands for what it is in, as `priority.name` for the priority, and that is alike.
        "carrier": carrier,
        # A short text that repeats what the sentence says.
        "echo": _echo(comparison, spot.value, shape),
        # How many words of the guess's last name nothing comes near to.
        "unmet": _unmet(leaf, met),
        # What the guess says to hold it is in the body, and this is not in there.
        "left": float(comparison.has_left(spot)),
        # How many words that both the guess and the sentence say nothing comes near to.
        "missed": comparison.missed(met, hits[1]),
        # The guess goes into a list, and the path into none.
        "unindexed": float(bool(query.indexes) and not any(isinstance(s, int) for s in spot.steps)),
        # The guess is a plural, and this is one text by itself.
        "unlisted": float(wants_list and is_one_text and shape is not Shape.DIGITS),
        # It is a type, a status, … of something, and none is asked for.
        "offaspect": float(own.off_aspect),
        # How much of the way that the guess goes and that is there it does not go.
        "outside": _outside(spot.steps, comparison.passed),
        # The guess goes through it, and there is nothing within it.
        "through": float(spot.steps == query.steps[: len(spot.steps)]),
    }


def _off_type(query: Query, types: frozenset[ValueType]) -> float:
    """Return 1.0 if a name says that it is of another type: a `version_count` is no version."""
    # `comments` may be a list of them or how many there are.
    certain = types & _CERTAIN - ({ValueType.COUNT} if query.plural else set())
    return float(bool(certain) and not certain & query.wanted)


def _is_same(own: Name) -> bool:
    return bool(own.hits[0]) and min(own.hits[0]) == 1.0 and own.by_leaf > 0.9


def _harmonic(one: float, other: float) -> float:
    return 2 * one * other / (one + other) if one + other else 0.0


def _unmet(leaf: TermGroup, hits: Sequence[float]) -> float:
    pairs = zip(hits, leaf.weights, strict=True)
    return float(sum(hit < UNMET for hit, weight in pairs if weight >= WEIGHTY))


def _is_label(spot: Spot, names: Sequence[str]) -> bool:
    """True if a text only repeats what it is in, or labels the value beside it."""
    if not isinstance(spot.value, str) or spot.parent is None or len(spot.value) > LONGEST_LABEL:
        return False
    if spot.value == spot.parent.label and names and names[-1].lower() not in VALUES:
        return is_pair(spot.parent.value)
    return len(names) > 1 and terms_of(spot.value)[0] == terms_of(names[-2])[0]


def _outside(steps: Sequence[str | int], passed: Sequence[str | int]) -> float:
    shared = 0
    for one, other in zip(steps, passed, strict=False):
        if one != other:
            break
        shared += 1
    return 1.0 - shared / len(passed) if passed else 0.0


_TITLES = {stem("name"), stem("title")}


def _is_title(leaf: TermGroup) -> bool:
    """True if the guess ends with a word for what people, not machines, call something."""
    return bool(leaf.terms) and leaf.terms[-1] in _TITLES


def _stands_for(
    comparison: Comparison, spot: Spot, names: Sequence[str], met: Sequence[float]
) -> float:
    """Return how alike the guess's last name and what the place is in are, by name or label."""
    leaf = comparison.groups[0]
    label = spot.parent.label if spot.parent is not None else None
    best = 0.0
    for text in (names[-2] if len(names) > 1 else None, label):
        if text is not None and text != spot.value and text.lower() not in WRAPPERS:
            holder = comparison.name(text)
            hits = [max(a, b) for a, b in zip(holder.hits[0], met, strict=True)]
            best = max(best, _harmonic(leaf.covered(hits), holder.by_leaf))
    return best


_SHAPE_OF_TERM: dict[str, set[Shape]] = {
    stem(word): shapes
    for words, shapes in {
        "count total quantity": {Shape.WHOLE, Shape.YEAR, Shape.DIGITS},
        "at date time timestamp": {Shape.DATE, Shape.EPOCH, Shape.YEAR},
        "is has can": {Shape.FLAG},
        "url link": {Shape.URL},
        "text name title": {Shape.WORD, Shape.TEXT},
        "id": {Shape.WHOLE, Shape.CODE, Shape.DIGITS},
        "email": {Shape.EMAIL},
    }.items()
    for word in words.split()
}


def _met_by_shape(group: TermGroup, hits: Sequence[float], shape: Shape) -> list[float]:
    """Count a word such as `count` or `url` as met by a value that looks like one."""
    return [
        max(hit, 0.8) if shape in _SHAPE_OF_TERM.get(term, ()) else hit
        for term, hit in zip(group.terms, hits, strict=True)
    ]


#: Values that nobody wants who did not ask for them.
_ODD = {Shape.FLAG: ValueType.FLAG, Shape.DATE: ValueType.DATE}


def _holder_met(leaf: TermGroup, parents: TermGroup, hits: Sequence[float]) -> float:
    """Return how far what has the name is met, where the guess ends with a word like `name`."""
    if not parents.terms or max(leaf.weights, default=0.0) >= WEIGHTY:
        return 1.0
    return hits[-1]


def _is_shadowed(spot: Spot) -> bool:
    above = spot.parent.parent if spot.parent is not None else None
    while above is not None:
        if isinstance(above.value, dict) and spot.steps[-1] in above.value:
            return True
        above = above.parent
    return False


def _entry_fit(query: Query, spot: Spot) -> float:
    if spot.is_named is not None and not any(query.indexes):
        return 0.5 if spot.is_named else -0.5
    missed = {index for index in query.indexes if index}
    wrong = 0
    here: Spot | None = spot
    while here is not None and here.steps:
        index = here.steps[-1]
        if isinstance(index, int):
            values = here.parent.value if here.parent is not None else None
            length = len(values) if isinstance(values, list) else 0
            asked = {index, index - length}.intersection(query.indexes)
            wrong += bool(index) and not asked
            missed -= asked
        here = here.parent
    labelled = spot.parent is not None and spot.parent.label is not None
    return -wrong * (0.5 if labelled else 1.0) - 3.0 * len(missed)


def _extra_lists(query: Query, spot: Spot) -> float:
    indexes = sum(isinstance(step, int) for step in spot.steps)
    asked = len(query.indexes)
    if query.plural and isinstance(spot.steps[-1], int):
        indexes += 1
    more = max(0, indexes - max(asked, int(query.one_of)))
    return min(more, 1) + 0.4 * max(more - 1, 0)


def _is_machine_link(value: str, host: str) -> bool:
    return bool(host) and value[:200].lower().partition("://")[2].startswith(host + "/")


def _echo(comparison: Comparison, value: object, shape: Shape) -> float:
    """Return how far a short text repeats the sentence: `visa` of "was it visa or …"."""
    if not isinstance(value, str) or shape not in (Shape.WORD, Shape.TEXT) or len(value) > 30:
        return 0.0
    terms = terms_of(value)[0]
    said = (*comparison.groups[2].terms, *comparison.groups[3].terms)
    if not terms or len(terms) > 3 or not said:
        return 0.0
    return sum(max(likeness(t, s) for s in said) >= 0.75 for t in terms) / len(terms)
