"""Rank candidates that pass the tests by how likely they are to be right.

The tests do not distinguish them, so other inputs do: candidates that behave alike on inputs made
from those of the tests support one another. An edit that special-cases a value, drops a check or
swallows an exception comes last, and says so.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from os.path import commonprefix
from string import ascii_letters, digits

from runtrue.fixers.search.edit import parsed
from runtrue.fixers.search.proposals import EditSet
from runtrue.fixers.search.signs import (
    Discovery,
    Signs,
    breaks_much,
    fits_a_number,
    size_of,
    suits_a_test,
)
from runtrue.fixers.search.trial import RecordedInput
from runtrue.loop import Example

#: A candidate's behaviour: one digest for each input.
Behaviour = tuple[str, ...]
#: The digest of an input for which there was no time.
NOT_TRIED = "not tried"
#: What follows in a digest is a mark of what the call left in its arguments.
_MARK = "\0"
#: How the digests of an input begin for which nothing was returned.
_NO_VALUE = ("raises ", "does not end")
#: A whole number that is a float: equal to the one that is not, as tests see it.
_WHOLE = re.compile(r"(?<![\w.])(\d+)\.0(?![\w.])")
#: Names with their attributes, numbers, texts in quotes, and what is empty.
_ATOM = re.compile(r"-?[\w.]+|([\"'])[^\"'\n]*\1|\[\]|\{\}|\(\)")
_WORD_CHARACTERS = f"{ascii_letters}{digits}_.\"'"
_OF_WORD = re.compile(r"[\w.\"']")
#: The confidence in a doubtful candidate.
_DOUBTFUL = 0.05
#: The most where the code that raised may no longer be reached.
_DODGING = 0.4
#: What a vote is worth of an edit that changes what calls of passing tests give.
_MOVING = 0.3
#: The vote for edits that were not proposed: an unlikely edit is not sure because it is alone.
_NONE_OF_THESE = 0.2

#: Operations that change nothing with this value on their right side.
_NEUTRAL: dict[type[ast.operator], int] = {
    **dict.fromkeys((ast.Add, ast.Sub), 0),
    **dict.fromkeys((ast.Mult, ast.Div, ast.FloorDiv, ast.Pow), 1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedEdits:
    """A candidate that passes, with the confidence in it."""

    candidate: EditSet
    confidence: float
    #: How many others behave just like it, where that is known.
    alike: int | None = None
    behaviour: Behaviour | None = None
    #: What the confidence rests on.
    signs: Signs | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PassingEdits:
    """Candidates that pass, with what is known of each and of the search; see `rank_edits`."""

    candidates: tuple[EditSet, ...]
    behaviours: tuple[Behaviour | None, ...]
    original: Behaviour | None
    trusted: tuple[bool, ...]
    clumsy: tuple[tuple[int, int], ...]
    texts: tuple[str, ...]
    discoveries: tuple[Discovery, ...]
    tests: int
    failing: int
    cut_off: bool

    def ranked(self) -> list[RankedEdits]:
        """Return the candidates, best first."""
        return rank_edits(
            self.candidates,
            self.behaviours,
            self.original,
            trusted=self.trusted,
            clumsy=self.clumsy,
            texts=self.texts,
            tests=self.tests,
            failing=self.failing,
            cut_off=self.cut_off,
            discoveries=self.discoveries,
        )

    def unlike(self, behaviour: Behaviour) -> PassingEdits:
        """Return those that are known to behave otherwise: all there is if these are not found."""
        kept = [n for n, one in enumerate(self.behaviours) if one is not None and one != behaviour]
        return replace(
            self,
            candidates=tuple(self.candidates[n] for n in kept),
            behaviours=tuple(self.behaviours[n] for n in kept),
            clumsy=tuple(self.clumsy[n] for n in kept),
            texts=tuple(self.texts[n] for n in kept),
            discoveries=tuple(self.discoveries[n] for n in kept),
        )


def clumsiness(texts: Iterable[str]) -> tuple[int, int]:
    """Count operations of programs that change nothing (`x + 0`, `not not x`), and the nodes."""
    found = length = 0
    for text in texts:
        for node in ast.walk(parsed(text)):
            length += 1
            if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant):
                neutral = _NEUTRAL.get(type(node.op))
                found += neutral is not None and node.right.value == neutral
            elif isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.UnaryOp):
                found += 1
    return found, length


def is_other_ingredient(one: str, other: str) -> bool:
    """Return whether two programs differ in one name, attribute or constant, and in no more."""
    start = len(commonprefix((one, other)))  # noqa: RUF071 - these are no paths
    end = len(commonprefix((one[start:][::-1], other[start:][::-1])))  # noqa: RUF071
    while start and _OF_WORD.match(one[start - 1]):
        start -= 1
    last = one[len(one) - end :]
    end -= len(last) - len(last.lstrip(_WORD_CHARACTERS))
    parts = [text[start : len(text) - end] for text in (one, other)]
    return parts[0] != parts[1] and all(_ATOM.fullmatch(part) for part in parts)


def rank_edits(
    candidates: Sequence[EditSet],
    behaviours: Sequence[Behaviour | None],
    original: Behaviour | None = None,
    *,
    trusted: Sequence[bool] = (),
    clumsy: Sequence[tuple[int, int]] | None = None,
    texts: Sequence[str] = (),
    tests: int | None = None,
    failing: int | None = None,
    cut_off: bool | None = None,
    discoveries: Sequence[Discovery] = (),
    tokens: bool = False,
) -> list[RankedEdits]:
    """Return the candidates, best first.

    `original` is how the unchanged program behaves, `trusted` which of the inputs are the calls of
    tests that pass with it.
    `tests` is how many tests they pass, `failing` how many of these failed, `cut_off` whether a
    limit ended the search, `discoveries` how each was found, `tokens` that the file did not parse.
    The confidence is the chance that these and other signs give. `texts` are the programs: where
    others behave alike with another name or constant in the same place, nothing says which one is
    meant, and they share that chance.

    Of candidates that behave alike, the least clumsy is ahead, then the one that changes the fewest
    places, then the likeliest. Where nothing is known of how they behave, the likeliest is.

    Each candidate has a vote, by how likely it was thought to be; those that behave alike share
    their votes, each further one at half of what it is worth. Between groups, the one that leaves
    more of the old behaviour as it was is ahead: a program that fails a few tests is right about
    most things, and most of all about what its passing tests do.
    """
    keys = [one if one is not None else ("unknown", at) for at, one in enumerate(behaviours)]
    alike = Counter(keys)
    cast: defaultdict[object, list[float]] = defaultdict(list)
    for one, key, behaviour in zip(candidates, keys, behaviours, strict=True):
        if not one.doubt:
            moved = _moved(behaviour, original, trusted)
            worth = _keeps(behaviour, original) * (_MOVING if moved else 1.0)
            cast[key].append(math.exp(-one.cost) * worth)
    # Two ways to write the same thing are not two witnesses: each counts half of the one before.
    votes = {
        key: sum(vote / 2**n for n, vote in enumerate(sorted(own, reverse=True)))
        for key, own in cast.items()
    }
    total = sum(votes.values()) + _NONE_OF_THESE

    def dodges(at: int) -> bool:
        return bool(discoveries) and discoveries[at].dodges

    def part_of_place(at: int) -> float:
        """Return a candidate's part of the likelihood of all that may be in its place."""
        others = [
            math.exp(candidates[at].cost - other.cost)
            for n, other in enumerate(candidates if texts else ())
            if n != at and keys[n] == keys[at] and is_other_ingredient(texts[at], texts[n])
        ]
        return 1 / (1 + sum(others))

    def confidence(at: int, signs: Signs) -> float:
        if candidates[at].doubt:
            return _DOUBTFUL
        chance = signs.chance() * part_of_place(at)
        is_poor = dodges(at) or breaks_much(signs)
        return round(min(chance, _DODGING if is_poor else 1.0), 2)

    def signs_of(at: int) -> Signs:
        one = candidates[at]
        return Signs(
            share=votes.get(keys[at], 0.0) / total,
            rivals=len(votes.keys() - {keys[at]}),
            moved=_moved(behaviours[at], original, trusted),
            kept=_share(behaviours[at], original, _is_same),
            breaks=_share(behaviours[at], original, _is_broken),
            cost=one.cost,
            size=size_of(one),
            tokens=tokens,
            fits=fits_a_number(one),
            suits=suits_a_test(one),
            tests=tests,
            failing=failing,
            cut_off=cut_off,
            discovery=discoveries[at] if discoveries else None,
        )

    def rank(at: int) -> tuple[object, ...]:
        one = candidates[at]
        idle = places = length = 0
        if clumsy and behaviours[at] is not None:
            idle, length = clumsy[at]
            places = sum(len(edit.splices) for edit in one.edits)
        poor = (one.doubt is not None, dodges(at))
        return *poor, -votes.get(keys[at], 0.0), idle, places, one.cost, length, at

    signs = [signs_of(at) for at in range(len(candidates))]
    order = sorted(range(len(candidates)), key=rank)
    best = confidence(order[0], signs[order[0]]) if order else 0.0

    def shown(at: int) -> float:
        own = confidence(at, signs[at])
        # What behaves otherwise is right only where the best is not.
        return own if keys[at] == keys[order[0]] else min(own, round(1 - best, 2))

    return [
        RankedEdits(
            candidate=candidates[at],
            confidence=shown(at),
            alike=None if behaviours[at] is None else alike[keys[at]] - 1,
            behaviour=behaviours[at],
            signs=signs[at],
        )
        for at in order
    ]


