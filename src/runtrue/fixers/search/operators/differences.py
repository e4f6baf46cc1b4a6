"""Differences: where what a failing test got is not what it expects, part by part."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from functools import lru_cache, wraps
from typing import NamedTuple, TypeVar

from runtrue.fixers.search.evidence import Failure
from runtrue.fixers.search.operators.clues import literal_of

Result = TypeVar("Result")
_DEEPEST, _MOST, _LONGEST, _LONGEST_WORD = 6, 12, 400, 30
_QUOTED = re.compile(r"(['\"])([^'\"\n]*)\1")


class Difference(NamedTuple):
    """One plain value that a test got, and what it expects in its place."""

    got: object
    wanted: object
    #: True if the sides are as the test wrote them; some write the expected one first.
    is_as_written: bool = True


class Change(NamedTuple):
    """A part of a text that is to become another, with the characters around it."""

    before: str
    old: str
    new: str
    after: str


def for_failures(
    work: Callable[[tuple[Failure, ...]], Result],
) -> Callable[[tuple[Failure, ...]], Result]:
    """Keep the result for the failures of the present search: they cannot be hashed."""
    last: list[tuple[tuple[Failure, ...], Result]] = []

    @wraps(work)
    def kept(failures: tuple[Failure, ...]) -> Result:
        if not last or last[0][0] is not failures:
            last[:] = [(failures, work(failures))]
        return last[0][1]

    return kept


@for_failures
def differences(failures: tuple[Failure, ...]) -> tuple[Difference, ...]:
    """Return what differs in the comparisons that failed, the smallest parts first."""
    found: dict[str, Difference] = {}
    for failure in failures:
        if failure.expected is None or failure.actual is None or failure.operator != "==":
            continue
        got, wanted = _plain(failure.actual.repr), _plain(failure.expected.repr)
        for one, other in _parts(got, wanted, 0):
            for each in (Difference(one, other), Difference(other, one, is_as_written=False)):
                found.setdefault(repr(each), each)
    return tuple(sorted(found.values(), key=lambda one: not one.is_as_written)[: 2 * _MOST])


def _plain(text: str | None) -> object:
    """Return the value of a representation; of a named tuple or a dataclass, its fields."""
    value = literal_of(text)
    if value is not ... or text is None:
        return value
    try:
        match ast.parse(text, mode="eval").body:
            case ast.Call(args=[], keywords=[_, *_] as fields):
                values = tuple(literal_of(ast.unparse(one.value)) for one in fields)
                return ... if ... in values else values
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        pass
    return ...


def _parts(got: object, wanted: object, depth: int) -> Iterator[tuple[object, object]]:
    if got is ... or wanted is ... or (got == wanted and type(got) is type(wanted)):
        return
    if isinstance(got, str) and isinstance(wanted, str):
        yield from _parts(_from_json(got), _from_json(wanted), depth + 1)
    if depth < _DEEPEST and isinstance(got, dict) and isinstance(wanted, dict):
        for key in got.keys() & wanted.keys():
            yield from _parts(got[key], wanted[key], depth + 1)
    elif (
        depth < _DEEPEST
        and isinstance(got, list | tuple)
        and isinstance(wanted, list | tuple)
        and len(got) == len(wanted)
    ):
        for one, other in zip(got, wanted, strict=True):
            yield from _parts(one, other, depth + 1)
    yield got, wanted


def _from_json(text: str) -> object:
    """Return what a text is in JSON, where that is an object or a list."""
    try:
        return json.loads(text) if text[:1] in "[{" and text else ...
    except (ValueError, RecursionError):
        return ...


@lru_cache(maxsize=256)
def changes(got: str, wanted: str) -> tuple[Change, ...]:
    """Return the parts in which one text differs from another."""
    if max(len(got), len(wanted)) > _LONGEST:
        return ()
    matcher = SequenceMatcher(None, got, wanted, autojunk=False)
    return tuple(
        Change(got[:a], got[a:b], wanted[c:d], got[b:])
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    )


@for_failures
def mentioned_texts(failures: tuple[Failure, ...]) -> tuple[str, ...]:
    """Return the short texts that failing tests are about: in variables, messages and results."""
    found: dict[str, None] = {}
    for failure in failures:
        values = [one for frame in failure.frames[-2:] for one in frame.values.values()]
        values += [one for one in (failure.actual, failure.expected) if one is not None]
        texts = [literal_of(one.repr) for one in values if one.type == "str"]
        texts += [one[2] for one in _QUOTED.finditer(failure.message)]
        found |= dict.fromkeys(one for one in texts if isinstance(one, str))
    return tuple(one for one in found if 0 < len(one) <= _LONGEST_WORD)[:_MOST]


@for_failures
def odd_characters(failures: tuple[Failure, ...]) -> tuple[str, ...]:
    """Return the signs that a failing test is about: in what differs, or in what it gave."""
    found: dict[str, None] = {}
    for got, wanted, _ in differences(failures):
        if isinstance(got, str) and isinstance(wanted, str):
            for one in changes(got, wanted):
                found |= dict.fromkeys(one.old + one.new + one.before[-1:] + one.after[:1])
    for failure in failures:
        for frame in failure.frames[-2:]:
            for value in frame.values.values():
                text = literal_of(value.repr) if value.type == "str" else ""
                if isinstance(text, str) and len(text) < 80:
                    found |= dict.fromkeys(one for one in text if not one.isalnum())
    return tuple(found)[:_MOST]
