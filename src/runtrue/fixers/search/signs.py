"""Signs: what is known of an edit under which the tests pass, besides that they do.

The chance that such an edit is right is a logistic function of them. Its weights are fitted by
`python -m benchmarks.confidence` to edits of which is known whether they are right.
"""

from __future__ import annotations

import builtins
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runtrue.fixers.search.evidence import Failure
from runtrue.fixers.search.proposals import EditSet
from runtrue.fixers.search.weights import (
    INTERCEPT,
    MOST,
    SMALL_INTERCEPT,
    SMALL_STEPS,
    SMALL_WEIGHTS,
    STEPS,
    WEIGHTS,
)

#: Kinds of edits that can be turned until a number fits.
_FITTING = frozenset(
    (
        *("arithmetic", "augmented", "clamp", "constant", "expected", "index", "off_by_one"),
        *("round_up", "scale", "sign", "slice", "string", "term_add", "term_drop"),
    )
)
#: Kinds of edits that turn a value into what a test expects, or keep the failing case away.
_SUITING = frozenset(
    (
        *("transform", "get", "guard", "default", "base_case", "case", "result"),
        *("catch", "try", "condition_add"),
    )
)
#: From so many tests on, a program is not small.
MANY = 10
#: A sign is never taken for further from the mean than this many deviations.
_FAR = 3.0
#: The share of the further inputs that is many.
_BREAKING = 0.05
_WORD = re.compile(r"\w{3,}")
_TYPES = frozenset(
    ("NoneType", *(name for name, one in vars(builtins).items() if isinstance(one, type)))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """How a candidate was found, and what it has to do with the failing tests."""

    #: The candidates that were tried before it.
    before: int
    #: Those of them that fixed all failing tests and broke another: then these are easily fixed.
    refused: int
    #: The passing tests that run the function it is in, and those that run the very lines.
    guards: int
    witnesses: int
    #: The test functions that failed: cases of one with other arguments are often one mistake's.
    functions: int
    #: True if it may only keep the code that raised from being reached.
    dodges: bool
    #: True if it changes the line that raised.
    raised: bool
    #: True if it writes a word that a failure's message, or what a test expects, has as well.
    named: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What is known of a candidate that passes. What is None is not known."""

    #: Its share of the votes, and the groups of candidates that behave otherwise.
    share: float
    rivals: int
    #: The calls of passing tests on which it does something else than the program did before.
    moved: int | None
    #: Of the further inputs, the share on which it does what the program did before, and the share
    #: on which it raises where that gave something.
    kept: float | None
    breaks: float | None
    #: How unlikely it was thought to be, and the characters that it changes.
    cost: float
    size: int
    #: True if it repairs a file that does not parse, if it can be turned until a number fits, and
    #: if it turns a value into what a test expects or keeps the failing case away.
    tokens: bool
    fits: bool
    suits: bool
    #: The tests that it passes, and those of them that failed.
    tests: int | None
    failing: int | None
    #: True if time, or the number of candidates, ended the search.
    cut_off: bool | None
    discovery: Discovery | None

    @property
    def is_small(self) -> bool:
        """True for a program with few tests: how many of them run what says nothing there."""
        return self.tests is not None and self.tests < MANY

    @property
    def is_blind(self) -> bool:
        """True if no further input shows the edit, or there is none: then nothing was compared."""
        return self.kept is None or self.kept == 1.0

    def features(self) -> dict[str, float]:
        """Return the numbers that the weights are for; those that are not known are left out."""
        share = min(max(self.share, 0.01), 0.99)
        found = {
            "share": math.log(share / (1 - share)),
            "rivals": math.log1p(self.rivals),
            # Beyond a plain edit of a suspect line; how far below says nothing more, and in a
            # small program there is little that an unlikely edit could hit by chance.
            "cost": 0.0 if self.is_small else max(0.0, min(self.cost, 2.0)),
            "size": math.log1p(self.size),
            "tokens": float(self.tokens),
        }
        if not self.tokens:
            found["blind"] = float(self.is_blind)
        if self.kept is not None and not self.is_blind:
            found["kept"] = self.kept
            found["breaks"] = self.breaks or 0.0
            if self.moved is not None:
                found["moved"] = math.log1p(self.moved)
        if self.tests is not None:
            found["tests"] = math.log1p(self.tests)
        if self.failing is not None:
            found["one"] = float(self.failing == 1)
            found["failing"] = math.log(max(self.failing, 1))
            found["fits"] = float(self.fits and self.failing == 1)
            found["suits"] = float(self.suits and self.failing == 1)
        if self.cut_off is not None:
            found["cut_off"] = float(self.cut_off)
        if self.discovery is not None:
            found["before"] = math.log1p(self.discovery.before)
            found["refused"] = math.log1p(self.discovery.refused)
            if not self.is_small:
                found["guards"] = math.log1p(self.discovery.guards)
                found["witnesses"] = math.log1p(self.discovery.witnesses)
                found["functions"] = math.log(max(self.discovery.functions, 1))
            found["raised"] = float(self.discovery.raised)
            found["named"] = float(self.discovery.named)
        return found

    def chance(self) -> float:
        """Return how likely a candidate with these signs is to be right."""
        small = self.is_small
        weights, steps = (SMALL_WEIGHTS, SMALL_STEPS) if small else (WEIGHTS, STEPS)
        score = SMALL_INTERCEPT if small else INTERCEPT
        for name, value in self.features().items():
            if name in weights:
                mean, scale, weight = weights[name]
                score += weight * standardised(value, mean, scale)
        estimate = 1 / (1 + math.exp(-score))
        if self.tokens:
            return min(MOST, estimate)
        return max(chance for start, chance in steps if start <= estimate)


def standardised(value: float, mean: float, scale: float) -> float:
    """Return how many deviations a sign is from the mean, within limits.

    Where a sign was hardly ever seen, its deviation is tiny: one value must not decide it all.
    """
    return max(-_FAR, min(_FAR, (value - mean) / scale))


def breaks_much(signs: Signs) -> bool:
    """Return whether an edit raises on many of the inputs for which the program gave something."""
    return (signs.breaks or 0.0) > _BREAKING


def fits_a_number(candidate: EditSet) -> bool:
    """Return whether an edit can be turned until a number fits."""
    return any(edit.kind in _FITTING for edit in candidate.edits)


def suits_a_test(candidate: EditSet) -> bool:
    """Return whether an edit does what one test wants, and maybe no more than that."""
    return any(edit.kind in _SUITING for edit in candidate.edits)


def size_of(candidate: EditSet) -> int:
    """Return the characters that a candidate takes out and puts in."""
    splices = [one for edit in candidate.edits for one in edit.splices]
    return sum(one.end - one.start + len(one.text) for one in splices)


def changes_raising_line(candidate: EditSet, failures: Iterable[Failure]) -> bool:
    """Return whether an edit changes the line of the program on which a test raised."""
    lines = {
        (failure.frames[-1].file, failure.frames[-1].line)
        for failure in failures
        if failure.frames and failure.exception != "AssertionError"
    }
    return any((edit.file, edit.line) in lines for edit in candidate.edits)


def writes_named_word(
    candidate: EditSet, base: dict[str, str], failures: Sequence[Failure]
) -> bool:
    """Return whether an edit writes a word that failures name, and that was not there before."""
    named = {word for failure in failures for word in _words_of(failure)}
    for edit in candidate.edits:
        for one in edit.splices:
            old = set(_WORD.findall(base[edit.file][one.start : one.end]))
            if (set(_WORD.findall(one.text)) - old) & named:
                return True
    return False


def _words_of(failure: Failure) -> Iterable[str]:
    expected, actual = failure.expected, failure.actual
    known = set(_WORD.findall((actual.repr or "") if actual else ""))
    words = _WORD.findall((expected.repr or "") if expected else "")
    yield from (word for word in words if word not in known)
    if failure.exception != "AssertionError":
        # `can only concatenate str (not "NoneType") to str` names no part of the program.
        yield from (word for word in _WORD.findall(failure.message) if word not in _TYPES)
