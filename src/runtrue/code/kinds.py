"""Kinds of tests: which of the required ones there are, and by what that is known.

What was declared (a marker) goes before what is called so (a name), and that before what only
sounds so (words). Tests that assert nothing are named, and count for no kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from runtrue.checks import language_of
from runtrue.code.assertions import asserts_something
from runtrue.loop import Outcome

REGRESSION = "regression_test"
#: Known from what ran, and from nothing else.
REPRODUCTION = "original_bug_reproduction"
EXISTING = "existing_tests_pass"

How = Literal["marker", "name", "words", "ran"]

_ERRORS = (
    *("error", "errors", "exception", "exceptions", "fails", "failure", "failures"),
    *("raises", "throws", "panics", "rejects", "rejected", "refuses", "refused", "denied"),
    *("invalid", "malformed", "unauthorized", "forbidden", "corrupt", "corrupted"),
)
#: The phrases that kinds are known by, the most specific kind first. A `#` is any number.
_PHRASES: dict[str, tuple[str, ...]] = {
    REGRESSION: (
        *("regression", "regressions", "bug", "bugs", "bugfix"),
        *("issue #", "gh #", "ticket #"),
    ),
    "integration_test": (
        *("integration", "integrates", "end to end", "e # e", "round trip", "roundtrip"),
        "acceptance",
    ),
    "validation_test": (
        *("validation", "validates", "validate", "validator", "sanitizes", "sanitises"),
    ),
    "error_handling": _ERRORS,
    "error_cases": _ERRORS,
    "edge_cases": (
        *("edge", "corner", "boundary", "boundaries", "extreme", "empty", "blank", "zero"),
        *("negative", "null", "nil", "none", "undefined", "nan", "infinity", "whitespace"),
        *("unicode", "overflow", "underflow", "maximum", "minimum", "duplicate", "duplicates"),
    ),
    "happy_path": (
        *("happy", "valid", "normal", "typical", "ordinary", "usual", "basic", "simple"),
        *("works", "succeeds", "success", "successful", "successfully", "correct", "correctly"),
    ),
}

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


class CaseFacts(Protocol):
    """What is known of a test beside how it ended, as `runtrue.checks.CaseInfo` has it."""

    @property
    def file(self) -> str | None:
        """The test's file."""
        ...

    @property
    def line(self) -> int | None:
        """Where it begins."""
        ...

    @property
    def markers(self) -> tuple[str, ...]:
        """What it was declared to be."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The tests that show that there are tests of a kind, and how they were recognised.

    `ran` is the strongest: what was seen when they ran on the code before and after the change.
    """

    kind: str
    tests: tuple[str, ...]
    how: How


@dataclass(frozen=True, slots=True, kw_only=True)
class KindsJudgement:
    """What there is of the required kinds, what is missing, and which tests judge nothing."""

    evidence: tuple[Evidence, ...]
    missing: tuple[str, ...]
    asserting_nothing: tuple[str, ...]


def judge_kinds(
    required: Sequence[str],
    cases: Mapping[str, Outcome],
    infos: Mapping[str, CaseFacts],
    read: Callable[[str], str | None],
    *,
    fixed: Collection[str] = (),
    existing: Collection[str] = (),
) -> KindsJudgement:
    """Judge the tests that passed. `read` gives the text of a file, as far as there is one.

    `fixed` are tests that failed on the code as it was: they reproduce the bug. `existing` are
    those that passed on it; both count only where they pass now. What asserts nothing, counts for
    nothing: it may have failed for want of a name.
    """
    passed = {case for case, outcome in cases.items() if outcome is Outcome.PASSED}
    idle = _asserting_nothing(sorted(passed), infos, read)
    nothing = set(idle)
    kinds = list(dict.fromkeys(required))
    found: dict[tuple[str, How], list[str]] = {}
    for case in sorted(passed):
        if case in fixed and case not in nothing:
            for kind in (REGRESSION, REPRODUCTION):
                found.setdefault((kind, "ran"), []).append(case)
        if case in existing:
            found.setdefault((EXISTING, "ran"), []).append(case)
        if case not in nothing:
            for kind, how in _kinds_of(case, infos.get(case), kinds):
                found.setdefault((kind, how), []).append(case)
    ways: tuple[How, ...] = ("ran", "marker", "name", "words")
    evidence = tuple(
        Evidence(kind=kind, tests=tuple(found[kind, how]), how=how)
        for kind in kinds
        for how in ways
        if (kind, how) in found
    )
    shown = {one.kind for one in evidence}
    return KindsJudgement(
        evidence=evidence,
        missing=tuple(kind for kind in kinds if kind not in shown),
        asserting_nothing=idle,
    )


def _asserting_nothing(
    cases: Iterable[str], infos: Mapping[str, CaseFacts], read: Callable[[str], str | None]
) -> tuple[str, ...]:
    texts: dict[str, str | None] = {}
    idle = []
    for case in cases:
        info = infos.get(case)
        named_file, test = _file_and_test(case)
        file = (info.file if info else None) or named_file
        if not file:
            continue
        if file not in texts:
            texts[file] = read(file)
        text = texts[file]
        line = info.line if info else None
        if text is not None and asserts_something(text, language_of(file), test, line) is False:
            idle.append(case)
    return tuple(idle)


def _kinds_of(case: str, info: CaseFacts | None, kinds: Sequence[str]) -> Iterator[tuple[str, How]]:
    """The kinds that a test is declared to be, else is called, else sounds like."""
    searched = [kind for kind in kinds if kind not in (REPRODUCTION, EXISTING)]
    markers = {tuple(_words(marker)) for marker in info.markers} if info else set()
    marked = [kind for kind in searched if markers & set(_spellings(kind))]
    if marked:
        yield from ((kind, "marker") for kind in marked)
        return
    # Its file, its classes or what else it is in, and its own name: a kind may be named in each.
    file, test = _file_and_test(case)
    parts = [_words(part) for part in (*file.split("/"), *_path(test))]
    named = [
        kind for kind in searched if any(_holds(p, s) for p in parts for s in _spellings(kind))
    ]
    if named:
        yield from ((kind, "name") for kind in named)
        return
    for kind in (kind for kind in _PHRASES if kind in searched):
        if any(_holds(parts[-1], tuple(phrase.split())) for phrase in _PHRASES[kind]):
            yield kind, "words"
            return


def _file_and_test(case: str) -> tuple[str, str]:
    file, bar, test = case.partition("::")
    return (file, test) if bar else ("", case)


def _path(test: str) -> list[str]:
    """The classes or modules that a test is in, and its name with its parameters."""
    name, bracket, parameters = test.partition("[")
    *outer, own = name.split("::")
    return [*outer, f"{own}{bracket}{parameters}"]


def _words(name: str) -> list[str]:
    """The words of a name in any style: `adds_up`, `addsUp`, `adds up`."""
    return [word.lower() for word in _WORD.findall(name)]


def _spellings(kind: str) -> Iterator[tuple[str, ...]]:
    """A kind's own name, in singular and plural, and without its `test`."""
    *first, last = _words(kind) or [kind]
    singular = last.removesuffix("s") or last
    yield (*first, last)
    yield (*first, singular)
    yield (*first, f"{singular}s")
    if first and singular == "test":
        yield tuple(first)


def _holds(words: Sequence[str], phrase: tuple[str, ...]) -> bool:
    """True if words hold a phrase, one word after the other."""
    length = len(phrase)
    return any(
        all(p == w or (p == "#" and w.isdigit()) for p, w in zip(phrase, words[at:], strict=False))
        for at in range(len(words) - length + 1)
    )
