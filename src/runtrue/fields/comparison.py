"""Comparison: how far the names of a body say what a query says, each compared only once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

from runtrue.fields.body import Spot
from runtrue.fields.query import WRAPPERS, Query, Term, types_of, weigh
from runtrue.fields.shapes import ValueType
from runtrue.fields.thesaurus import Span, likeness, spans_of, terms_of
from runtrue.fields.words import stem, word_set

#: Names that stand for what they are in, as `priority.name` for the priority: the type of their
#: values, and how well they do.
_CARRIERS = {
    name: (type_, worth)
    for type_, worth, names in (
        (ValueType.TEXT, 1.0, "name displayname display_name login username full_name real_name"),
        (ValueType.TEXT, 1.0, "value"),
        (ValueType.TEXT, 0.9, "text title label summary rendered display plain_text long_name"),
        (ValueType.TEXT, 0.9, "formatted"),
        (ValueType.TEXT, 0.8, "description body content plain"),
        (ValueType.TEXT, 0.7, "main original html raw #text _text"),
        (ValueType.URL, 1.0, "url src href uri link html_url"),
        (ValueType.DATE, 1.0, "datetime date date_time timestamp"),
        (ValueType.DATE, 0.8, "local utc iso at on"),
        (ValueType.NUMBER, 1.0, "amount total all average current"),
        (ValueType.NUMBER, 0.8, "usd eur gbp metric imperial celsius fahrenheit kilometers meters"),
        (ValueType.NUMBER, 0.8, "seconds minutes hours value_usd"),
        (ValueType.COUNT, 1.0, "count quantity"),
        (ValueType.ID, 1.0, "id key code slug identifier uuid"),
        (ValueType.EMAIL, 1.0, "email emailaddress email_address"),
    )
    for name in names.split()
}
#: The types of carriers that answer a query of another type, and how well.
_STANDS_IN: dict[tuple[ValueType, ValueType], float] = {
    (ValueType.PERSON, ValueType.TEXT): 1.0,
    (ValueType.COUNT, ValueType.NUMBER): 1.0,
    (ValueType.NUMBER, ValueType.COUNT): 0.5,
    (ValueType.PERSON, ValueType.EMAIL): 0.7,
    (ValueType.TEXT, ValueType.ID): 0.6,
    (ValueType.PERSON, ValueType.ID): 0.5,
    (ValueType.NUMBER, ValueType.TEXT): 0.6,
    (ValueType.COUNT, ValueType.TEXT): 0.5,
    (ValueType.FLAG, ValueType.TEXT): 0.6,
    (ValueType.ID, ValueType.TEXT): 0.6,
}
#: Names that an API adds for its own use.
_HOUSEKEEPING = word_set(
    """
    node_id etag ok self object kind gravatar_id request_id resource_type api_version type_id
    """
)
#: Names that many things have.
_GENERIC = {stem(word) for word in word_set("description text body content summary message note")}
#: Words for one aspect of a thing: what has such a name is not the thing.
_ASPECTS = {stem(word) for word in ("type", "status", "state", "category", "key", "code")}
#: Beyond the first, names that are about something else count less: bodies may just be deep.
_DEEPER = 0.4
#: Below this likeness a term has not been met at all.
UNMET = 0.4
#: What the URL is about says less about one value in the response than a name there.
_ABOUT = 0.8
#: From this weight on a term says which value is meant.
WEIGHTY = 0.9


@dataclass(frozen=True, slots=True)
class TermGroup:
    """The terms of one part of a query."""

    terms: tuple[str, ...]
    weights: tuple[float, ...]
    spans: tuple[Span, ...]
    units: tuple[str, ...]
    total: float

    @classmethod
    def of(cls, terms: Sequence[Term], *, is_name: bool = False) -> TermGroup:
        """Group these terms; in a name the last word counts most."""
        texts = tuple(term.text for term in terms)
        spans = spans_of(texts)
        weights = [term.weight for term in terms]
        if is_name:
            weights = _stress_last(weights)
        units = (*texts, *(span[2] for span in spans))
        return cls(texts, tuple(weights), spans, units, sum(weights))

    def covered(self, hits: Sequence[float]) -> float:
        """Return how far all of it is met, from 0 to 1."""
        return sum(map(mul, self.weights, hits)) / self.total if self.total else 0.0


def _stress_last(weights: list[float]) -> list[float]:
    """Weigh most the last weighty word of a name: an `author_association` is no author."""
    for at in range(len(weights) - 1, -1, -1):
        if weights[at] >= WEIGHTY:
            return [*weights[:at], 1.7 * weights[at], *weights[at + 1 :]]
    return weights


@dataclass(frozen=True, slots=True)
class Name:
    """One name of the body, compared with the query."""

    hits: tuple[tuple[float, ...], ...]  # of each group, how far each term is met
    by_leaf: float  # how far its own terms are met by the guess's last name
    by_any: float  # … by anything said
    by_any_as_holder: float  # … where an `issuetype` is a type, and no issue
    off_aspect: bool  # it is a type, a status, … of something, and none is asked for
    extra: float  # how many weighty terms of it nothing said comes near to
    is_wrapper: bool
    carries: float  # how well it stands for what it is in
    housekeeping: bool
    types: frozenset[ValueType]
    by_guess: float  # how far its own terms are met by any name of the guess


#: Types that the first word of a name says, too: `is_open`, `idList`, `num_media`, `date_sent`.
_BY_FIRST = {ValueType.FLAG, ValueType.ID, ValueType.COUNT, ValueType.DATE, ValueType.URL}

Hits = tuple[tuple[float, ...], ...]
_Path = tuple[Hits, float, float]
_Steps = tuple[str | int, ...]


class Comparison:
    """A query, with all that was already compared with it."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.groups = (
            TermGroup.of(query.leaf, is_name=True),
            TermGroup.of(query.parents),
            TermGroup.of(query.head),
            TermGroup.of(query.rest),
        )
        leaf = self.groups[0]
        self.is_generic = all(
            weight < WEIGHTY or term in _GENERIC
            for term, weight in zip(leaf.terms, leaf.weights, strict=True)
        )
        place = tuple(term.text for term in query.place)
        # Names often begin with that of the provider: it says nothing more.
        provider = tuple(term for part in query.host.split(".") for term in terms_of(part)[0])
        self.said = (*(unit for group in self.groups for unit in group.units), *place, *provider)
        # What has a name is not named by the word "name".
        own = self.groups[0].units if self.is_generic else ()
        self._said_of_holders = tuple(unit for unit in self.said if unit not in own)
        self._says_type = stem("type") in (*self.groups[0].terms, *self.groups[2].terms)
        holders = [step for step in query.steps[:-1] if isinstance(step, str)]
        holders = [name for name in holders if name.lower() not in WRAPPERS]
        self._holder = terms_of(holders[-1])[0] if holders else ()
        self._has_holder = False
        self.passed: tuple[str | int, ...] = ()
        self._names: dict[str, Name] = {}
        self._paths: dict[_Steps, _Path] = {}
        # What the request was about is what the whole body is about.
        about = [tuple(_met(group.terms, group.spans, place)) for group in self.groups]
        about[0] = tuple([_ABOUT * hit for hit in about[0][:-1]] + [0.0] * bool(about[0]))
        self._top: _Path = (tuple(about), 0.0, 0.0)
        intent = (*self.groups[2].terms, *self.groups[3].terms)
        self._agreed = [
            weight >= WEIGHTY
            and near < _ABOUT
            and any(likeness(term, word) > 0.7 for word in intent)
            for group, nears in zip(self.groups[:2], about[:2], strict=True)
            for term, weight, near in zip(group.terms, group.weights, nears, strict=True)
        ]
        self.about_parents = about[1]

    def look_around(self, spots: Sequence[Spot]) -> None:
        """Find out how far the guess leads, and whether what holds the value is elsewhere."""
        way = self.query.steps[:-1]
        ways = {way[:n] for n in range(len(way) + 1)}
        self.passed = max((s.steps for s in spots if s.steps in ways), key=len, default=())
        if self._holder:
            self._has_holder = any(
                isinstance(spot.value, (dict, list))
                and spot.steps not in ways
                and isinstance(spot.steps[-1], str)
                and terms_of(spot.steps[-1])[0] == self._holder
                for spot in spots
            )

    def has_left(self, spot: Spot) -> bool:
        """True if a place is not in what the guess says to hold it, though the body has that."""
        return self._has_holder and not any(
            isinstance(step, str) and terms_of(step)[0] == self._holder for step in spot.steps[:-1]
        )

    def missed(self, leaf: Sequence[float], parents: Sequence[float]) -> float:
        """Count the words that both guess and sentence say and that are not met."""
        hits = zip((*leaf, *parents), self._agreed, strict=True)
        return float(sum(agreed and hit < UNMET for hit, agreed in hits))

    def name(self, text: str) -> Name:
        """Return one name of the body, compared once."""
        if text not in self._names:
            self._names[text] = self._compare(text)
        return self._names[text]

    def _compare(self, text: str) -> Name:
        terms, spans = terms_of(text)
        units = (*terms, *(span[2] for span in spans))
        hits = tuple(tuple(_met(group.terms, group.spans, units)) for group in self.groups)
        weights = _stress_last([weigh(term) for term in terms])
        total = sum(weights) or 1.0
        aspects = [*weights[:-1], 1.7] if terms and terms[-1] in _ASPECTS else weights
        by_any = _met(terms, spans, self.said)
        holder = _met(terms, spans, self._said_of_holders) if self.is_generic else by_any
        guessed = (*self.groups[0].units, *self.groups[1].units)
        asked = (*self.groups[0].units, *self.groups[2].units)
        lowered = text.lower()
        return Name(
            hits=hits,
            by_leaf=sum(map(mul, weights, _met(terms, spans, self.groups[0].units))) / total,
            by_any=sum(map(mul, weights, by_any)) / total,
            by_any_as_holder=sum(map(mul, aspects, holder)) / (sum(aspects) or 1.0),
            off_aspect=bool(terms)
            and len(terms) > 1
            and terms[-1] in _ASPECTS
            and max([likeness(terms[-1], unit) for unit in asked], default=0.0) < 0.6,
            extra=float(
                sum(w >= WEIGHTY and t < UNMET for w, t in zip(weights, by_any, strict=True))
            ),
            is_wrapper=lowered in WRAPPERS,
            carries=self._carries(lowered),
            housekeeping=lowered in _HOUSEKEEPING or (lowered == "type" and not self._says_type),
            types=types_of(terms[-1:]) | types_of(terms[:1]) & _BY_FIRST,
            by_guess=sum(map(mul, weights, _met(terms, spans, guessed))) / total,
        )

    def _carries(self, name: str) -> float:
        if name not in _CARRIERS:
            return 0.0
        type_, worth = _CARRIERS[name]
        wanted = self.query.wanted
        if not wanted:
            return worth * (1.0 if type_ is ValueType.TEXT else 0.6)
        fits = [1.0 if one is type_ else _STANDS_IN.get((one, type_), 0.0) for one in wanted]
        return worth * max(fits)

    def path(self, spot: Spot | None) -> _Path:
        """Return how far the names down to a place meet the query, and how many are about else.

        The last number is how far any of them is in the guess.
        """
        if spot is None or not spot.steps:
            return self._top
        found = self._paths.get(spot.steps)
        if found is None:
            hits, strays, met = self.path(spot.parent)
            last = spot.steps[-1]
            if isinstance(last, str):
                name = self.name(last)
                hits = joined(name.hits, hits, 0.9)
                if not name.is_wrapper:
                    strays += (1.0 - name.by_any_as_holder) * (1.0 if strays < 1.0 else _DEEPER)
                    met = max(met, name.by_guess)
            if spot.label is not None:
                hits = joined(self.name(spot.label).hits, hits, 0.95)
            found = self._paths[spot.steps] = hits, strays, met
        return found


def _met(terms: Sequence[str], spans: Sequence[Span], units: Sequence[str]) -> list[float]:
    """Return how far each of the terms is met by the nearest of the units."""
    met = [max([likeness(term, unit) for unit in units], default=0.0) for term in terms]
    for begin, end, phrase in spans:
        near = max([likeness(phrase, unit) for unit in units], default=0.0)
        for at in range(begin, end):
            met[at] = max(met[at], near)
    return met


def joined(own: Hits, above: Hits, share: float) -> Hits:
    """Return the better of what a name meets and a share of what the names above it meet."""
    return tuple(
        tuple([a if a > share * b else share * b for a, b in zip(x, y, strict=True)])
        for x, y in zip(own, above, strict=True)
    )
