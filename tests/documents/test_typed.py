"""Data becomes dataclasses, or an error that names the key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import pytest

from runtrue.documents import KeyProblem, Source, parse_document, read_data
from runtrue.errors import PlanError


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Part:
    size: int
    colour: Colour = Colour.RED


@dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...] = ()
    named: dict[str, Part] = field(default_factory=dict)


def too_large(whole: Whole) -> Iterator[KeyProblem]:
    for number, part in enumerate(whole.parts):
        if part.size > 10:
            yield ("parts", number, "size"), "is too large"


def read(text: str, **options: Any) -> Whole:
    source = Source(parse_document(text, name="f", format="yaml"), PlanError, whole="the whole")
    return read_data(source, Whole, problems=too_large, **options)


def test_data_that_fits() -> None:
    assert read("named: {a: {size: 2, colour: blue}}") == Whole(named={"a": Part(2, Colour.BLUE)})


def test_defaults_from_elsewhere_are_filled_in() -> None:
    assert read("{}", fill=lambda data: {**data, "parts": [{"size": 1}]}) == Whole((Part(1),))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("part: []", "f:1: part: unknown key (did you mean 'parts'?); known here: parts, named"),
        ("parts:\n- size: a", "f:2: parts.0.size: expected a whole number, got text"),
        ("parts:\n- colour: red", "f:2: parts.0: mapping missing required field `size`"),
        ("named:\n  a: {size: 1}\n  b: {size: x}", "f:3: named.b.size: expected a whole number"),
        ("parts:\n- size: 11", "f:2: parts.0.size: is too large"),
        (
            "named: {a: {size: 1, colour: bleu}}",
            "'bleu' (did you mean 'blue'?); available: red",
        ),
        ("[]", "f:1: the whole: expected a mapping, got a list"),
    ],
)
def test_mistakes(text: str, expected: str) -> None:
    with pytest.raises(PlanError) as caught:
        read(text)
    assert expected in str(caught.value)
