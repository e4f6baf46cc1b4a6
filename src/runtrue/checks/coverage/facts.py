"""The facts of coverage: the lines of each file that ran, and those that could have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FileCoverage:
    """The lines of one file that hold something to run: those that ran and those that did not."""

    executed: frozenset[int] = frozenset()
    missing: frozenset[int] = frozenset()

    @classmethod
    def of_counts(cls, counts: Iterable[tuple[int, int]]) -> FileCoverage:
        """From how often lines ran; of a line that is counted in several parts, one will do."""
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
    """What one run of the tests covered, by file, each as seen from the root of the sandbox."""

    files: dict[str, FileCoverage] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """By file, how many lines ran, and of how many."""
        return {file: (len(c.executed), len(c.lines)) for file, c in sorted(self.files.items())}

    def percent(self, files: Collection[str] | None = None) -> float | None:
        """How much of some files, or of all, ran; None when not a line of them counts."""
        wanted = self.files.keys() if files is None else set(files)
        counts = [count for file, count in self.counts.items() if file in wanted]
        return _percent(sum(ran for ran, _ in counts), sum(of for _, of in counts))

    def percent_of_lines(self, lines: Mapping[str, frozenset[int]]) -> float | None:
        """How much of some lines ran, of those that count; None when none of them does."""
        files = {file: self.files.get(file, FileCoverage()) for file in lines}
        ran = sum(len(lines[file] & c.executed) for file, c in files.items())
        return _percent(ran, sum(len(lines[file] & c.lines) for file, c in files.items()))

    def missed(self, lines: Mapping[str, frozenset[int]]) -> dict[str, tuple[int, ...]]:
        """Those of some lines that should have run and did not, by file."""
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


def _percent(ran: int, of: int) -> float | None:
    return 100 * ran / of if of else None
