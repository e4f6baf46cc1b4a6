"""Fences: untrusted material within a prompt, bounded in length and unable to get out."""

from __future__ import annotations

import re


def fence(text: str, *, limit: int) -> str:
    """Put a text into a fence that nothing within can close.

    Of a text longer than `limit` characters the head and the tail stay, `limit` in all, with a
    line between them that says how much is missing.
    """
    missing = len(text) - limit
    if missing > 0:
        head = (limit + 1) // 2
        text = f"{text[:head]}\n[… {missing} characters left out …]\n{text[head + missing :]}"
    longest = max((len(ticks) for ticks in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}text\n{text}\n{ticks}"
