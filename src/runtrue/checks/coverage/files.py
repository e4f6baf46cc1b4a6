"""Files: which of the project's files a report means."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from runtrue.checks.coverage.facts import Coverage, FileCoverage
from runtrue.checks.places import own_file
from runtrue.loop import Workplace


@dataclass(slots=True)
class Collected:
    """What is read of a report, file by file; `base` is what its paths are relative to.

    Files outside of the project, installed ones, and those that are no longer there are left out.
    """

    workplace: Workplace
    base: Path
    _counts: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def own(self, name: str, *others: str) -> str | None:
        """The file of the project that one of some names means."""
        for one in (name, *others):
            # What lies on the way may be a link, as temporary directories are on some systems.
            for path in (self.base / one, Path(os.path.realpath(self.base / one))):
                file = own_file(str(path), self.workplace) if one else None
                if file:
                    return file
        return None

    def add(self, file: str | None, counts: Iterable[tuple[int, int]]) -> None:
        """Count how often lines of a file ran; None is one that is not the project's."""
        if file is not None:
            self._counts.setdefault(file, []).extend(counts)

    @property
    def coverage(self) -> Coverage:
        """All of it."""
        files = {file: FileCoverage.of_counts(counts) for file, counts in self._counts.items()}
        return Coverage(files)
