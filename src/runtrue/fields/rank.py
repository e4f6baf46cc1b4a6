"""Rank: what a missed path or a wrong name may have meant, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import islice

from runtrue.fields.body import LONGEST_NAME, spell, spots
from runtrue.fields.comparison import Comparison, joined
from runtrue.fields.evidence import Evidence, evidence_of_name, evidence_of_spots
from runtrue.fields.query import Query, read_query
from runtrue.fields.thesaurus import kindred, terms_of
from runtrue.fields.words import LONGEST_TEXT

#: From this confidence on runtrue acts on its own: with whole APIs held out, one question in
#: fifty is then answered wrongly.
SURE = 0.87

#: The weight of each entry of the evidence: a conditional logit model, fitted on questions about
#: the responses of some eighty APIs, also with parts of the thesaurus removed. On an API that it
#: was not fitted on it does about a point worse. Only `named` is set by hand: the examples of
#: documentation seldom hold what a user names.
WEIGHTS = {
    **{"same": 1.6, "leaf": 1.73, "reach": 3.18, "by_any": 0.79, "extra": -0.65},
    **{"head": 1.95, "headleaf": -0.53, "parents": 2.12, "stray": -1.22, "shadowed": -1.57},
    **{"fit": 0.61, "misfit": -1.16, "unlike": -0.86, "odd": -2.96, "offtype": -2.61},
    **{"unheld": -3.77, "container": -5.6, "entry": 2.09, "entries": -0.81},
    **{"housekeeping": -3.49, "named": 1.5, "null": -1.05, "machine": -2.5, "carrier": 2.55},
    **{"echo": 1.24, "unmet": -0.27, "left": -3.41, "missed": -1.25, "unindexed": -3.95},
    **{"unlisted": -1.2, "offaspect": -1.33, "outside": -2.85, "through": 1.53},
}
#: What "it is not there" scores.
_ABSENT = 3.46
#: How sure an answer is: a constant, and what the root of its lead over the next other, its score
#: beyond _ABSENT and each of its doubts add.
_CONSTANT, _LEAD, _SCORE, _DOUBT = -1.07, 1.07, 0.38, -1.01
_LARGEST_LEAD = 5.0

#: What a description says counts less than the name itself.
_DESCRIBED = 0.7
#: At most this many names are read, and at most this many of them compared.
_MOST_SEEN, _MOST_COMPARED = 2_000, 30
#: Names that begin alike may be misspelt or shortened.
_BEGINNING = 3

_Steps = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A path that may be meant, the confidence in it from 0 to 1, and the value there."""

    path: str
    confidence: float
    value: object


def rank_paths(guess: str, intent: str, url: str, body: object, *, limit: int = 5) -> list[Ranked]:
    """Rank the paths in `body` that a missed `guess` may have meant, the likeliest first.

    `intent` is what the user asked for, in words, and `url` the request that `body` answered.
    Act on the first one only when its confidence is at least SURE.
    """
    query = read_query(guess, intent, url)
    found = evidence_of_spots(query, spots(body, query))
    steps = [spot.steps for spot, _ in found]
    return [
        Ranked(spell(found[n][0].steps), confidence, found[n][0].value)
        for n, confidence in _ranking(steps, [evidence for _, evidence in found], limit)
    ]


def rank_names(guess: str, intent: str, names: Mapping[str, str]) -> list[Ranked]:
    """Rank `names`, such as the arguments of a tool, that a wrong `guess` may have meant.

    Each comes with its description, which may be empty and is the `value` of what is returned;
    `path` is the name.
    """
    # The name as one quoted step: a dot in it is no path.
    query = read_query("$['" + guess.replace("'", " ") + "']", intent, "")
    comparison = Comparison(query)
    likely = _likely(query, names)
    found = []
    for name in likely:
        own = comparison.name(name[:LONGEST_NAME])
        described = comparison.name(names[name][:LONGEST_TEXT])
        hits = joined(own.hits, described.hits, _DESCRIBED)
        found.append(evidence_of_name(comparison, own, hits))
    return [
        Ranked(likely[n], confidence, names[likely[n]])
        for n, confidence in _ranking([(name,) for name in likely], found, len(likely))
    ]


def _likely(query: Query, names: Mapping[str, str]) -> list[str]:
    """Return, of many names, those that share a word, a meaning or a beginning with the query."""
    if len(names) <= _MOST_COMPARED:
        return list(names)
    guessed = {term.text for term in query.leaf}
    meant = frozenset().union(*map(kindred, guessed))
    heard = {term.text for term in (*query.head, *query.rest)}
    beginnings = {term[:_BEGINNING] for term in guessed}

    def rank(name: str) -> int:
        terms = terms_of(name[:LONGEST_NAME])[0]
        return (
            8 * (not guessed.isdisjoint(terms))
            + 4 * (not meant.isdisjoint(terms))
            + 2 * any(term[:_BEGINNING] in beginnings for term in terms)
            + (not heard.isdisjoint(terms))
        )

    return nlargest(_MOST_COMPARED, islice(names, _MOST_SEEN), key=rank)


def _ranking(
    paths: Sequence[_Steps], found: Sequence[Evidence], limit: int
) -> list[tuple[int, float]]:
    """Return the indexes of the best answers, the likeliest first, with their confidences.

    What is within an answer, or around it, does not count as another one.
    """
    scores = [sum(WEIGHTS[name] * value for name, value in one.items()) for one in found]
    order = sorted(range(len(found)), key=lambda n: -scores[n])
    if not order:
        return []
    first = order[0]
    top = scores[first]
    others = (scores[n] for n in order if not _kin(paths[n], paths[first]))
    lead = min(top - next(others, top - _LARGEST_LEAD), _LARGEST_LEAD)
    best = found[first]
    doubt = best["missed"] + best.get("left", 0.0) + best["offtype"]
    # Of a list that nobody asked for an entry of, why this one?
    doubt += best.get("entries", 0.0)
    x = _CONSTANT + _LEAD * math.sqrt(lead) + _SCORE * (top - _ABSENT) + _DOUBT * doubt
    confidence = 1 / (1 + math.exp(-max(-50.0, min(50.0, x))))
    return [(n, confidence * math.exp(scores[n] - top)) for n in order[:limit]]


def _kin(one: _Steps, other: _Steps) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]
