"""Fences: bounded, and closed by nothing within."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    line = f"\n[… {len(text) - limit} characters left out …]\n"
    if len(text) <= limit:
        assert inner == text
    else:
        head, _, tail = inner.partition(line)
        assert len(head + tail) == limit
        assert text.startswith(head)
        assert text.endswith(tail)
