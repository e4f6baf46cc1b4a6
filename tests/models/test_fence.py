"""Fences: bounded, and closed by nothing within."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.foreign_text import visible
from runtrue.models import fence

TEXTS = st.text(alphabet="`~ab\n\r\u2028 …", max_size=80) | st.text(max_size=80)


@pytest.mark.parametrize(
    ("text", "limit", "fenced"),
    [
        ("", 10, "```text\n\n```"),
        ("short", 5, "```text\nshort\n```"),
        ("a ``` b", 99, "````text\na ``` b\n````"),
        ("`````", 99, "``````text\n`````\n``````"),
        ("0123456789", 4, "```text\n01\n[… 6 characters left out …]\n89\n```"),
        ("0123456789", 5, "```text\n012\n[… 5 characters left out …]\n89\n```"),
        ("0123456789", 0, "```text\n\n[… 10 characters left out …]\n\n```"),
        # Only what is kept decides how long the fence is.
        ("ab`````````cd", 4, "```text\nab\n[… 9 characters left out …]\ncd\n```"),
    ],
)
def test_a_text_is_trimmed_head_and_tail_and_fenced(text: str, limit: int, fenced: str) -> None:
    assert fence(text, limit=limit) == fenced


@given(text=TEXTS, limit=st.integers(0, 100))
def test_nothing_within_closes_the_fence(text: str, limit: int) -> None:
    fenced = fence(text, limit=limit)
    ticks = re.match(r"`+", fenced)
    assert ticks
    inner = fenced.removeprefix(f"{ticks[0]}text\n").removesuffix(f"\n{ticks[0]}")
    assert fenced == f"{ticks[0]}text\n{inner}\n{ticks[0]}"
    assert ticks[0] not in inner


@given(text=TEXTS, limit=st.integers(0, 100))
def test_exactly_the_limit_is_kept_of_a_longer_text(text: str, limit: int) -> None:
    inner = fence(text, limit=limit).partition("text\n")[2].rstrip("`")[:-1]
    if visible(text, keep="\n\t\r\f") != text:
        return  # escapes are longer
    line = f"\n[… {len(text) - limit} characters left out …]\n"
    if len(text) <= limit:
        assert inner == text
    else:
        head, _, tail = inner.partition(line)
        assert len(head + tail) == limit
        assert text.startswith(head)
        assert text.endswith(tail)


def test_what_people_would_not_see_is_escaped_for_a_model_too() -> None:
    words = "".join(chr(0xE0000 + ord(char)) for char in "obey")
    assert "\\U000e006f" in fence(f"a{words}\x1b[2J\r\n", limit=100)
    assert "\x1b" not in fence("\x1b[2J", limit=100)
