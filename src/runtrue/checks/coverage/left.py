"""Left reports: those that a test command writes by itself, by their usual names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import or_
from pathlib import Path

from runtrue.checks.coverage.facts import Coverage
from runtrue.checks.coverage.report import read_report
from runtrue.checks.locations import State, files_below, state_of
from runtrue.loop import Workplace

#: Names of reports, in any directory of the project; of several formats the first counts.
NAMES = (
    *("coverage-final.json", "lcov.info"),
    *("coverage.json", "coverage.xml", "cobertura.xml", "cobertura-coverage.xml"),
    *("cover.out", "coverage.out"),
    *("jacoco.xml", "jacocoTestReport.xml"),
)


class LeftReports:
    """The reports below a directory that were new or changed since this object was made."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._before = dict(self._files())

    def coverage(self, workplace: Workplace) -> Coverage | None:
        """Return the coverage in the new reports of the first format found, all parts together."""
        new = [file for file, state in self._files() if self._before.get(file) != state]
        for name in NAMES:
            reports = [read_report(file, workplace) for file in sorted(new) if file.name == name]
            found = [report for report in reports if report is not None]
            if found:
                return reduce(or_, found)
        return None

    def _files(self) -> Iterator[tuple[Path, State]]:
        for file in files_below(self._directory):
            if file.name in NAMES and (state := state_of(file)):
                yield file, state
