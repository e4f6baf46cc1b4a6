"""Refusals: the exception that a test waits for is raised."""

from __future__ import annotations

import pytest

from runtrue.fixers.search.evidence import Failure
from tests.fixers.search.trying import failed, offers, proposed

SHAPE = """\
def shape(kind):
    if kind == "line":
        return 1
    if kind == "point":
        return 2
"""


def waited(message: str) -> Failure:
    """A test for which nothing was raised."""
    return Failure(test="test_it", exception="Failed", message=message)


@pytest.mark.parametrize("message", ["DID NOT RAISE <class 'ValueError'>", "ValueError not raised"])
def test_a_function_that_has_no_answer_raises_at_its_end(message: str) -> None:
    wanted = SHAPE + '    raise ValueError(f"invalid kind: {kind!r}")\n'
    offers("refuse", SHAPE, wanted, waited(message))


def test_an_argument_that_makes_no_sense_is_refused_first() -> None:
    source = "def wait(seconds: int):\n    return seconds\n"
    line = '        raise ValueError(f"invalid seconds: {seconds!r}")\n'
    wanted = source.replace("    return", f"    if seconds < 0:\n{line}    return")
    offers("refuse", source, wanted, waited("DID NOT RAISE <class 'ValueError'>"))


def test_an_exception_that_the_file_cannot_name_is_not_raised() -> None:
    found = proposed(SHAPE, waited("DID NOT RAISE <class 'shop.errors.Closed'>"))
    assert not [one for one in found.values() if one.kind == "refuse"]


def test_a_value_that_was_not_found_is_refused() -> None:
    source = """\
    def call(owner, kind):
        method = owner.find(kind)
        return method()
    """
    wanted = source.replace(
        "        return",
        "        if not method:\n"
        '            raise ValueError(f"invalid method: {method!r}")\n'
        "        return",
    )
    offers("refuse", source, wanted, waited("DID NOT RAISE <class 'ValueError'>"))


def test_another_exception_is_raised_than_the_one_nobody_waited_for() -> None:
    source = """\
    class Closed(Exception): pass
    class CodeError(Exception): pass

    def code(text):
        if not text:
            raise TypeError(f"no code: {text}")
    """
    for name in ("CodeError", "ValueError"):
        wanted = source.replace("raise TypeError", f"raise {name}")
        offers("refuse", source, wanted, failed("TypeError", "no code: ", 6))
    # Where it is not raised, a test may well wait for it.
    assert "refuse" not in {one.kind for one in proposed(source).values()}
