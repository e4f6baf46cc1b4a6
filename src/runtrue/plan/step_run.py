"""The state of a strategy whose steps are validated: what the orchestrator works on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from runtrue.loop import Bounds, Confidence, History, RepairState, Verdict
from runtrue.plan.progress import Chapter, Progress, Proposed, StepState
from runtrue.plan.states import Happening, Phase, PlanState, Position
from runtrue.plan.strategy import Step, Strategy


@dataclass(slots=True, kw_only=True)
class StepRun(RepairState):
    """How far a strategy is, step by step. `history` is of the chapter that is open."""

    progress: Progress = field(default_factory=Progress)
    #: A step, or the whole, is being validated and fixed.
    in_chapter: bool = False
    #: What the required validations said before the first step.
    baseline: tuple[Verdict, ...] = ()
    #: The candidate before each step that was done.
    checkpoints: dict[str, str] = field(default_factory=dict)
    #: Steps that may take the place of one.
    revision: Proposed | None = None

    @classmethod
    def of(cls, candidate: str, *steps: Step) -> StepRun:
        """Return the state before the first of some steps, on the candidate that it changes."""
        progress = Progress(
            position=Position(Phase.EXECUTE, PlanState.PROCESSING), strategy=Strategy(steps=steps)
        )
        return cls(candidate=candidate, origin=candidate, progress=progress)

    def begin_step(self) -> Step | None:
        """Begin with the next step, whose bounds hold from now on; None if all are done.

        Do the step, let `candidate` be what came of it, and have the orchestrator revalidate it.
        """
        progress = self.progress
        if progress.pending is None:
            return None
        step, self.bounds = progress.pending
        self.since = self.candidate
        self.checkpoints[step.id] = self.candidate
        self.progress = progress.with_state(step.id, StepState.PROCESSING)
        self.advance(step=step.id)
        self.open_chapter(self.new_history())
        return step

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
