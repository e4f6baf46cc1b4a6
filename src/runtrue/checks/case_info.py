"""Case infos: where the cases of a check's last run are written, and their markers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runtrue.checks.saved import SavedValue


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseInfo:
    """Facts about a case besides its outcome; `file` is relative to the root."""

    file: str | None = None
    line: int | None = None
    markers: tuple[str, ...] = ()


CASES = SavedValue("cases", dict[str, CaseInfo])


def info_of_name(case: str, root: Path) -> CaseInfo:
    """Read the file out of a case's name: most begin with it."""
    file, bar, _ = case.partition("::")
    return CaseInfo(file=file if bar and (root / file).is_file() else None)


def load_cases(scratch: Path, check: str) -> dict[str, CaseInfo]:
    """Return the cases of a check's last run by name; none if it did not measure coverage."""
    return CASES.load(scratch, check) or {}
