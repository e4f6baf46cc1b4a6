"""The lines around a finding, out of the candidate's files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runtrue.redaction import Redactor, is_secret_file

_AROUND = 3
_LARGEST = 1_000_000


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line with its number; `hit` where the finding is."""

    number: int
    text: str
    hit: bool


def source_around(
    roots: Sequence[str | None], file: str | None, line: int | None, redact: Redactor
) -> tuple[SourceLine, ...]:
    """Return the lines around a place, from the first root that has the file.

    A report is foreign: it names no file outside of the roots, and no file with secrets.
    """
    if not file or not line or is_secret_file(file):
        return ()
    for root in filter(None, roots):
        try:
            base = Path(root).resolve()
            path = (base / file).resolve()
            if not path.is_relative_to(base) or is_secret_file(str(path.relative_to(base))):
                continue
            if not path.is_file() or path.stat().st_size > _LARGEST:
                continue
            lines = path.read_text("utf-8", "replace").splitlines()
        except (OSError, ValueError):
            continue
        first = max(1, line - _AROUND)
        return tuple(
            SourceLine(number, redact(text[:400]), number == line)
            for number, text in enumerate(lines[first - 1 : line + _AROUND], first)
        )
    return ()
