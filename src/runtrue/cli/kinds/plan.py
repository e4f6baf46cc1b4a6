"""Runs of plans: how they are prepared, narrated and shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from runtrue.cli.console import echo
from runtrue.cli.kinds import RunKind, Shown
from runtrue.cli.plan_text import next_commands, not_applied, print_history, print_standing
from runtrue.cli.repair import RepairNarrator, confidence_line
from runtrue.cli.show import counted, print_diff
from runtrue.errors import PlanError
from runtrue.flow import Event, Journal, Question, RunParked, RunRow, Segment
from runtrue.home import Home
from runtrue.loop import AttemptStarted, FixExhausted
from runtrue.plan import (
    ApplyRefused,
    ApplyRenewed,
    BaselineFinished,
    BaselineStarted,
    FixSucceeded,
    PlanAmended,
    PlanApplied,
    PlanCommitted,
    PlanReport,
    PlanState,
    StepDone,
    StepFailed,
    StepMerged,
    StepRefused,
    StepStarted,
    StrategizeFinished,
    StrategizeStarted,
    StrategyRevised,
    StrategyRevisionStarted,
    Wanted,
    answer_for,
    prepare_plan,
    sandbox_of_plan,
    standing_of,
    wanted_by,
)
from runtrue.plan import expire as expire_plan
from runtrue.sandbox import GitSandbox

#: The commands that began or ended here came to what they were to come to.
_EXIT_CODES = {
    PlanState.QUEUED: 0,
    PlanState.COMPLETE: 0,
    PlanState.APPLIED: 0,
    PlanState.WAITING: 3,
}


class PlanNarrator(RepairNarrator):
    """As with all repairs, and the steps around them."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        #: The steps that are being done now; of several, each is named.
        self._steps: list[str] = []
        self._is_parallel = False

    def _ended(self, step: str) -> str:
        """Return what a line about the end of a step begins with."""
        if step in self._steps:
            self._steps.remove(step)
        return f"{step}: " if self._is_parallel else ""

    def __call__(self, event: Event) -> None:
        """Show what happens to the plan."""
        line, doing = self.display.line, self.display.doing
        match event:
            case AttemptStarted():
                self._attempt = "validating" if event.number == 1 else "validating again"
                line(self._attempt, "bold")
            case BaselineStarted():
                self._attempt = _baseline(event.alone)
            case BaselineFinished():
                when = _baseline(event.alone)
                for name, count in event.failed.items():
                    line(f"{name}: failed {when} ({counted(count, 'finding')})", "dim")
                for name in event.cut_off:
                    line(f"{name} was cut off {when}, after half of max_time", "red")
            case StrategizeStarted():
                doing(f"{event.by} is planning the strategy")
            case StrategizeFinished(failure=None):
                line(f"strategy by {event.by}", "cyan")
            case StrategizeFinished():
                line(f"no strategy by {event.by}: {event.failure}", "red")
            case PlanAmended():
                for what in event.what:
                    line(what, "yellow")
            case StepStarted():
                self._steps.append(event.step)
                self._is_parallel = len(self._steps) > 1
                line(f"step {event.step}: {event.description}", "bold")
                doing(f"step {event.step}: {event.actor}")
            case StepFailed():
                line(f"  failed, retrying: {event.failure}", "yellow")
            case StepDone():
                line(f"  {self._ended(event.step)}{_step_text(event)}", "cyan")
            case StepRefused():
                ended = self._ended(event.step)
                line(f"  {ended}all its edits were dropped: {event.failure}", "red")
            case StepMerged(failure=None):
                line(f"step {event.step}: merged", "bold")
            case StepMerged():
                line(f"step {event.step}: done again, since {event.failure}", "yellow")
            case FixSucceeded():
                line("fixed: every required validation passes", "green")
            case FixExhausted():
                line(f"out of fixes: {event.why.replace('_', ' ')}", "red")
            case StrategyRevisionStarted():
                needed = f"; needed: {', '.join(event.needed)}" if event.needed else ""
                line(f"revising step {event.step}{needed}", "yellow")
                doing("revising the strategy")
            case StrategyRevised(failure=None):
                line(f"  revised by {event.by}: {', '.join(event.steps)}", "cyan")
            case StrategyRevised():
                line(f"  not revised: {event.failure}", "red")
            case RunParked():
                wanted = wanted_by(event.question)
                if wanted is not None and wanted.is_prompt:
                    line(f"waiting for a person: {wanted}", "yellow")
            case ApplyRefused():
                line(not_applied(event.why), "red")
            case ApplyRenewed():
                files = ", ".join(event.files)
                line(f"you changed {files} in the meantime: validating both together", "yellow")
            case PlanCommitted():
                line(f"committed to {event.branch} as {event.commit[:10]}", "green")
            case PlanApplied():
                line(f"applied: {', '.join(event.files) or 'nothing to change'}", "green")
            case _:
                super().__call__(event)


