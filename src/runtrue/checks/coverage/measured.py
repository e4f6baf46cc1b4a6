"""Measured: the coverage of a check's last run, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runtrue.checks.coverage.facts import Coverage
from runtrue.checks.kept import keep, kept_file, load

_KIND = "coverage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What came of measuring: either is set. `why_not` says what to do about it, too."""

    coverage: Coverage | None = None
    why_not: str | None = None


def keep_measured(measured: Measured, scratch: Path, check: str) -> None:
    """Leave what a check measured for `load_measured`."""
    keep(measured, kept_file(scratch, _KIND, check))


def forget_measured(scratch: Path, check: str) -> None:
    """Remove what an earlier run measured: it was of another candidate."""
    kept_file(scratch, _KIND, check).unlink(missing_ok=True)


def load_measured(scratch: Path, check: str) -> Measured | None:
    """What the last run of a check measured; None when it was not asked to, or not run."""
    return load(kept_file(scratch, _KIND, check), Measured)
