"""Rank: what a missed path or a wrong name may have meant, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import mul

from runtrue.fields.body import spell, spots
from runtrue.fields.confidence import confidences
from runtrue.fields.evidence import Evidence
from runtrue.fields.names import compare_names
from runtrue.fields.place import gather
from runtrue.fields.question import read_question

__all__ = ["SURE", "Ranked", "rank_names", "rank_paths"]

#: From this confidence on runtrue acts on its own: with whole APIs held out, one question in
#: fifty is then answered wrongly.
SURE = 0.9

#: What each kind of evidence counts for: a conditional logit model, fitted on questions about the
#: responses of some eighty APIs, also with parts of the thesaurus hidden. On an API that it was not
#: fitted on it does about a point worse. Only `named` is set by hand: the examples of documentation
#: seldom hold what a user names.
WEIGHTS = Evidence(
    same=1.6,
    leaf=1.73,
    reach=3.18,
    told=0.79,
    extra=-0.65,
    head=1.95,
    headleaf=-0.53,
    parents=2.12,
    stray=-1.22,
    shadowed=-1.57,
    fit=0.61,
    misfit=-1.16,
    unlike=-0.86,
    odd=-2.96,
    offkind=-2.61,
    unheld=-3.77,
    container=-5.6,
    entry=2.09,
    entries=-0.81,
    housekeeping=-3.49,
    named=1.5,
    null=-1.05,
    machine=-2.5,
    carrier=2.55,
    echo=1.24,
    unmet=-0.27,
    left=-3.41,
    missed=-1.25,
    unindexed=-3.95,
    unlisted=-1.2,
    offaspect=-1.33,
    outside=-2.85,
    through=1.53,
)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A place that may be meant: its path, how sure that is from 0 to 1, and what is there."""

    path: str
    confidence: float
    value: object


def rank_paths(guess: str, intent: str, url: str, body: object, *, limit: int = 5) -> list[Ranked]:
    """Rank the paths in `body` that a missed `guess` may have meant, the likeliest first.

    `intent` is what the user asked for, in words, and `url` the request that `body` answered.
    Act on the first one only when its confidence is at least SURE.
    """
    question = read_question(guess, intent, url)
    found = gather(question, spots(body, question))
    scores = [_score(evidence) for _, evidence in found]
    order = sorted(range(len(found)), key=lambda n: -scores[n])
    places = [found[n][0] for n in order]
    doubt = _doubt(found[order[0]][1]) if order else 0.0
    sure = confidences([spot.steps for spot in places], [scores[n] for n in order], doubt, limit)
    return [
        Ranked(spell(spot.steps), confidence, spot.value)
        for spot, confidence in zip(places, sure, strict=False)
    ]


def rank_names(guess: str, intent: str, names: Mapping[str, str]) -> list[Ranked]:
    """Rank `names`, such as the arguments of a tool, that a wrong `guess` may have meant.

    Each comes with its description, which may be empty and is the `value` of what is returned;
    `path` is the name.
    """
    found = compare_names(guess, intent, names)
    scores = [_score(evidence) for _, evidence in found]
    order = sorted(range(len(found)), key=lambda n: -scores[n])
    flat = [found[n][0] for n in order]
    doubt = _doubt(found[order[0]][1]) if order else 0.0
    sure = confidences([(name,) for name in flat], [scores[n] for n in order], doubt, len(flat))
    return [
        Ranked(name, confidence, names[name]) for name, confidence in zip(flat, sure, strict=True)
    ]


def _doubt(evidence: Evidence) -> float:
    return evidence.missed + evidence.left + evidence.offkind


def _score(evidence: Evidence) -> float:
    total: float = sum(map(mul, WEIGHTS, evidence))
    return total
