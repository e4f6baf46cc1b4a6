"""Istanbul: the JSON of jest, vitest, nyc and c8, which counts statements."""

from __future__ import annotations

import msgspec

from runtrue.checks.coverage.comments import lines_without_code
from runtrue.checks.coverage.files import Collected


class _Position(msgspec.Struct):
    line: int


class _Range(msgspec.Struct):
    start: _Position


class _File(msgspec.Struct):
    path: str
    # Whoever wrote it, the names are Istanbul's.
    ranges: dict[str, _Range] = msgspec.field(name="statementMap")
    counts: dict[str, int] = msgspec.field(name="s")


def read_istanbul(data: bytes, collected: Collected) -> None:
    """Collect what a report says; a line counts by the statements that begin in it."""
    for file in msgspec.json.decode(data, type=dict[str, _File]).values():
        name = collected.own(file.path)
        if name is None:
            continue
        # No statement begins in a comment, but c8 knows none: it makes one of every line.
        idle = lines_without_code(collected.workplace.root / name)
        lines = ((place.start.line, file.counts[key]) for key, place in file.ranges.items())
        collected.add(name, (one for one in lines if one[0] not in idle))
