"""Home: the directory of runtrue's journal, sandboxes and patches."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from runtrue.errors import HostError


@dataclass(frozen=True, slots=True)
class Home:
    """A directory of runtrue's, in which nothing is made before it is needed."""

    path: Path

    @classmethod
    def find(cls, start: Path) -> Home:
        """Return `$RUNTRUE_HOME`; else the nearest `.runtrue` above `start`; else `~/.runtrue`.

        Links are resolved: confined commands see directories only where they really are.
        """
        try:
            if named := os.environ.get("RUNTRUE_HOME"):
                return cls(Path(named).expanduser().resolve())
            users = Path.home() / ".runtrue"
        except RuntimeError as error:
            raise HostError(
                "there is no home directory; set RUNTRUE_HOME to a directory"
            ) from error
        for directory in (start, *start.parents):
            own = directory / ".runtrue"
            if own != users and own.is_dir():
                return cls(own.resolve())
        return cls(users.resolve())

    @property
    def journal(self) -> Path:
        """The journal's file."""
        return self.path / "journal.db"

    def sandbox(self, run_id: str) -> Path:
        """Return the directory of one run's sandbox."""
        return self.path / "sandboxes" / run_id

    def patch(self, run_id: str) -> Path:
        """Return the file of one run's resulting patch."""
        return self.path / "patches" / f"{run_id}.patch"
