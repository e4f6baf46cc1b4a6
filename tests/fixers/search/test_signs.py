"""Signs: what speaks for an edit besides the tests, and the chance that it gives."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.evidence import Failure, Frame, Value
from runtrue.fixers.search.proposals import EditSet
from runtrue.fixers.search.signs import (
    Discovery,
    Signs,
    changes_raising_line,
    size_of,
    writes_named_word,
)

PLAIN = Signs(
    share=0.9,
    rivals=0,
    moved=0,
    kept=0.8,
    breaks=0.0,
    cost=-0.5,
    size=8,
    tokens=False,
    fits=False,
    suits=False,
    tests=20,
    failing=2,
    cut_off=False,
    discovery=Discovery(
        before=10,
        refused=0,
        guards=3,
        witnesses=2,
        functions=2,
        dodges=False,
        raised=False,
        named=False,
    ),
)
TEXT = "total = price + tax\n"


def edit(start: int, end: int, text: str) -> EditSet:
    one = Edit(file="a.py", splices=(Splice(start, end, text),), kind="k", line=1, says="")
    return EditSet(edits=(one,), cost=0.0)


@pytest.mark.parametrize(
    "worse",
    [
        {"cost": 1.5},
        {"moved": 3},
        {"breaks": 0.1},
        {"kept": 1.0},
        {"kept": None, "moved": None, "breaks": None},
        {"rivals": 9},
        {"suits": True, "failing": 1, "cost": 0.3},
        {
            "discovery": Discovery(
                before=9000,
                refused=0,
                guards=3,
                witnesses=0,
                functions=1,
                dodges=False,
                raised=False,
                named=False,
            )
        },
    ],
)
def test_what_speaks_against_an_edit_never_makes_it_surer(worse: dict[str, object]) -> None:
    assert replace(PLAIN, **worse).chance() <= PLAIN.chance()  # type: ignore[arg-type]


def test_a_plain_edit_passes_the_floor_and_no_edit_is_certain() -> None:
    assert 0.5 < PLAIN.chance() < 1
    sure = replace(PLAIN, share=1.0, cost=-9.0, size=1, failing=400, tokens=True)
    assert sure.chance() <= 0.97


def test_what_is_not_known_counts_neither_way() -> None:
    nothing = dict.fromkeys(("moved", "kept", "breaks", "tests", "failing", "cut_off", "discovery"))
    unknown = replace(PLAIN, **nothing)  # type: ignore[arg-type]
    assert set(unknown.features()) == {"share", "rivals", "cost", "size", "tokens", "blind"}
    assert 0 < unknown.chance() < 1


def test_the_line_that_raised_is_a_sign_and_a_failed_assert_is_none() -> None:
    frames = (Frame(file="a.py", line=1, function="f"),)
    raised = Failure(test="t", exception="KeyError", frames=frames)
    assert changes_raising_line(edit(0, 5, "x"), [raised])
    assert not changes_raising_line(edit(0, 5, "x"), [replace(raised, exception="AssertionError")])


def test_a_word_that_the_test_expects_is_a_sign_if_it_is_new() -> None:
    wanted = Failure(
        test="t",
        exception="AssertionError",
        expected=Value(type="str", repr="'gross price'"),
        actual=Value(type="str", repr="'net price'"),
    )
    assert writes_named_word(edit(0, 5, "gross"), {"a.py": TEXT}, [wanted])
    assert not writes_named_word(edit(8, 13, "price"), {"a.py": TEXT}, [wanted])
    assert not writes_named_word(edit(8, 13, "other"), {"a.py": TEXT}, [wanted])


def test_the_types_that_a_message_names_are_no_part_of_the_program() -> None:
    raised = Failure(
        test="t", exception="TypeError", message='can only concatenate str (not "NoneType") to str'
    )
    assert not writes_named_word(edit(8, 13, "str(price)"), {"a.py": TEXT}, [raised])
    asked = replace(raised, message="total() got an unexpected keyword argument 'gross'")
    assert writes_named_word(edit(8, 13, "gross"), {"a.py": TEXT}, [asked])


def test_the_size_is_what_is_taken_out_and_put_in() -> None:
    assert size_of(edit(8, 13, "net")) == 8


def test_what_shows_on_no_further_input_was_not_compared() -> None:
    features = replace(PLAIN, kept=1.0).features()
    assert features["blind"] == 1
    assert features.keys().isdisjoint(("kept", "moved", "breaks"))
    assert PLAIN.features()["blind"] == 0
