"""Coverage facts: the lines of each file that ran, and those that could have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runtrue.checks.saved import SavedValue


@dataclass(frozen=True, slots=True)
class FileCoverage:
    """The lines of one file that hold code: those that ran and those that did not."""

    executed: frozenset[int] = frozenset()
    missing: frozenset[int] = frozenset()

    @classmethod
    def of_counts(cls, counts: Iterable[tuple[int, int]]) -> FileCoverage:
        """Build it from how often lines ran; a line with several counts ran if one is positive."""
        missing: set[int] = set()
        executed: set[int] = set()
        for line, count in counts:
            if line > 0:
                (executed if count > 0 else missing).add(line)
        return cls(executed=frozenset(executed), missing=frozenset(missing - executed))

    @property
    def lines(self) -> frozenset[int]:
        """All lines that count."""
        return self.executed | self.missing

    def __or__(self, other: FileCoverage) -> FileCoverage:
        executed = self.executed | other.executed
        return FileCoverage(executed, (self.missing | other.missing) - executed)


@dataclass(frozen=True, slots=True)
class Coverage:
    """The lines that one run of the tests covered, by file relative to the sandbox's root."""

    files: dict[str, FileCoverage] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """The number of lines that ran and of all lines, by file."""
        return {file: (len(c.executed), len(c.lines)) for file, c in sorted(self.files.items())}

    def percent(self, files: Collection[str] | None = None) -> float | None:
        """Return how much of some files, or of all, ran; None if they hold no line that counts."""
        wanted = self.files.keys() if files is None else set(files)
        counts = [count for file, count in self.counts.items() if file in wanted]
        return _percent(sum(ran for ran, _ in counts), sum(of for _, of in counts))

    def percent_of_lines(self, lines: Mapping[str, frozenset[int]]) -> float | None:
        """Return how much of some lines ran; None if none of them counts."""
        files = {file: self.files.get(file, FileCoverage()) for file in lines}
        ran = sum(len(lines[file] & c.executed) for file, c in files.items())
        return _percent(ran, sum(len(lines[file] & c.lines) for file, c in files.items()))

    def missed(self, lines: Mapping[str, frozenset[int]]) -> dict[str, tuple[int, ...]]:
        """Return those of some lines that could have run and did not, by file."""
        missed = {
            file: tuple(sorted(wanted & self.files.get(file, FileCoverage()).missing))
            for file, wanted in lines.items()
        }
        return {file: numbers for file, numbers in missed.items() if numbers}

    def __or__(self, other: Coverage) -> Coverage:
        files = dict(self.files)
        for file, coverage in other.files.items():
            files[file] = files.get(file, FileCoverage()) | coverage
        return Coverage(files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The coverage of a check's run, or `why_not`: why there is none and what to do about it."""

    coverage: Coverage | None = None
    why_not: str | None = None


MEASURED = SavedValue("coverage", Measured)


def load_measured(directory: Path, check: str) -> Measured | None:
    """Return what was measured by the last run of a check."""
    return MEASURED.load(directory, check)


def _percent(ran: int, of: int) -> float | None:
    return 100 * ran / of if of else None
