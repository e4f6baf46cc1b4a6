"""Messages suggest the word that was probably meant."""

from __future__ import annotations

import pytest

from runtrue.documents import closest, is_one_edit, suggestion, unknown_key


def test_the_closest_word_is_suggested() -> None:
    assert closest("comand", ["commit", "command"]) == "command"
    assert suggestion("comand", ["command"]) == " (did you mean 'command'?)"


def test_nothing_is_suggested_for_a_word_that_is_like_none() -> None:
    assert closest("zebra", ["command"]) is None
    assert suggestion("zebra", iter(["command"])) == ""


def test_an_unknown_key_names_all_that_are_known() -> None:
    expected = "unknown key (did you mean 'fix'?); known here: fix, env"
    assert unknown_key("fixx", iter(["fix", "env"])) == expected


@pytest.mark.parametrize(
    ("word", "other", "expected"),
    [
        ("happy", "hapy", True),
        ("happy", "happpy", True),
        ("happy", "hoppy", True),
        ("happy", "hpapy", True),
        ("happy", "happy", False),
        ("happy", "hope", False),
        ("", "a", True),
        ("ab", "", False),
    ],
)
def test_one_edit(word: str, other: str, expected: bool) -> None:
    assert is_one_edit(word, other) is expected
    assert is_one_edit(other, word) is expected
