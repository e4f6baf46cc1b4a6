"""The fix-then-revalidate loop's own time for a retry, for ASV: `asv run`, in this environment."""

from __future__ import annotations

import statistics
from pathlib import Path

from benchmarks.revalidate import COUNTS, journal_on_disk, retry
from runtrue.flow import Journal

ROUNDS = 11


class FixRevalidate:
    """A retry is one fix, all validations, the diagnosis and the decision, each recorded."""

    params = COUNTS
    param_names = ("validations",)
    timeout = 120

    def setup(self, validations: int) -> None:
        self.folder = journal_on_disk()
        self.journal = Journal(Path(self.folder.name, "journal.db"))
        self.sample = retry(self.journal, validations)
        self.sample()

    def teardown(self, validations: int) -> None:
        self.journal.close()
        self.folder.cleanup()

    def track_retry(self, validations: int) -> float:
        return statistics.median(self.sample() for _ in range(ROUNDS))

    def track_retry_per_validation(self, validations: int) -> float:
        return self.track_retry(validations) / validations


FixRevalidate.track_retry.unit = "ms"  # type: ignore[attr-defined]
FixRevalidate.track_retry_per_validation.unit = "ms"  # type: ignore[attr-defined]
