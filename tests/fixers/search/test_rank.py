"""Choosing: what behaves alike speaks for one another, and what is doubtful comes last."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.proposals import EditSet
from runtrue.fixers.search.rank import is_other_ingredient, rank_edits, shortest_difference
from runtrue.fixers.search.signs import Discovery
from runtrue.fixers.search.trial import RecordedInput
from runtrue.loop import Example


def candidate(name: str, cost: float, doubt: str | None = None) -> EditSet:
    edit = Edit(
        file="app.py", splices=(Splice(0, 1, name),), kind="k", line=1, says=name, doubt=doubt
    )
    return EditSet(edits=(edit,), cost=cost)


def order(*candidates: EditSet, behave: list[tuple[str, ...] | None]) -> list[str]:
    return [one.candidate.edits[0].says for one in rank_edits(candidates, behave)]


def test_of_candidates_of_which_nothing_more_is_known_the_likeliest_comes_first() -> None:
    found = order(candidate("b", 2.0), candidate("a", 1.0), behave=[None, None])
    assert found == ["a", "b"]


def test_several_that_behave_alike_outweigh_one_that_was_thought_a_little_likelier() -> None:
    found = order(
        candidate("alone", 1.0),
        candidate("one", 1.3),
        candidate("two", 1.4),
        candidate("three", 1.5),
        behave=[("1",), ("2",), ("2",), ("2",)],
    )
    assert found == ["one", "two", "three", "alone"]


def test_two_ways_to_write_the_same_thing_are_not_two_witnesses() -> None:
    found = order(
        candidate("alone", 1.0),
        candidate("one", 1.5),
        candidate("twin", 1.5),
        behave=[("1",), ("2",), ("2",)],
    )
    assert found == ["alone", "one", "twin"]


def test_of_those_that_behave_alike_the_one_that_changes_fewer_places_is_ahead() -> None:
    many = candidate("many", 0.9)
    edit = replace(many.edits[0], splices=(Splice(0, 1, "a"), Splice(2, 3, "a")))
    many = replace(many, edits=(edit,))
    choices = rank_edits([many, candidate("one", 1.0)], [("1",), ("1",)], clumsy=[(0, 9), (0, 9)])
    assert [one.candidate.edits[0].says for one in choices] == ["one", "many"]


def test_an_unlikely_edit_is_not_sure_for_being_the_only_one() -> None:
    likely, unlikely = (in_project(candidate("a", cost)) for cost in (-0.5, 2.5))
    assert unlikely < 0.5 < likely


#: Three test functions turn green, and many that pass run the very line.
SEEN = Discovery(
    before=50,
    refused=2,
    guards=20,
    witnesses=20,
    functions=3,
    dodges=False,
    raised=False,
    named=False,
)


def in_project(
    one: EditSet, found: Discovery = SEEN, gives: tuple[str, ...] = ("1", *"abcdefghi")
) -> float:
    """Return the confidence in an edit that is the only one to pass, in a project."""
    tests = {"tests": 40, "failing": found.functions, "discoveries": [found]}
    return rank_edits([one], [gives], ("0", *"abcdefghi"), **tests)[0].confidence  # type: ignore[arg-type]


def test_in_a_project_one_test_function_and_few_witnesses_prove_little() -> None:
    one = candidate("a", -0.5)
    assert in_project(one) > 0.5
    assert in_project(one, replace(SEEN, functions=1, guards=1, witnesses=0)) < 0.5


def test_an_edit_that_raises_where_the_program_gave_something_waits() -> None:
    raising = ("1", *"abcdefgh", "raises KeyError")
    assert in_project(candidate("a", -0.5), gives=raising) < 0.5


def test_a_doubtful_patch_ranks_last_and_says_so() -> None:
    doubtful = candidate("special", 0.0, doubt="special-cases a value")
    plain = candidate("plain", 2.0)
    choices = rank_edits([doubtful, plain], [("1",), ("2",)])
    assert [one.candidate for one in choices] == [plain, doubtful]
    assert choices[1].candidate.doubt == "special-cases a value"
    assert choices[1].confidence < choices[0].confidence


def test_what_leaves_more_of_the_old_behaviour_as_it_was_is_ahead_of_its_equal() -> None:
    bold, careful = candidate("bold", 1.0), candidate("careful", 1.0)
    choices = rank_edits(
        [bold, careful], [("9", "9", "9"), ("1", "2", "9")], original=("1", "2", "3")
    )
    assert choices[0].candidate is careful


def test_confidences_are_shares_and_never_certain() -> None:
    choices = rank_edits([candidate("a", -9.0)], [("1",)])
    assert 0 < choices[0].confidence < 1
    assert rank_edits([], []) == []


def test_edits_that_behave_otherwise_take_confidence_from_one_another() -> None:
    names = "abcdefgh"
    alone = rank_edits([candidate("a", 0.2)], [("1", "2")], ("0", "2"), tests=5, failing=1)
    others = [candidate(name, 0.2) for name in names]
    among = rank_edits(others, [(name, name) for name in names], ("0", "2"), tests=5, failing=1)
    assert among[0].confidence < 0.5 < alone[0].confidence


def test_what_may_only_suit_the_one_failing_test_is_not_passed_by_itself() -> None:
    def sure(kind: str, failing: int) -> float:
        one = candidate("a", -1.0)
        one = replace(one, edits=(replace(one.edits[0], kind=kind),))
        return rank_edits([one], [None], tests=5, failing=failing)[0].confidence

    assert sure("transform", 1) < 0.5 < sure("transform", 5)
    assert sure("variable", 1) > 0.5


def test_the_shortest_call_that_a_test_can_make_tells_two_edits_apart() -> None:
    calls = [
        RecordedInput(module, call)
        for module, call in (
            *(("", "Cart.f(1)"), ("shop", "f(1000)")),
            *(("shop", "f(1)"), ("shop", "f(0)")),
        )
    ]
    example = shortest_difference(("1", "2", "3", "not tried"), ("9", "9", "9", "9"), calls)
    assert example == Example(call="f(1)", module="shop", gives="9", instead="3")
    assert shortest_difference(("1",), ("1",), calls) is None
    assert shortest_difference(None, ("1",), calls) is None


def test_an_edit_that_may_only_dodge_the_failing_code_is_never_above_the_floor() -> None:
    pair = [candidate("dodges", -3.0), candidate("fixes", 0.0)]
    found = Discovery(
        before=0,
        refused=0,
        guards=0,
        witnesses=0,
        functions=1,
        dodges=True,
        raised=False,
        named=False,
    )
    ways = [found, replace(found, dodges=False)]
    choices = rank_edits(pair, [("1",), ("2",)], failing=3, discoveries=ways)
    assert [one.candidate.edits[0].says for one in choices] == ["fixes", "dodges"]
    assert choices[1].confidence < 0.5


def test_a_repair_of_what_does_not_parse_is_surer_than_another_edit() -> None:
    one = [candidate("a", 0.0)]
    assert (
        rank_edits(one, [None], tokens=True)[0].confidence > rank_edits(one, [None])[0].confidence
    )


def test_it_is_counted_where_an_edit_changes_what_was_right_before() -> None:
    (choice,) = rank_edits(
        [candidate("a", 1.0)],
        [("1", "9", "raises E", "not tried")],
        ("1", "2", "3", "4"),
        trusted=[True, True, False, True],
    )
    assert choice.signs is not None
    assert choice.signs.moved == 1  # only calls of passing tests count as right
    assert (choice.signs.kept, choice.signs.breaks) == (1 / 3, 1 / 3)


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [
        ("200", "200.0", 0),
        ("[1, 2.0]", "[1.0, 2]", 0),
        ("200", "200.5", 1),
        ("'1.10'", "'11.0'", 1),
        ("10", "1.0", 1),
    ],
)
def test_equal_numbers_are_the_same_whatever_their_type(
    before: str, after: str, moved: int
) -> None:
    (choice,) = rank_edits([candidate("a", 1.0)], [(after,)], (before,), trusted=[True])
    assert choice.signs is not None
    assert choice.signs.moved == moved


def test_what_was_not_compared_says_nothing() -> None:
    (choice,) = rank_edits([candidate("a", 1.0)], [("1",)], ("1",), trusted=[False])
    assert choice.signs is not None
    assert choice.signs.moved is None
    (choice,) = rank_edits([candidate("a", 1.0)], [None], None)
    assert choice.signs is not None
    assert choice.signs.kept is choice.signs.breaks is None


@pytest.mark.parametrize(
    ("one", "other", "only_one"),
    [
        ("isinstance(x, Row)", "isinstance(x, Rows)", True),
        ("return None", "return []", True),
        ("size + 1", "size - 2", False),
        ("item.name", "item.key", True),
        ("x > 1", "x >= 1", False),
        ("f(x)", "f(x, y)", False),
    ],
)
def test_programs_that_differ_in_one_name_or_constant(
    one: str, other: str, *, only_one: bool
) -> None:
    texts = (f"def f(x):\n    {line}\n" for line in (one, other))
    assert is_other_ingredient(*texts) is only_one


def test_where_any_name_would_do_none_is_sure() -> None:
    pair = [candidate("a", -0.3), candidate("b", -0.3)]
    texts = ["isinstance(x, Row)", "isinstance(x, Column)"]
    alike, before = [("1", "2"), ("1", "2")], ("raises NameError", "2")
    for said, sure in ((texts, False), (["x > 1", "1 < x"], True)):
        best = rank_edits(pair, alike, before, texts=said, tests=20, failing=3)[0]
        assert (best.confidence >= 0.5) is sure, said
