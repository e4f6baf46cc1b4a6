"""Search failures by their messages, in a time that hardly depends on their number.

The shapes with the rarest words of the query are considered, the latest of each word first and
never more than a fixed number, so that a word that all of them have costs nothing.
"""

from __future__ import annotations

import heapq
import math
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from runtrue.memory.shapes import words_of

#: The number of shapes to consider in all, and because of one word.
_LOOKED_AT = 6_000
_LATEST = 2_000
#: The number of the most promising shapes to compare in full.
_COMPARED = 30
#: The least score of a similar shape.
_LEAST = 0.25


def similar_shapes(
    db: sqlite3.Connection, error_type: str, message: str, shape: str | None = None
) -> list[tuple[int, float]]:
    """Return the ids of the shapes most like a message, with their scores, the best first.

    The words in common are weighed against the words of either; rare words weigh more. Without an
    error type, the message is a query, and the other words of a shape do not count.
    """
    wanted = words_of(error_type, message)
    counts = _counts(db, wanted)
    everything = 1 + (db.execute("SELECT MAX(id) FROM shapes").fetchone()[0] or 0)

    def weight(words: Iterable[int]) -> float:
        # A word that no shape holds is as telling as one that a single shape holds.
        return sum(math.log(1 + everything / counts.get(word, 1)) for word in words)

    promise: dict[int, float] = {}
    left = _LOOKED_AT
    for word in sorted(counts, key=lambda word: (counts[word], word)):
        more = weight((word,))
        for (found,) in db.execute(_LATEST_WITH, (word, min(left, _LATEST))):
            promise[found] = promise.get(found, 0.0) + more
        left -= min(counts[word], _LATEST)
        if left <= 0:
            break
    for (found,) in db.execute("SELECT id FROM shapes WHERE shape = ?", (shape or "",)):
        promise[found] = math.inf
    best = heapq.nlargest(_COMPARED, promise, key=lambda found: (promise[found], found))
    texts = {found: words_of(kind, text) for found, kind, text in _in(db, _TEXTS, best)}
    counts |= _counts(db, frozenset().union(*texts.values()) - wanted)
    scores = [
        (found, weight(wanted & words) / (weight(wanted | words if error_type else wanted) or 1))
        for found, words in texts.items()
    ]
    return sorted((s for s in scores if s[1] >= _LEAST), key=lambda s: (-s[1], -s[0]))


_LATEST_WITH = "SELECT shape FROM shape_words WHERE word = ? ORDER BY shape DESC LIMIT ?"
_TEXTS = "SELECT id, error_type, message FROM shapes WHERE id IN ({})"
_COUNTS = "SELECT word, shapes FROM words WHERE word IN ({})"


def _counts(db: sqlite3.Connection, words: Iterable[int]) -> dict[int, int]:
    """Return the number of shapes with each word; words in none are left out."""
    return {word: count for word, count in _in(db, _COUNTS, list(words)) if count > 0}


def _in(db: sqlite3.Connection, statement: str, values: Sequence[int]) -> list[tuple[Any, ...]]:
    marks = ",".join("?" * len(values))
    return db.execute(statement.format(marks), values).fetchall()


def index_words(db: sqlite3.Connection, shape: int, words: Iterable[int]) -> None:
    """Index a new shape by its words."""
    rows = [(word, shape) for word in sorted(words)]
    db.executemany("INSERT INTO shape_words (word, shape) VALUES (?, ?)", rows)
    db.executemany(
        "INSERT INTO words (word, shapes) VALUES (?, 1) ON CONFLICT DO UPDATE SET "
        "shapes = shapes + 1",
        [row[:1] for row in rows],
    )


def drop_words(db: sqlite3.Connection, shape: int, words: Iterable[int]) -> None:
    """Remove a shape from the index."""
    rows = [(word, shape) for word in words]
    db.executemany("DELETE FROM shape_words WHERE word = ? AND shape = ?", rows)
    db.executemany("UPDATE words SET shapes = shapes - 1 WHERE word = ?", [r[:1] for r in rows])
    db.executemany("DELETE FROM words WHERE word = ? AND shapes < 1", [r[:1] for r in rows])
