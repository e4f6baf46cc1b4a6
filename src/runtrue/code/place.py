"""Places: where a run works, what it may ask, and where it leaves its results."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runtrue.code.request import CodeRequest
from runtrue.flow import RunRow
from runtrue.home import Home
from runtrue.memory import DebugMemory, Project
from runtrue.redaction import Redactor
from runtrue.sandbox import GitSandbox, Isolation, content_at, secret_variables
from runtrue.secrets import remember_kept, secrets_of_project


@dataclass(frozen=True, slots=True)
class Place:
    """All that the nodes of one run share, and that is no fact of it."""

    run_id: str
    request: CodeRequest
    home: Home
    sandbox: GitSandbox
    memory: DebugMemory
    #: Takes out of texts what must not be kept, shown or sent.
    hide: Redactor = field(default_factory=Redactor)

    @classmethod
    def of(cls, run: RunRow, request: CodeRequest, home: Home) -> Place:
        """The place of a recorded run. Nothing is made yet."""
        sandbox = GitSandbox(
            home.sandbox(run.id),
            Path(request.project),
            kind=request.sandbox,
            pass_environment=request.pass_environment,
            judges=request.judges,
            isolation=Isolation(request.isolation),
        )
        remember_kept()
        hide = Redactor(
            *secrets_of_project(Path(request.project)),
            *secret_variables(
                os.environ,
                (*request.pass_environment, *request.agent.env),
                [check.env for check in request.checks],
            ),
        )
        return cls(run.id, request, home, sandbox, DebugMemory(home.path, hide=hide), hide)

    @property
    def project(self) -> Project:
        """The user's project, as the memory knows it."""
        return Project.at(Path(self.request.project))

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
