"""Places: where a run works, what it may ask, and where it leaves its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runtrue.code.request import CodeRequest
from runtrue.flow import RunRow
from runtrue.home import Home
from runtrue.memory import DebugMemory
from runtrue.sandbox import GitSandbox, content_at


@dataclass(frozen=True, slots=True)
class Place:
    """All that the nodes of one run share, and that is no fact of it."""

    run_id: str
    request: CodeRequest
    home: Home
    sandbox: GitSandbox
    memory: DebugMemory

    @classmethod
    def of(cls, run: RunRow, request: CodeRequest, home: Home) -> Place:
        """The place of a recorded run. Nothing is made yet."""
        sandbox = GitSandbox(
            home.sandbox(run.id),
            Path(request.project),
            kind=request.sandbox,
            pass_environment=request.pass_environment,
            judges=request.judges,
        )
        return cls(run.id, request, home, sandbox, DebugMemory(home.path))

    def changed(self, candidate: str) -> Mapping[str, frozenset[int]]:
        """The lines of a candidate, by file, that are judged as changed."""
        changes = self.request.changes
        if changes is None:
            return self.sandbox.changed_lines(candidate)
        return {file: frozenset(lines) for file, lines in changes.items()}

    def original(self, file: str) -> bytes | None:
        """What a file, as seen from the root, held before the change, if it was there."""
        against = self.request.against
        if against:
            return content_at(self.sandbox.top, against, file)
        return self.sandbox.original(file)

    @property
    def patch(self) -> Path:
        """The file of the resulting patch."""
        return self.home.patch(self.run_id)

    @property
    def reports(self) -> Path:
        """Where the reports of escalations lie."""
        return self.home.path / "escalations" / self.run_id