def shortest_difference(
    chosen: Behaviour | None, other: Behaviour | None, calls: Sequence[RecordedInput]
) -> Example | None:
    """Return the shortest call on which two candidates differ, and what each gives."""
    if chosen is None or other is None:
        return None
    found = [
        Example(call=one.call, module=one.module, gives=theirs, instead=ours)
        for one, ours, theirs in zip(calls, map(_given, chosen), map(_given, other), strict=False)
        if ours != theirs and NOT_TRIED not in (ours, theirs)
    ]
    # One that a test can simply call says most.
    return min(found, key=lambda one: (not one.module, len(one.call), one.call), default=None)


def _given(digest: str) -> str:
    """Return what a call gave, without the mark of what it left in its arguments."""
    return digest.partition(_MARK)[0]


def _share(
    behaviour: Behaviour | None, original: Behaviour | None, holds: Callable[[str, str], bool]
) -> float | None:
    """Return on which share of the inputs something holds; None where nothing was compared."""
    both = [
        holds(ours, theirs)
        for ours, theirs in zip(behaviour or (), original or (), strict=False)
        if NOT_TRIED not in (ours, theirs)
    ]
    return sum(both) / len(both) if both else None


def _moved(
    behaviour: Behaviour | None, original: Behaviour | None, trusted: Sequence[bool]
) -> int | None:
    """Return on how many calls of passing tests an edit does something else than before."""
    if behaviour is None or original is None or not any(trusted):
        return None
    return sum(
        is_trusted and not _is_same(ours, theirs) and NOT_TRIED not in (ours, theirs)
        for ours, theirs, is_trusted in zip(behaviour, original, trusted, strict=False)
    )


def _is_same(ours: str, theirs: str) -> bool:
    return ours == theirs or _WHOLE.sub(r"\1", ours) == _WHOLE.sub(r"\1", theirs)


def _is_broken(ours: str, theirs: str) -> bool:
    return ours.startswith(_NO_VALUE) and not theirs.startswith(_NO_VALUE)


def _keeps(behaviour: Behaviour | None, original: Behaviour | None) -> float:
    """Return how much of the program's behaviour stays as it was, from 0.5 to 1.5."""
    if behaviour is None or not original:
        return 1.0
    return 0.5 + sum(_is_same(a, b) for a, b in zip(behaviour, original, strict=False)) / len(
        original
    )
