"""lcov: the lines `SF` (a file) and `DA` (a line of it, and how often it ran) of a tracefile."""

from __future__ import annotations

from runtrue.checks.coverage.comments import lines_without_code
from runtrue.checks.coverage.files import Collected
from runtrue.checks.framework import Language, language_of

_JAVASCRIPT = (Language.JAVASCRIPT, Language.TYPESCRIPT)


def read_lcov(data: bytes, collected: Collected) -> None:
    """Collect what a report says. Raises ValueError when it is none."""
    name: str | None = None
    is_open = False
    counts: list[tuple[int, int]] = []
    idle: set[int] = set()
    for line in data.decode(errors="replace").splitlines():
        kind, _, value = line.strip().partition(":")
        if kind == "SF":
            name, counts, is_open = collected.own(value), [], True
            idle = set()
            if name and language_of(name) in _JAVASCRIPT:
                idle = lines_without_code(collected.workplace.root / name)
        elif kind == "DA" and is_open:
            number, count = value.split(",")[:2]
            counts.append((int(number), int(count)))
        elif kind == "end_of_record" and is_open:
            collected.add(name, (one for one in counts if one[0] not in idle))
            is_open = False
    if is_open:
        raise ValueError("it ends within a record")
