"""Fences: untrusted material within a prompt, bounded in length and unable to get out."""

from __future__ import annotations

import re

from runtrue.foreign_text import visible


def fence(text: str, *, limit: int) -> str:
    """Put a text into a fence that nothing within can close.

    Of a text longer than `limit` characters the head and the tail stay, `limit` in all, with a
    line between them that says how much is missing. What cannot be seen in it is escaped: a model
    would read what people do not notice.
    """
    missing = len(text) - limit
    if missing > 0:
        head = (limit + 1) // 2
        text = f"{text[:head]}\n[… {missing} characters left out …]\n{text[head + missing :]}"
    # Files are shown with the line ends that they have, so that edits of them fit.
    text = visible(text, keep="\n\t\r\f")
    longest = max((len(ticks) for ticks in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}text\n{text}\n{ticks}"
