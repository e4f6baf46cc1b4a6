"""Proposals: edits in the order of suspicion and habit, none twice, and never of what judges."""

from __future__ import annotations

import ast

from hypothesis import given, settings
from hypothesis import strategies as st

from runtrue.fixers.search.edit import Splice, splice
from runtrue.fixers.search.evidence import Failure
from runtrue.fixers.search.localise import Suspicion
from runtrue.fixers.search.priors import Priors
from runtrue.fixers.search.proposals import EditSet, Proposals

SHOP = '''\
"""Prices of a shop."""


def total(prices, limit):
    """The sum of what is below a limit.

    >>> total([1, 5], 3)
    1
    """
    result = 0
    for price in prices:  # each of them
        if price < limit:
            result += price
    return result
'''


def proposals(
    text: str = SHOP, lines: dict[int, float] | None = None, *failures: Failure
) -> Proposals:
    suspect = lines or dict.fromkeys(range(1, text.count("\n") + 2), 0.5)
    return Proposals(
        {"shop.py": text},
        Suspicion(lines={"shop.py": suspect}),
        failures,
        Priors.for_(failures, {}),
    )


def texts(found: Proposals, text: str = SHOP) -> list[str]:
    return [one.texts({"shop.py": text})["shop.py"] for one in found.singles() if found.is_new(one)]


def test_every_candidate_is_a_program_and_another_one() -> None:
    original = ast.dump(ast.parse(SHOP))
    every = texts(proposals())
    assert len(every) > 100
    for one in every:
        assert ast.dump(ast.parse(one)) != original


def test_what_comes_to_the_same_program_is_proposed_once() -> None:
    every = [ast.dump(ast.parse(one)) for one in texts(proposals())]
    assert len(every) == len(set(every))


def test_formatting_and_comments_survive() -> None:
    assert all(
        "# each of them" in one for one in texts(proposals()) if "for price in prices:" in one
    )


def test_docstrings_are_left_alone_since_doctests_judge() -> None:
    assert all(">>> total([1, 5], 3)\n    1\n" in one for one in texts(proposals()))


def test_the_most_suspect_line_is_tried_first() -> None:
    found = proposals(SHOP, {10: 0.1, 12: 1.0, 14: 0.1})
    assert next(iter(found.singles())).edits[0].line == 12


def test_lines_that_nothing_speaks_against_are_tried_only_in_functions_that_ran() -> None:
    other = SHOP + "\n\ndef unused(a, b):\n    return a - b\n"
    found = proposals(other, {12: 1.0})
    assert {one.edits[0].line for one in found.singles()} <= set(range(3, 15))


def test_the_failure_decides_which_kinds_come_first() -> None:
    missing = Failure(test="t", exception="NameError", name="limits")
    text = SHOP.replace("price < limit", "price < limits")
    kinds = [one.kind for one in list(proposals(text, {12: 1.0}, missing).singles())[:5]]
    assert set(kinds) & {"name", "undefined"}


def test_a_kind_that_has_held_is_tried_sooner() -> None:
    failure = Failure(test="t", exception="AssertionError")
    often = Priors.for_([failure], {("wrong_value", "delete"): 40})
    assert often.of("delete") > 5 * Priors.for_([failure], {}).of("delete")


def test_the_same_mistake_in_several_places_is_one_candidate() -> None:
    text = "def f(count, items):\n    total = cuont + 1\n    return total * cuont\n"
    failure = Failure(test="t", exception="NameError", name="cuont")
    made = texts(proposals(text, None, failure), text)
    assert text.replace("cuont", "count") in made


def test_a_file_that_does_not_parse_gives_none() -> None:
    assert texts(proposals("def f(:\n"), "def f(:\n") == []


@given(st.text(max_size=30), st.lists(st.tuples(st.integers(0, 30), st.text(max_size=3))))
@settings(max_examples=50)
def test_splices_change_just_what_they_name(text: str, at: list[tuple[int, str]]) -> None:
    places = sorted({min(place, len(text)): new for place, new in at}.items())
    made = splice(text, [Splice(place, place, new) for place, new in places])
    assert len(made) == len(text) + sum(len(new) for _, new in places)


def test_edits_of_the_same_place_are_not_made_together() -> None:
    first, second, *_ = [
        one for one in proposals(SHOP, {12: 1.0}).singles() if one.kind == "comparison"
    ]
    assert isinstance(first, EditSet)
    assert first.with_(second) is None


def test_a_mark_of_the_byte_order_stays_where_it_is() -> None:
    marked = "\ufeff" + SHOP
    assert texts(proposals(marked), marked) == ["\ufeff" + one for one in texts(proposals())]
    alone = "\ufeffx = math.sqrt(2)\n"
    assert "\ufeffimport math\nx = math.sqrt(2)\n" in texts(proposals(alone), alone)


def test_a_function_whose_edits_change_nothing_comes_later() -> None:
    two = SHOP + SHOP.replace("total", "least").split('"""Prices of a shop."""')[1]
    found = proposals(two)
    last = two.count("\n") // 2
    lines: list[int] = []
    for one in found.singles():
        lines.append(one.edits[0].line)
        found.learn(one, changes=lines[-1] > last, fixes=False)
    halves = lines[: len(lines) // 2], lines[len(lines) // 2 :]
    later = [sum(line > last for line in half) / len(half) for half in halves]
    assert later[0] > 2 * later[1]
