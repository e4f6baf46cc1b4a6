"""The little English that the grammar needs."""

from __future__ import annotations

import pytest

from runtrue.planner.words import name_of, plural, singular, split_name


@pytest.mark.parametrize(
    ("one", "many"),
    [
        *(("user", "users"), ("company", "companies"), ("day", "days"), ("box", "boxes")),
        *(("class", "classes"), ("match", "matches"), ("person", "people"), ("child", "children")),
        *(("status", "status"), ("news", "news"), ("address", "address"), ("page", "pages")),
    ],
)
def test_one_and_many(one: str, many: str) -> None:
    assert (singular(many), plural(one)) == (one, many)
    assert (singular(one), plural(many)) == (one, many)


def test_names_are_made_of_words_and_words_of_names() -> None:
    assert name_of(["Display", "Name"]) == "display_name"
    assert name_of(["displayName"]) == "displayName"
    assert name_of(["2nd item"]) == "_2nd_item"
    assert name_of(["?"]) == ""
    assert (
        split_name("getCurrentTime") == split_name("get_current-time") == ("get", "current", "time")
    )
