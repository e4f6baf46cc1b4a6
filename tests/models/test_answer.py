"""What several questions used up is summed, and a cost that is not known stays unknown."""

from __future__ import annotations

from runtrue.models import Usage

ONE = Usage(model="a:one", input_tokens=10, output_tokens=5, requests=1, cost=0.25)


def test_usages_are_summed_under_the_name_of_the_last() -> None:
    other = Usage(model="a:two", input_tokens=1, output_tokens=2, requests=3, cost=0.5)
    assert other.plus(ONE) == Usage(
        model="a:two", input_tokens=11, output_tokens=7, requests=4, cost=0.75
    )


def test_nothing_before_changes_nothing() -> None:
    assert ONE.plus(None) == ONE


def test_a_cost_that_is_not_known_is_not_taken_for_none() -> None:
    unknown = Usage(model="a:one", cost=None)
    assert ONE.plus(unknown).cost is None
    assert unknown.plus(ONE).cost is None
