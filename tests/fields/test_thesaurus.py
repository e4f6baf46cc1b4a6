"""Words in any spelling are the same term, and terms are as near as their meanings."""

from __future__ import annotations

from pathlib import Path

import pytest

import runtrue.fields
from runtrue.fields.thesaurus import likeness, terms_of
from runtrue.fields.words import root, stem, words_of

FILE = Path(runtrue.fields.__file__).with_name("thesaurus.txt")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("publicRepos", ["public", "repos"]),
        ("HTTPServer_v2", ["http", "server", "v", "2"]),
        ("content-type", ["content", "type"]),
        ("größe", ["größe"]),
        ("what's up?", ["what", "s", "up"]),
    ],
)
def test_names_and_sentences_fall_into_words(name: str, words: list[str]) -> None:
    assert words_of(name) == words


@pytest.mark.parametrize(
    "words",
    [
        ("city", "cities"),
        ("create", "created", "creates", "creating"),
        ("ship", "shipped", "shipping"),
        ("person", "people"),
        ("address", "addresses"),
    ],
)
def test_number_and_tense_do_not_matter(words: tuple[str, ...]) -> None:
    assert len({stem(word) for word in words}) == 1


def test_words_of_one_family_share_a_root() -> None:
    assert len({root(stem(word)) for word in ("create", "creator", "creation")}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("qty", "quantity"),
        ("tz", "time_zone"),
        ("duedate", "dueDate"),
        ("num_members", "memberCount"),
        ("colours", "color"),
    ],
)
def test_spellings_of_one_name_are_the_same_terms(one: str, other: str) -> None:
    assert set(terms_of(one)[0]) == set(terms_of(other)[0])


def near(one: str, other: str) -> float:
    (first, *_), (second, *_) = terms_of(one)[0], terms_of(other)[0]
    assert likeness(first, second) == likeness(second, first)
    return likeness(first, second)


def test_the_nearer_the_meaning_the_greater_the_likeness() -> None:
    same, family, synonym = (
        near("price", "prices"),
        near("create", "creator"),
        near("price", "cost"),
    )
    assert 1 == same > family > synonym > near("price", "picture")
    assert near("piano", "guitar") > near("piano", "invoice")  # only the vectors know


def test_what_excludes_each_other_is_not_alike() -> None:
    assert near("latitude", "longitude") == near("sunrise", "sunset") == 0


def test_every_line_of_the_file_is_of_a_known_form() -> None:
    lines = [line.split() for line in FILE.read_text("utf-8").splitlines()]
    kept = [line for line in lines if line and not line[0].startswith("#")]
    odd = [line for line in kept if not (line[0] in "=~!" or (line[1] == ":" and len(line) == 3))]
    alone = [line for line in kept if line[0] in "=~!" and len(set(line)) < 3]
    short = [line[0] for line in kept if line[1] == ":"]
    assert odd == alone == []
    assert len(short) == len(set(short))
