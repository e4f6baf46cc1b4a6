"""Whatever a response holds and whatever was guessed, ranking ends soon and tells the truth."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runtrue.fields import Ranked, rank_names, rank_paths
from runtrue.workflow.paths import parse_path

TEXT = st.text(max_size=30)
NAMES = st.one_of(
    TEXT, st.sampled_from(["id", "name", "user", "items", "a b", "${x}", "it's", "\x00"])
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=25,
)


def check(ranked: list[Ranked], body: Any) -> None:
    confidences = [one.confidence for one in ranked]
    assert confidences == sorted(confidences, reverse=True)
    assert all(0 <= confidence <= 1 for confidence in confidences)
    for one in ranked:
        assert parse_path(one.path).find(body, open_text=False) is one.value


@settings(deadline=None)
@given(body=JSON, guess=TEXT, intent=TEXT, url=TEXT)
@example(body={"a": [{"b": 1}]}, guess="$.a[9999999999999999999999].b", intent="", url="")
@example(body={"\ud800": {"'": None}}, guess="$['", intent="’s ’s", url="://?=&")
@example(body={"items": [[[1]]]}, guess="$.items[-1][-1][-5]", intent="the last", url="")
def test_any_body_and_any_text_give_true_answers(
    body: Any, guess: str, intent: str, url: str
) -> None:
    ranked = rank_paths(guess, intent, url, body)
    check(ranked, body)
    assert ranked == rank_paths(guess, intent, url, body)


@given(guess=TEXT, intent=TEXT, names=st.dictionaries(NAMES, TEXT, max_size=6))
def test_any_names_are_ranked(guess: str, intent: str, names: dict[str, str]) -> None:
    ranked = rank_names(guess, intent, names)
    assert {one.path: one.value for one in ranked} == names


def deep(levels: int) -> Any:
    body: Any = {"name": "at the bottom"}
    for n in range(levels):
        body = {"inner": body} if n % 2 else [body]
    return body


HOSTILE: dict[str, Callable[[], Any]] = {
    "a million names": lambda: {f"field_{n}": n for n in range(1_000_000)},
    "a million entries": lambda: {"items": [{"id": n, "title": "x"} for n in range(1_000_000)]},
    "fifty megabytes of text": lambda: {"title": "word " * 10_000_000, "y" * 10_000_000: 1},
    "ten thousand levels": lambda: deep(10_000),
    "wide on every level": lambda: {
        f"a{i}": {f"b{j}": {"c": 1} for j in range(300)} for i in range(300)
    },
    "a huge number": lambda: {"id": 10**5000, "ids": [10**5000, -(10**5000)]},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bodies_are_bounded(name: str) -> None:
    body = HOSTILE[name]()
    rank_paths("$.warm.up", "load the words", "", {"a": 1})
    began = time.perf_counter()
    ranked = rank_paths("$.items[5].name", "name of 12 x", "https://h/12?x=12", body)
    assert time.perf_counter() - began < 3  # a second at most, here with room for a busy machine
    check(ranked, body)


def test_hostile_questions_are_bounded() -> None:
    body = {"name": "n", "items": [1]}
    began = time.perf_counter()
    for text in ("a." * 500_000, "[0]" * 300_000, "x" * 5_000_000, "of 's " * 200_000, "['" * 9999):
        check(rank_paths(text, text, text, body), body)
    assert time.perf_counter() - began < 5


def test_very_many_names_are_bounded_and_the_right_one_is_found() -> None:
    names = {f"field_{n}": f"Number {n} of all that can be set" for n in range(1_900)}
    names |= {"timezone": "", **{f"more_{n}": "" for n in range(3_000)}}
    began = time.perf_counter()
    for n in range(100):
        assert rank_names("tz", f"time in place {n}", names)[0].path == "timezone"
    assert time.perf_counter() - began < 10


def test_nothing_heavy_is_imported_and_data_is_read_late() -> None:
    program = (
        "import sys, runtrue.fields.rank as r, runtrue.fields.thesaurus as t;"
        "assert t.thesaurus.cache_info().currsize == 0;"
        "heavy = {'numpy', 'httpx2', 'mcp', 'pydantic', 'yaml', 'jsonschema'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
