"""Rows: one search each, and whether the edit that it would have handed over is right."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

SOURCES = ("programs", "mutants", "real")
#: Not searched for: the best edit of a search if all that behave like the right one are left out.
WITHOUT = "without"
#: Those that the committed weights were last changed by; without what the edits say.
ROWS = Path(__file__).parent / "rows.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The best edit of one search. `right` is None where none passed, or nobody can say."""

    source: str
    #: What must not be in the fit and in its test at once.
    project: str
    bug: str
    right: bool | None
    features: dict[str, float]
    #: What the search said of it.
    confidence: float | None
    says: str
    #: A rule decides, not the fit: there is a doubt about it, it may dodge the failing code, breaks
    #: much, or shares its place with others.
    ruled_out: bool = False
    #: The edits that were tried, and the seconds of processor time that it took.
    tried: int = 0
    seconds: float = 0.0


def read_rows(file: Path) -> Iterator[Row]:
    """Yield the rows of a file, one JSON object on each line."""
    if file.exists():
        for line in file.read_text("utf-8").splitlines():
            yield Row(**json.loads(line))


def append_row(file: Path, row: Row) -> None:
    """Add a row to a file."""
    with file.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")
