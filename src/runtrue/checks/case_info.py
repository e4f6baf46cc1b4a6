"""Case infos: where the cases of a check's last run are written, and what they are marked with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runtrue.checks.kept import keep, kept_file, load

_KIND = "cases"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseInfo:
    """What is known of a case beside how it ended; `file` is as seen from the root."""

    file: str | None = None
    line: int | None = None
    markers: tuple[str, ...] = ()


def info_of_name(case: str, root: Path) -> CaseInfo:
    """What the name of a case says: most begin with their file."""
    file, bar, _ = case.partition("::")
    return CaseInfo(file=file if bar and (root / file).is_file() else None)


def keep_cases(cases: Mapping[str, CaseInfo], scratch: Path, check: str) -> None:
    """Leave what is known of a check's cases for `load_cases`."""
    keep(cases, kept_file(scratch, _KIND, check))


def forget_cases(scratch: Path, check: str) -> None:
    """Remove what is known of the cases of an earlier run."""
    kept_file(scratch, _KIND, check).unlink(missing_ok=True)


def load_cases(scratch: Path, check: str) -> dict[str, CaseInfo]:
    """The cases of the last run of a check by name; none when it was not to measure coverage."""
    return load(kept_file(scratch, _KIND, check), dict[str, CaseInfo]) or {}
