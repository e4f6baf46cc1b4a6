"""Places: where a plan works, whom it may ask, and where it leaves its results."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from runtrue.flow import Node, RunRow
from runtrue.home import Home
from runtrue.memory import DebugMemory, Project
from runtrue.plan.plan import PlanRequest
from runtrue.redaction import Redactor
from runtrue.sandbox import GitSandbox, Isolation, UsersTree, secret_variables
from runtrue.secrets import remember_kept, secrets_of_project


@dataclass(frozen=True, slots=True)
class Place:
    """All that the nodes of one plan share, and that is no fact of it."""

    run_id: str
    request: PlanRequest
    home: Home
    sandbox: GitSandbox | UsersTree
    memory: DebugMemory
    #: Takes out of texts what must not be kept, shown or sent.
    hide: Redactor = field(default_factory=Redactor)

    @classmethod
    def of(cls, run: RunRow, request: PlanRequest, home: Home) -> Place:
        """The place of a recorded plan. Nothing is made yet."""
        project, where = Path(request.project), home.sandbox(run.id)
        passed_on, judges = request.pass_environment, request.judges
        isolation = Isolation(request.isolation)
        sandbox: GitSandbox | UsersTree
        if request.sandbox == "none":
            sandbox = UsersTree(
                where,
                project,
                pass_environment=passed_on,
                judges=judges,
                isolation=isolation,
            )
        else:
            sandbox = GitSandbox(
                where,
                project,
                kind=request.sandbox,
                branch=f"runtrue/plan-{run.id}",
                pass_environment=passed_on,
                judges=judges,
                isolation=isolation,
            )
        own = [validation.env for validation in request.validations]
        remember_kept()
        own_files = secrets_of_project(project)
        hide = Redactor(
            *own_files, *secret_variables(os.environ, (*passed_on, *request.agent.env), own)
        )
        return cls(run.id, request, home, sandbox, DebugMemory(home.path, hide=hide), hide)

    @property
    def project(self) -> Project:
        """The user's project, as the memory knows it."""
        return Project.at(Path(self.request.project))

    @property
    def patch(self) -> Path:
        """The file of the resulting patch."""
        return self.home.patch(self.run_id)


class PlaceNode(Node):
    """A node that works in the place of a plan, with git and the disk."""

    blocking = True

    def __init__(self, name: str, place: Place) -> None:
        super().__init__(name)
        self.place = place
