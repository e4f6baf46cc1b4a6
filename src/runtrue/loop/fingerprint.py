"""Fingerprints: the same failure has the same one tomorrow, in another place, after an edit.

What varies from run to run without meaning anything is taken out of the message first: addresses,
line numbers, paths, timings, ids. What is left says what failed, not where or when.
"""

from __future__ import annotations

import hashlib
import re

_VOLATILE = [
    # The order matters: colours are no text, and a path may hold what looks like a time or an id.
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    # A path keeps its last name: which file it is says something, where the project lies does not.
    # Only what begins like a path is one: not `and/or`, not the end of an address on the web.
    (re.compile(r"""(["'])(?:[A-Za-z]:)?[\\/][^"'\n]*[\\/]([^"'\\/\n]+)\1"""), r"\1\2\1"),
    (re.compile(r"(?<![\w.:/\\])(?:[A-Za-z]:)?(?:[\\/][\w.@+~-]+)*[\\/]([\w.@+~-]+)"), r"\1"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.I), "<id>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.I), "<address>"),
    (
        re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"),
        "<time>",
    ),
    (re.compile(r"\b\d\d:\d\d:\d\d(?:\.\d+)?\b"), "<time>"),
    (
        re.compile(r"\b\d+(?:\.\d+)?(?:e-?\d+)? ?(?:ns|us|µs|ms|s|secs?|seconds?|minutes?)\b"),
        "<time>",
    ),
    (re.compile(r"(?<=[\w.]):\d+(?::\d+)?\b"), ":<line>"),
    (re.compile(r"\b(lines?|columns?|col|pid|port|id|tid|fd)([ =:#]+)\d+\b", re.I), r"\1\2<n>"),
    (re.compile(r"\b(?:[0-9a-f]{12,64}|\d{5,})\b", re.I), "<id>"),
    (re.compile(r"\s+"), " "),
]


def normalise(text: str) -> str:
    """`text` without what varies from run to run."""
    for pattern, replacement in _VOLATILE:
        text = pattern.sub(replacement, text)
    return text.strip()


def fingerprint(category: str, message: str, symbol: str | None = None) -> str:
    """A short stable name for a failure: of what kind, saying what, of which test or function."""
    parts = (category, normalise(message), normalise(symbol or ""))
    return hashlib.blake2b(
        "\0".join(parts).encode(errors="backslashreplace"), digest_size=8
    ).hexdigest()
