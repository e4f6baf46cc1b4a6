"""The context and the state of a plan's run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtrue.flow import RunRow
from runtrue.home import Home
from runtrue.loop import EditRules, Why
from runtrue.memory import DebugMemory
from runtrue.plan.apply_target import ApplyTarget, CommitResult
from runtrue.plan.plan import PlanRequest
from runtrue.plan.progress import ActInputs, StepAhead
from runtrue.plan.step_run import StepRun
from runtrue.run_context import RunContext, redactor_of
from runtrue.sandbox import GitSandbox, Isolation, SelfRunning, UsersTree


@dataclass(frozen=True, slots=True)
class PlanContext(RunContext[PlanRequest, GitSandbox | UsersTree]):
    """The context of `runtrue plan`."""

    @classmethod
    def of(cls, run: RunRow, request: PlanRequest, home: Home) -> PlanContext:
        """Return the context of a recorded plan."""
        return cls.made(run.id, request, home)

    @classmethod
    def made(cls, run_id: str, request: PlanRequest, home: Home) -> PlanContext:
        """Return the context of a plan by its id."""
        project, where = Path(request.project), home.sandbox(run_id)
        isolation = Isolation(request.isolation)
        sandbox: GitSandbox | UsersTree
        if request.sandbox == "none":
            sandbox = UsersTree(
                where,
                project,
                pass_environment=request.pass_environment,
                judges=request.judges,
                isolation=isolation,
            )
        else:
            sandbox = GitSandbox(
                where,
                project,
                kind=request.sandbox,
                branch=f"runtrue/plan-{run_id}",
                pass_environment=request.pass_environment,
                judges=request.judges,
                isolation=isolation,
            )
        redact = redactor_of(request, [validation.env for validation in request.validations])
        memory = DebugMemory.of(home, project, redact=redact)
        return cls(run_id, request, home, sandbox, memory, redact)

    def edit_rules(self, inputs: ActInputs) -> EditRules:
        """Return the rules for what a step may edit."""
        return EditRules(
            bounds=inputs.bounds,
            origin=inputs.base,
            redactor=self.redact,
            # The patterns of the bounds that mean nothing but judges.
            editable=self.sandbox.protected(inputs.bounds.paths or ()),
            new_tests_since=inputs.base,
        )

    @property
    def notes(self) -> Path:
        """The file of what people say while the plan is at work."""
        return self.home.path / "notes" / f"{self.run_id}.jsonl"


#: The diff of each fix that was tried, by the candidates before and after it.
FixDiffs = dict[str, str]


@dataclass(slots=True, kw_only=True)
class PlanRun(StepRun):
    """How far a plan is; reports are made of it."""

    run_id: str
    request: PlanRequest
    #: Steps that were done beside others, and are not merged yet.
    ahead: dict[str, StepAhead] = field(default_factory=dict)
    #: How many notes of people were taken up.
    notes_read: int = 0
    #: Why the plan failed, where no decision says so.
    why: Why | None = None
    diff: str = ""
    patch: str | None = None
    patch_root: str | None = None
    self_running: tuple[SelfRunning, ...] = ()
    fix_diffs: FixDiffs | None = None
    #: The directory of the sandbox, as long as there is one.
    sandbox: str | None = None
    #: Files, and how much, that somebody edited outside of the bounds.
    edited: dict[str, Any] = field(default_factory=dict)
    #: Where the result goes, if not into the user's files alone.
    target: ApplyTarget | None = None
    committed: CommitResult | None = None
    #: The plan is validated once more before it is applied.
    applying: bool = False

    @property
    def base(self) -> str:
        """The candidate that the plan began with."""
        return self.origin or ""
