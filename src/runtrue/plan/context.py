"""The context and the state of a plan's run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from runtrue.flow import RunRow
from runtrue.home import Home
from runtrue.loop import Bounds, Confidence, EditRules, History, RepairState, Verdict, Why
from runtrue.memory import DebugMemory
from runtrue.plan.apply_target import ApplyTarget, CommitResult
from runtrue.plan.plan import PlanRequest
from runtrue.plan.progress import ActInputs, Chapter, Progress, Proposed, StepAhead
from runtrue.plan.states import Happening
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
        return cls(run_id, request, home, sandbox, DebugMemory(home.path, redact=redact), redact)

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
class PlanRun(RepairState):
    """How far a plan is; reports are made of it. `history` is of the chapter that is open."""

    run_id: str
    request: PlanRequest
    progress: Progress = field(default_factory=Progress)
    #: A step, or the whole, is being validated and fixed.
    in_chapter: bool = False
    #: What the required validations said before the first step.
    baseline: tuple[Verdict, ...] = ()
    #: The candidate before each step that was done.
    checkpoints: dict[str, str] = field(default_factory=dict)
    #: Steps that were done beside others, and are not merged yet.
    ahead: dict[str, StepAhead] = field(default_factory=dict)
    #: How many notes of people were taken up.
    notes_read: int = 0
    #: Why the plan failed, where no decision says so.
    why: Why | None = None
    #: Steps that may take the place of one.
    revision: Proposed | None = None
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

    @property
    def open_history(self) -> History | None:
        """The history of the chapter that is open."""
        return self.history if self.in_chapter else None

    @property
    def step_bounds(self) -> Bounds:
        """The bounds of what is being done."""
        return self.bounds or Bounds()

    @property
    def has_more_steps(self) -> bool:
        """True if steps are left after the one that is being done."""
        progress = self.progress
        leaves = [step.id for step, _ in progress.strategy.leaves()] if progress.strategy else []
        return any(not progress.is_over(one) and one != progress.step for one in leaves)

    def new_history(
        self,
        begun_with: Confidence | None = None,
        baseline: tuple[Verdict, ...] | None = None,
    ) -> History:
        """Return the empty history of a chapter, to be compared with the plan's or some baseline.

        Tests in files that the plan itself changes may come to have other names, or to go.
        """
        kept = (result for result in self.progress.results if not result.undone)
        changed = {file for result in kept for file in result.files}
        before = tuple(
            replace(v, cases={c: o for c, o in v.cases.items() if c.split("::")[0] not in changed})
            for v in (self.baseline if baseline is None else baseline)
        )
        return History(
            before=before,
            earlier=self.progress.spent,
            is_later=self.progress.is_later,
            begun_with=begun_with,
        )

    def open_chapter(self, history: History) -> None:
        """Begin to validate a step, or the whole."""
        self.history, self.in_chapter = history, True

    def close_chapter(self) -> None:
        """Put the chapter among those that are over."""
        if self.in_chapter:
            chapter = Chapter(step=self.progress.step, history=self.history)
            self.advance(chapters=(*self.progress.chapters, chapter))
        self.history, self.in_chapter = History(), False

    def advance(self, happening: Happening | None = None, **changes: Any) -> None:
        """Replace what has changed about the progress, then move the plan on."""
        self.progress = replace(self.progress, **changes)
        if happening is not None:
            self.progress = self.progress.moved(happening)
