"""The context of a run: where a loop works, what it may ask, and where it leaves its results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from runtrue.config import AgentConfig
from runtrue.home import Home
from runtrue.memory import DebugMemory, Project, digest_of
from runtrue.redaction import Redactor
from runtrue.sandbox import GitSandbox, UsersTree, secret_variables
from runtrue.secrets import remember_kept, secrets_of_project


def record_applied(
    memory: DebugMemory,
    run_id: str,
    sandbox: GitSandbox | UsersTree,
    project: Path,
    files: Iterable[str],
) -> None:
    """Have the memory know which files of the user's a run has changed, and what they were."""
    before = {sandbox.top / file: digest_of(sandbox.original(file)) for file in files}
    memory.record_applied(run_id, Project.at(project), before)


class RunRequest(Protocol):
    """The settings that all loops which change a project share."""

    @property
    def project(self) -> str:
        """The directory of the project."""
        ...

    @property
    def agent(self) -> AgentConfig:
        """The coding agent that may be asked."""
        ...

    @property
    def pass_environment(self) -> tuple[str, ...]:
        """The variables of the user's that commands get to see."""
        ...


R = TypeVar("R", bound=RunRequest)
S = TypeVar("S", bound=GitSandbox | UsersTree)


@dataclass(frozen=True, slots=True)
class RunContext(Generic[R, S]):
    """All that the steps of one run share and that is no state of it. Nothing is made yet."""

    run_id: str
    request: R
    home: Home
    sandbox: S
    memory: DebugMemory
    #: Takes out of texts what must not be recorded, shown or sent.
    redact: Redactor

    @property
    def project(self) -> Project:
        """The user's project, as the memory knows it."""
        return Project.at(Path(self.request.project))

    def note_applied(self, files: Iterable[str]) -> None:
        """Have the memory know which files of the user's were changed, and what they were."""
        project = Path(self.request.project)
        record_applied(self.memory, self.run_id, self.sandbox, project, files)

    @property
    def patch(self) -> Path:
        """The file of the resulting patch."""
        return self.home.patch(self.run_id)


def redactor_of(request: RunRequest, environments: Iterable[Mapping[str, str]]) -> Redactor:
    """Return what knows the secrets of a project, of the user, and of the checks' environments."""
    remember_kept()
    passed_on = (*request.pass_environment, *request.agent.env)
    return Redactor(
        *secrets_of_project(Path(request.project)),
        *secret_variables(os.environ, passed_on, list(environments)),
    )
