"""The plan that a command is about: which one is meant, and where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from runtrue.cli.chosen_run import completes
from runtrue.cli.kinds import kind_of
from runtrue.cli.plan_list import plans_here
from runtrue.cli.plan_text import print_standing
from runtrue.cli.run_files import as_seen_here, bring_files, bring_sandbox, send_notes
from runtrue.cli.runner import after_expiry
from runtrue.cli.show import print_json
from runtrue.errors import PlanError
from runtrue.flow import Journal, RunRow
from runtrue.home import Home
from runtrue.loop import AMEND
from runtrue.plan import KIND, PlanReport, Standing, leave_note, standing_of

any_plan = click.argument("plan_id", metavar="[ID]", required=False, shell_complete=completes(KIND))
a_plan = click.argument("plan_id", metavar="ID", shell_complete=completes(KIND))


@dataclass(frozen=True, slots=True)
class ChosenPlan:
    """A plan that a command is about."""

    journal: Journal
    home: Home
    standing: Standing

    @property
    def report(self) -> PlanReport:
        """Its report, with what can be done next."""
        run = self.standing.run
        report: PlanReport = kind_of(run).stopped(run, self.home, self.standing.report)
        return report

    def answer(self, value: Any) -> None:
        """Answer the question that was open when this command looked, and no later one."""
        question = self.standing.question
        seq = question.seq if question else None
        self.journal.answer(self.standing.run.id, value, seq=seq)

    def say(self, value: Any) -> bool:
        """Answer, or leave a note for a plan that is at work; True if another process runs it."""
        if self.standing.wanted is not None:
            self.answer(value)
            return False
        amendment = value[AMEND]
        bring_files(self.journal, self.home, self.standing.run)
        number = leave_note(self.standing.place.notes, amendment)
        send_notes(self.journal, self.home, self.standing.run)
        now = standing_of(self.journal, self.home, self.journal.find(self.standing.run.id))
        if now.wanted is not None and now.plan.notes_read <= number:
            # It came to a question while the note was written, and will not look for one now.
            question = now.question
            seq = question.seq if question else None
            self.journal.answer(now.run.id, {**value, "note": number}, seq=seq)
            return False
        return now.run.is_driven

    def show(self, *, as_json: bool) -> int:
        """Show where it stands; the exit code."""
        if as_json:
            print_json(self.report)
        else:
            print_standing(self.report)
        return kind_of(self.standing.run).exit_code(self.standing.run, self.report)


@contextmanager
def opened(plan_id: str | None) -> Iterator[ChosenPlan]:
    """The plan that is meant; one that nobody has answered in time is ended first."""
    home = Home.find(Path.cwd())
    if not home.has_journal:
        raise PlanError(
            f"there are no plans yet: {home.journal} does not exist; create one with "
            "`runtrue plan new`"
        )
    with Journal(home.journal) as journal:
        run = after_expiry(journal, home, _find(journal, plan_id))
        standing = standing_of(journal, home, run)
        bring_sandbox(journal, home, run, standing.candidate)
        report = as_seen_here(journal, home, run, standing.report)
        yield ChosenPlan(journal, home, replace(standing, report=report))


def _find(journal: Journal, plan_id: str | None) -> RunRow:
    if plan_id is not None:
        run = journal.find(plan_id)
        if run.kind != KIND:
            raise PlanError(
                f"run {run.id} is a {run.kind} run, not a plan; show it with "
                f"`runtrue runs show {run.id}`"
            )
        return run
    plans = list(plans_here(journal))
    if not plans:
        raise PlanError(
            f"there is no plan for {Path.cwd()}; create one with `runtrue plan new`, or name one "
            "from `runtrue plan list --all`"
        )
    return next((run for run in plans if not run.is_over), plans[0])
