"""Evidence: what speaks for and against a name or a place being the one that is looked for."""

from __future__ import annotations

from typing import NamedTuple

from runtrue.fields.comparison import UNMET, WEIGHTY, Comparison, Group, Hits, Name
from runtrue.fields.question import Question
from runtrue.fields.shapes import Wanted

__all__ = ["Evidence", "harmonic", "is_same", "of_name", "off_kind", "unmet"]


class Evidence(NamedTuple):
    """What was found about one place; most numbers are from 0 to 1."""

    same: float = 0.0
    """Its name is the guess's last one, but for spelling, number, tense or abbreviation."""
    leaf: float = 0.0
    """How much its name, or what it stands for, and the guess's last name are alike."""
    reach: float = 0.0
    """How far the guess's last name is met by the whole path and the value's shape."""
    told: float = 0.0
    """How far its name is met by anything that was said."""
    extra: float = 0.0
    """How many words of its name nothing said comes near to."""
    head: float = 0.0
    """How far the path meets what the sentence asks for."""
    headleaf: float = 0.0
    """The same of its own name alone."""
    parents: float = 0.8
    """How far the path meets the guess's other names."""
    stray: float = 0.0
    """How many of the names above it are about something else."""
    shadowed: float = 0.0
    """An object above has the same name nearer to the top."""
    fit: float = 0.0
    """The value looks like what is asked for."""
    misfit: float = 0.0
    """The value looks like something else."""
    unlike: float = 0.0
    """The value looks like something else than the guess itself says."""
    odd: float = 0.0
    """A flag or a date that nobody asked for."""
    offkind: float = 0.0
    """Its name says that it is of another kind."""
    unheld: float = 0.0
    """The guess is the name, id, … of something, and the path is not about that."""
    container: float = 0.0
    """It is an object or a list, and none is asked for."""
    entry: float = 0.0
    """Below 0 in another entry of a list than the one asked for."""
    entries: float = 0.0
    """How many lists are entered that neither guess nor sentence goes into."""
    housekeeping: float = 0.0
    """It is for the API's own use."""
    named: float = 0.0
    """It holds a value that the user named, times `leaf`."""
    null: float = 0.0
    """The value is null."""
    machine: float = 0.0
    """It is a link into the API itself."""
    carrier: float = 0.0
    """It stands for what it is in, as `priority.name` for the priority, and that is alike."""
    echo: float = 0.0
    """A short text that repeats what the sentence says."""
    unmet: float = 0.0
    """How many words of the guess's last name nothing comes near to."""
    left: float = 0.0
    """What the guess says to hold it is in the body, and this is not in there."""
    missed: float = 0.0
    """How many words that both the guess and the sentence say nothing comes near to."""
    unindexed: float = 0.0
    """The guess goes into a list, and the path into none."""
    unlisted: float = 0.0
    """The guess is a plural, and this is one text by itself."""
    offaspect: float = 0.0
    """It is a type, a status, … of something, and none is asked for."""
    outside: float = 0.0
    """How much of the way that the guess goes and that is there it does not go."""
    through: float = 0.0
    """The guess goes through it, and there is nothing within it."""


def of_name(comparison: Comparison, own: Name, hits: Hits) -> Evidence:
    """What is known of a name that has no value and no place: only what it says."""
    leaf, _, head, _ = comparison.groups
    return Evidence(
        same=float(is_same(own)),
        leaf=harmonic(leaf.covered(hits[0]), own.told_leaf),
        reach=leaf.covered(hits[0]),
        told=own.told,
        extra=own.extra,
        head=head.covered(hits[2]),
        headleaf=head.covered(own.hits[2]),
        offkind=off_kind(comparison.question, own.kinds),
        unmet=unmet(leaf, hits[0]),
        missed=comparison.missed(hits[0], hits[1]),
    )


#: Kinds that a name has for certain when it says so.
_CERTAIN = {Wanted.COUNT, Wanted.DATE, Wanted.FLAG, Wanted.URL, Wanted.ID, Wanted.EMAIL}


def off_kind(question: Question, kinds: frozenset[Wanted]) -> float:
    """Whether a name says that it is of another kind: a `version_count` is no version."""
    # `comments` may be a list of them or how many there are.
    certain = kinds & _CERTAIN - ({Wanted.COUNT} if question.plural else set())
    if not certain or certain & question.wanted:
        return 0.0
    return 1.0


def is_same(own: Name) -> bool:
    """Whether a name is the guess's last one in another spelling."""
    return bool(own.hits[0]) and min(own.hits[0]) == 1.0 and own.told_leaf > 0.9


def harmonic(one: float, other: float) -> float:
    """The mean of two numbers that is small where either is."""
    return 2 * one * other / (one + other) if one + other else 0.0


def unmet(leaf: Group, hits: tuple[float, ...] | list[float]) -> float:
    """How many weighty words of the guess's last name nothing comes near to."""
    pairs = zip(hits, leaf.weights, strict=True)
    return float(sum(hit < UNMET for hit, weight in pairs if weight >= WEIGHTY))
