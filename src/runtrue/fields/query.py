"""Query: what is looked for, read out of a guessed path, a sentence and the request's URL."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import unquote_plus

from runtrue.fields.shapes import ValueType
from runtrue.fields.thesaurus import is_resource, likeness, terms_of
from runtrue.fields.words import stem, word_set, words_of

_T = TypeVar("_T")

#: Of a longer guess, sentence or URL only the beginning is read.
LONGEST = 2_000
#: Names of wrappers: they say nothing about what is in them.
WRAPPERS = word_set(
    """
    data result results response responses items item values value records record list entries
    entry content contents payload body attributes attribute properties property fields field node
    nodes edges hits matches docs documents objects object collection embedded _embedded output
    rows row children elements element page pages paging meta info details detail main envelope
    _source features resource resources
    """
)
_STEP = re.compile(r"\[\s*(-?\d{1,9})\s*\]|\[\s*(['\"])(.*?)\2\s*\]|([^.\[\]]+)|.", re.DOTALL)

#: Words of a sentence that say nothing about what is looked for.
_STOP = word_set(
    """
    a an the this that these those it its it's i me my mine we us our you your he she they them
    their his her is are was were be been being am do does did done has have had having will would
    shall should can could may might must of in on at to from for by with into onto upon about as
    and or but not no yes if then than so what which who whose whom when where why how there here
    get give show tell find fetch look open read list return display want need please let any
    extract retrieve grab obtain
    some all each every just now still yet already ever even very too also only again right really
    one ones thing things s t re ve ll d exactly actually currently many much often long far called
    belong belongs go goes went come comes take takes took place say says said like whether
    whoever someone somebody anyone anything something most best top newest latest recent
    """
)


def _stemmed(lines: dict[str, _T]) -> dict[str, _T]:
    """Key a table by stem, out of one that has several words a line."""
    return {stem(word): value for line, value in lines.items() for word in line.split()}


#: Words that say the type of a value rather than which value it is, with what they count for.
_LIGHT = _stemmed(
    {
        "is has at on the of in to for s was are as a an": 0.12,
        "url link value information data detail string raw": 0.35,
        "percent millisecond second minute hour byte unit iso usd eur meter kilometer mile": 0.35,
        "count number total date time timestamp text by sum": 0.45,
        "result record element row hit match page node": 0.5,
        "first last latest newest current recent new old set": 0.4,
        "id name title type code key field object status state full main list item entry": 0.6,
    }
)
_WANTED_BY_TERM = _stemmed(
    {
        "count quantity": ValueType.COUNT,
        "price cost amount fee balance score rating percent temperature humidity pressure speed "
        "distance weight height width latitude longitude altitude elevation age duration size "
        "length volume rank position tax discount total sum average maximum minimum remaining "
        "limit level probability minute hour second population depth magnitude capacity salary "
        "point revenue budget profit fare": ValueType.NUMBER,
        "date timestamp at deadline birthdate birthday expiry expires due sunrise sunset day since "
        "year month time": ValueType.DATE,
        "is has can should was are enabled allow": ValueType.FLAG,
        "url link website homepage webpage permalink avatar picture photo image logo thumbnail "
        "icon blog poster cover": ValueType.URL,
        "email": ValueType.EMAIL,
        "phone telephone mobile fax": ValueType.PHONE,
        "by author creator owner assignee sender recipient reporter": ValueType.PERSON,
        "id uuid identifier sha hash": ValueType.ID,
        "name title description text message summary body content status state type city country "
        "address language kind category street company username login handle note comment reason "
        "currency": ValueType.TEXT,
    }
)
#: "the number of guests" is a count, "the flight number of the booking" is not.
_NUMBER_OF = re.compile(r"(?:(?<=\bthe )|(?<=total )|(?<=^)|(?<=and )|(?<=get ))[Nn]umber of\b")
_OPENINGS = tuple(
    (re.compile(pattern), ValueType[name])
    for name, pattern in (
        ("COUNT", rf"\bhow many\b|{_NUMBER_OF.pattern}|\bhow often\b|\bcount of\b"),
        ("NUMBER", r"\bhow (?!many|often|do|does|did|is|was|are|were|can)\w+"),
        ("DATE", r"\bwhen\b|\bwhat (date|day|time)\b|\b(date|day|time) (of|the|when|on)\b"),
        ("DATE", r"\bsince when\b|\buntil when\b|\bby when\b|\bwhich (day|date|month|year)\b"),
        ("FLAG", r"^\W*(and )?(is|are|was|were|did|does|do|has|have|had|can|may|must|should)\b"),
        ("FLAG", r"^\W*(and )?will\b|\bwhether\b"),
        ("PERSON", r"\bwho\b|\bwhose\b|\bwhom\b|\bwhoever\b|\bwhich (person|user|member)\b"),
        ("URL", r"\b(link|url|web ?page|website|homepage)\b"),
        ("EMAIL", r"\be-?mail\b"),
        ("PHONE", r"\b(phone|telephone)\b"),
        ("ID", r"\bid (of|that)\b|\bidentifier\b"),
        ("TEXT", r"\bname\b|\btitle\b|\btext\b|\bdescri\w+\b|\bwhat kind\b|\bwhich\b"),
    )
)
_COUNTS = {stem(word) for word in ("count", "total", "number")}
#: Words that make a date of what is before them.
_DATES = {stem(word) for word in ("date", "at", "on", "timestamp", "time", "day", "deadline")}
#: "how warm" may be answered by a number or a word.
_HOW = re.compile(r"\bhow (?!many|much|often|long|far|do|does|did|is|was|are|were|can)\w+")
_ONE_OF = re.compile(
    r"\b(first|second|third|1st|2nd|3rd|latest|newest|most recent|top|best|oldest)\b|"
    # "the last two weeks" are a time, and no entry.
    r"\b(last|next)\b(?! (\d+|two|three|four|five|six|seven|few)\b)"
    r"(?! (minute|hour|day|week|month|year)s?\b)"
)
_BREAK = re.compile(r"\b(?:of|in|for|on|from|that|which|who|where|with|to|by|before|after|the)\b")


@dataclass(frozen=True, slots=True)
class Term:
    """One word, or phrase, of a query, with how much it counts."""

    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class Query:
    """A value that is looked for.

    `leaf` is the last name of the guess and `parents` those before it, `head` what the sentence
    asks for and `rest` what it says besides; `place` is what the URL is about.
    """

    steps: tuple[str | int, ...]
    leaf: tuple[Term, ...]
    parents: tuple[Term, ...]
    head: tuple[Term, ...]
    rest: tuple[Term, ...]
    place: tuple[Term, ...]
    named: frozenset[str]
    wanted: frozenset[ValueType]
    #: The types of value that the guess itself speaks of.
    guessed: frozenset[ValueType]
    indexes: tuple[int, ...]
    #: The guess ends with a plural: a whole list may be meant.
    plural: bool
    #: The sentence speaks of one entry among others: the first, the newest.
    one_of: bool
    host: str


def weigh(term: str) -> float:
    """Return how much a term says about which value is meant."""
    return _LIGHT.get(term, 0.05 if term.isdigit() or len(term) == 1 else 1.0)


def read_query(guess: str, intent: str, url: str) -> Query:
    """Read what is looked for; no text is refused."""
    guess, intent, url = guess[:LONGEST], intent[:LONGEST], url[:LONGEST]
    steps = _steps(guess)
    names = [step for step in steps if isinstance(step, str)]
    leaf = _counted_last(_terms(names[-1:]))
    place, named = _read_url(url)
    head, rest, said = _read_intent(intent, named, leaf)
    return Query(
        steps=steps,
        leaf=leaf,
        parents=_terms(name for name in names[:-1] if name.lower() not in WRAPPERS),
        head=head,
        rest=rest,
        place=place,
        named=frozenset(said | _distinctive(url)),
        wanted=_wanted(leaf, intent),
        guessed=_guessed(leaf),
        indexes=tuple(step for step in steps if isinstance(step, int)),
        plural=bool(steps) and isinstance(steps[-1], str) and _is_plural(steps[-1]),
        one_of=bool(_ONE_OF.search(intent.lower())),
        host=url.partition("://")[2].partition("/")[0].lower(),
    )


def _steps(guess: str) -> tuple[str | int, ...]:
    steps: list[str | int] = []
    for match in _STEP.finditer(guess.strip().removeprefix("$")):
        index, _, quoted, bare = match.groups()
        if index is not None:
            steps.append(int(index))
        elif quoted or (bare and bare.strip()):
            steps.append(quoted or bare.strip())
    return tuple(steps[:50])


def _is_plural(name: str) -> bool:
    word = (words_of(name) or [""])[-1]
    return word.endswith("s") and not word.endswith(("ss", "us", "is")) and stem(word) != word


def _terms(texts: Iterable[str]) -> tuple[Term, ...]:
    return tuple(Term(term, weigh(term)) for text in texts for term in terms_of(text)[0])


def _counted_last(leaf: tuple[Term, ...]) -> tuple[Term, ...]:
    """`total_views` is what `view_count` is."""
    if len(leaf) > 1 and leaf[0].text in _COUNTS and leaf[-1].weight > leaf[0].weight:
        return (*leaf[1:], leaf[0])
    return leaf


def _read_url(url: str) -> tuple[tuple[Term, ...], set[str]]:
    """Return what the path of a URL speaks of, and the values in it."""
    _, _, after = url.partition("://")
    path, _, query = after.partition("?")
    segments = path.split("/")[1:][-6:]
    values = [part.partition("=")[2] for part in query.split("&")[:20]]
    words = [s for s in segments if s.isascii() and re.fullmatch(r"[A-Za-z][A-Za-z_.-]{2,}", s)]
    words = [s for s in words if _is_plural(s)][-1:] or words[-1:]
    named = {text.lower() for text in (*segments, *values) if text}
    named |= {word for text in (*segments, *values) for word in words_of(text)}
    return _terms(words), named


def _distinctive(url: str) -> set[str]:
    """Return the values in a URL that one would know again: the last segment, the query."""
    path, _, query = url.partition("://")[2].partition("?")
    found = [*path.split("/")[1:][-1:], *(part.partition("=")[2] for part in query.split("&")[:20])]
    texts = {unquote_plus(text).lower() for text in found}
    return {text for text in texts if len(text) > 2 and not is_resource(text)}


def _read_intent(
    intent: str, named: set[str], leaf: tuple[Term, ...]
) -> tuple[tuple[Term, ...], tuple[Term, ...], set[str]]:
    """Return the words asked for, those said besides, and the values that the sentence names."""
    text = _NUMBER_OF.sub("count of", intent.replace("’", "'"))
    said: set[str] = set()
    words: list[str] = []
    for n, word in enumerate(text.split()):
        plain = word.strip('.,;:!?"()').removesuffix("'s")
        proper = n > 0 and plain[:1].isupper() and not plain.isupper()
        is_value = any(c.isdigit() for c in plain) or "/" in plain or (proper and "-" in plain)
        if is_value or (proper and plain.lower() in named) or _is_value(plain, named):
            said.add(plain.lower())
            said.update(plain.lower().split("/"))
        else:
            words.append(word)
    lowered = " ".join(words).lower()
    pieces = [piece for piece in _BREAK.split(lowered) if _content(piece)]
    own = re.match(r"(.*?\w)'s\b(.*)", lowered)
    if own and _content(own[1]) and _content(own[2]):
        pieces = [own[2], own[1]]
    first, others = _asked_for(pieces[0], leaf) if pieces else ("", [])
    rest = [term for piece in (*others, *pieces[1:]) for term in _content(piece)]
    return _weighed(_content(first)), _weighed(rest), said


def _asked_for(piece: str, leaf: tuple[Term, ...]) -> tuple[str, list[str]]:
    """Return, of "username and biography", the one that the guess looks for, and the others."""
    parts = [part for part in re.split(r",|\band\b", piece) if _content(part)]
    if len(parts) < 2:
        return piece, []
    near = [
        max((likeness(t.text, w) * t.weight for t in leaf for w in _content(part)), default=0.0)
        for part in parts
    ]
    if max(near) < 0.6:
        return piece, []
    at = near.index(max(near))
    return parts[at], [*parts[:at], *parts[at + 1 :]]


def _is_value(word: str, named: set[str]) -> bool:
    """True if a word of the sentence is a value in the URL rather than a word for a resource."""
    lowered = word.lower()
    return lowered in named and lowered not in _STOP and not is_resource(lowered)


def _content(piece: str) -> list[str]:
    plain = re.sub(r"\b(first|second|third|last)\b(?! name)", " ", piece)
    words = [word for word in words_of(plain) if word not in _STOP]
    return list(terms_of(" ".join(words))[0])


def _weighed(terms: list[str]) -> tuple[Term, ...]:
    return tuple(Term(term, weigh(term)) for term in dict.fromkeys(terms))


def types_of(terms: Iterable[str]) -> frozenset[ValueType]:
    """Return the types of value that a name speaks of."""
    return frozenset(_WANTED_BY_TERM[term] for term in terms if term in _WANTED_BY_TERM)


def _guessed(leaf: tuple[Term, ...]) -> frozenset[ValueType]:
    """Return the types of value that the guess speaks of: of a `due_amount` the amount."""
    types = types_of(term.text for term in leaf)
    if {ValueType.DATE, ValueType.NUMBER} <= types and leaf[-1].text not in _DATES:
        return types - {ValueType.DATE}
    return types


def _wanted(leaf: tuple[Term, ...], intent: str) -> frozenset[ValueType]:
    wanted = set(_guessed(leaf))
    lowered = intent.lower()
    wanted |= {type_ for pattern, type_ in _OPENINGS if pattern.search(lowered)}
    if ValueType.FLAG in wanted and " or " in lowered:
        return frozenset((*wanted, ValueType.TEXT))
    if _HOW.search(lowered) and ValueType.NUMBER not in types_of(term.text for term in leaf):
        return frozenset((*wanted, ValueType.TEXT))
    if wanted & {
        ValueType.COUNT,
        ValueType.NUMBER,
        ValueType.DATE,
        ValueType.FLAG,
        ValueType.URL,
        ValueType.EMAIL,
    }:
        wanted.discard(ValueType.TEXT)
    return frozenset(wanted)
