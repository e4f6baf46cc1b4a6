"""Runs of plans: how they are prepared, narrated and shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtrue.cli.plan_text import next_commands, not_applied, print_history, print_standing
from runtrue.cli.progress import Display, Narrator
from runtrue.cli.repair import RepairNarrator
from runtrue.errors import PlanError
from runtrue.flow import Journal, Question, RunRow, Segment
from runtrue.home import Home
from runtrue.plan import PlanState, Wanted, answer_for, prepare_plan, standing_of, wanted_by
from runtrue.plan import expire as expire_plan

#: The commands that began or ended here came to what they were to come to.
_EXIT_CODES = {
    PlanState.QUEUED: 0,
    PlanState.COMPLETE: 0,
    PlanState.APPLIED: 0,
    PlanState.WAITING: 3,
}


def prepare(run: RunRow, home: Home, secrets: Mapping[str, Any], *, force: bool) -> Segment:
    """The flow of a plan. It is given no secrets."""
    return prepare_plan(run, home)


def report(journal: Journal, home: Home, run: RunRow) -> dict[str, Any]:
    """The report of a plan that is not over, out of its replayed steps."""
    return standing_of(journal, home, run).report


def settle(run: RunRow, home: Home, report: dict[str, Any]) -> dict[str, Any]:
    """Nothing is left to do; what a person can do next is added to the report."""
    return {**report, "driven": run.is_driven, "next": next_commands(report, run.is_driven)}


def exit_code(run: RunRow, report: dict[str, Any]) -> int:
    """Waiting for `plan execute` or `plan apply` is no trouble; not being applied is."""
    if report["refused"] and not report["applied"]:
        return 1
    return _EXIT_CODES.get(PlanState(report["state"]), 1)


def expire(journal: Journal, run: RunRow) -> bool:
    """A plan waits for a person as long as its profile says."""
    return expire_plan(journal, run)


def answer(journal: Journal, home: Home, run: RunRow, said: str | None, *, can_ask: bool) -> Any:
    """As with `plan prompt`; without a word, one that is queued is executed."""
    standing = standing_of(journal, home, run)
    if said is not None:
        return answer_for(standing, said)
    if standing.wanted is Wanted.BEGIN:
        return "go"
    commands = " or ".join(f"`{c}`" for c in next_commands(standing.report, run.is_driven))
    raise PlanError(f"plan {run.id} is {standing.report['state']}: go on with {commands}")


def conclude(home: Home, report: dict[str, Any]) -> None:
    """Nothing is left to say."""


def print_report(report: dict[str, Any], *, asked: bool = False) -> None:
    """Where the plan stands, and what can be done next."""
    print_standing(report)


def print_details(report: dict[str, Any]) -> None:
    """What happened, step by step."""
    print_history(report)


def print_question(run_id: str, question: Question | None) -> None:
    """What is asked is in the report."""


def print_offer(report: dict[str, Any], question: Question) -> None:
    """A plan asks for no yes or no at the terminal: it is applied with `plan apply`."""


def narrate(display: Display) -> Narrator:
    """Tell of steps, validations, fixes and revisions."""
    return PlanNarrator(display)


class PlanNarrator(RepairNarrator):
    """As with all repairs, and the steps around them."""

    def _on_attempt_started(self, data: dict[str, Any], node: str) -> None:
        self._attempt = "validating" if data["number"] == 1 else "validating again"
        self.display.line(self._attempt, "bold")

    def _on_strategize_started(self, data: dict[str, Any], node: str) -> None:
        self.display.doing(f"{data['by']} makes the strategy")

    def _on_strategize_finished(self, data: dict[str, Any], node: str) -> None:
        if data["failure"]:
            self.display.line(f"no strategy by {data['by']}: {data['failure']}", "red")
        else:
            self.display.line(f"strategy by {data['by']}", "cyan")

    def _on_step_started(self, data: dict[str, Any], node: str) -> None:
        self.display.line(f"step {data['step']}: {data['description']}", "bold")
        self.display.doing(f"step {data['step']}: {data['actor']}")

    def _on_step_failed(self, data: dict[str, Any], node: str) -> None:
        self.display.line(f"  failed, trying again: {data['failure']}", "yellow")

    def _on_step_done(self, data: dict[str, Any], node: str) -> None:
        text = f"  changed {', '.join(data['files']) or 'nothing'}"
        if data["restored"]:
            text += f"; its edits to {', '.join(data['restored'])} were undone"
        if ignored := data.get("ignored"):
            text += f"; git ignores {', '.join(ignored)}, so that it is not kept"
        self.display.line(text, "cyan")

    def _on_step_refused(self, data: dict[str, Any], node: str) -> None:
        self.display.line(f"  nothing of it was kept: {data['failure']}", "red")

    def _on_fix_succeeded(self, data: dict[str, Any], node: str) -> None:
        self.display.line("fixed: every required validation passes", "green")

    def _on_fix_exhausted(self, data: dict[str, Any], node: str) -> None:
        self.display.line(f"no more fixes: {data['why'].replace('_', ' ')}", "red")

    def _on_strategy_revision_started(self, data: dict[str, Any], node: str) -> None:
        needed = f"; needed: {', '.join(data['needed'])}" if data["needed"] else ""
        self.display.line(f"revising step {data['step']}{needed}", "yellow")
        self.display.doing("revising the strategy")

    def _on_strategy_revised(self, data: dict[str, Any], node: str) -> None:
        if data["failure"]:
            self.display.line(f"  not revised: {data['failure']}", "red")
        else:
            self.display.line(f"  revised by {data['by']}: {', '.join(data['steps'])}", "cyan")

    def _on_parked(self, data: dict[str, Any], node: str) -> None:
        wanted = wanted_by(data["question"])
        if wanted is not None and wanted.is_prompt:
            self.display.line(f"waiting for a person: {wanted}", "yellow")

    def _on_apply_refused(self, data: dict[str, Any], node: str) -> None:
        self.display.line(not_applied(data["why"]), "red")

    def _on_apply_renewed(self, data: dict[str, Any], node: str) -> None:
        files = ", ".join(data["files"])
        self.display.line(f"you have changed {files} meanwhile: validating with that", "yellow")

    def _on_applied(self, data: dict[str, Any], node: str) -> None:
        self.display.line(f"applied: {', '.join(data['files']) or 'nothing to change'}", "green")