def _baseline(alone: bool) -> str:
    """Return when the required validations are run without the plan's change."""
    return "without the plan as well" if alone else "before the first step"


def _step_text(event: StepDone) -> str:
    text = f"changed {', '.join(event.files) or 'nothing'}"
    if event.restored:
        text += f"; edits to {', '.join(event.restored)} were undone"
    if event.ignored:
        text += f"; git ignores {', '.join(event.ignored)}, so it is not kept"
    return text


class PlanKind(RunKind[PlanReport]):
    """Runs of plans."""

    report_type = PlanReport
    narrator = PlanNarrator
    asks = "Continue with this fix"

    def prepare(
        self, run: RunRow, home: Home, secrets: Mapping[str, Any], *, force: bool
    ) -> Segment:
        """The flow of a plan. It is given no secrets."""
        return prepare_plan(run, home)

    def sandbox(self, run: RunRow, home: Home) -> GitSandbox | None:
        """The sandbox of a plan that does not work in the user's own files."""
        return sandbox_of_plan(run, home)

    def report(self, journal: Journal, home: Home, run: RunRow) -> PlanReport:
        """The report of a plan that is not over, out of its replayed steps."""
        return standing_of(journal, home, run).report

    def stopped(self, run: RunRow, home: Home, report: PlanReport) -> PlanReport:
        """Nothing is left to do; what a person can do next is added to the report."""
        commands = tuple(next_commands(report, run.is_driven))
        return replace(report, driven=run.is_driven, next=commands)

    def exit_code(self, run: RunRow, report: PlanReport) -> int:
        """Waiting for `plan execute` or `plan apply` is no trouble; not being applied is."""
        if report.refused and not report.applied:
            return 1
        return _EXIT_CODES.get(report.state, 1)

    def expire(self, journal: Journal, run: RunRow) -> bool:
        """A plan waits for a person as long as its profile says."""
        return expire_plan(journal, run)

    def answer(
        self, journal: Journal, home: Home, run: RunRow, said: str | None, *, can_ask: bool
    ) -> Any:
        """Return the answer as `plan answer` does; nothing said starts a queued plan."""
        standing = standing_of(journal, home, run)
        if said is not None:
            return answer_for(standing, said)
        if standing.wanted is Wanted.BEGIN:
            return "go"
        commands = " or ".join(f"`{c}`" for c in next_commands(standing.report, run.is_driven))
        raise PlanError(f"plan {run.id} is {standing.report.state}: continue with {commands}")

    def unapplied_patch(self, report: PlanReport) -> str | None:
        """Return the patch, unless it was applied."""
        return None if report.applied else report.patch

    def print_report(
        self, report: PlanReport, *, asked: bool = False, shown: Shown = Shown.NOTHING
    ) -> None:
        """Print the plan's state, and what can be done next."""
        print_standing(report)

    def print_details(self, report: PlanReport) -> None:
        """Print what happened, step by step."""
        print_history(report)

    def print_offer(self, report: PlanReport, question: Question) -> None:
        """Print the diff of a fix that is not sure, and why."""
        print_diff(question.question["diff"])
        echo(confidence_line(report))
