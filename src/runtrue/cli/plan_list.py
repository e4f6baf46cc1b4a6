"""`runtrue plan list`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from runtrue.cli import options
from runtrue.cli.console import echo
from runtrue.cli.show import print_json
from runtrue.errors import FlowError
from runtrue.flow import Journal, RunRow, RunState
from runtrue.home import Home
from runtrue.plan import KIND, PlanState


@click.command("list")
@click.option(
    "--state", type=click.Choice([s.value for s in PlanState]), help="Only plans in this state."
)
@click.option(
    "--all", "everywhere", is_flag=True, help="Plans of every project, not only of this one."
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, metavar="N", help="At most N (20)."
)
@options.as_json
def list_plans(state: str | None, everywhere: bool, limit: int, as_json: bool) -> int:
    """List the plans of this project, newest first."""
    from runtrue.cli.runner import after_expiry

    home = Home.find(Path.cwd())
    rows: list[dict[str, Any]] = []
    if home.has_journal:  # looking makes nothing
        with Journal(home.journal) as journal:
            for run in plans_here(journal, everywhere=everywhere):
                row = _row(journal, home, after_expiry(journal, home, run))
                if state in (None, row["state"]):
                    rows.append(row)
                if len(rows) == limit:
                    break
    if as_json:
        print_json({"plans": rows})
        return 0
    for row in rows:
        about = f"{row['state']:<10}  {row['phase']:<10}  {_age(row['created_at']):>4}"
        echo(f"{row['plan_id']}  {about}  {row['title']}")
    if not rows:
        echo(
            f"no plans here in {home.journal_name}"
            if not everywhere
            else f"no plans in {home.journal_name}"
        )
    return 0


def plans_here(journal: Journal, *, everywhere: bool = False) -> Iterator[RunRow]:
    """The plans, newest first: those of the project that this directory lies in."""
    here = Path.cwd().resolve()
    for run in journal.runs(kind=KIND, limit=None):
        if everywhere or here.is_relative_to(run.input["project"]):
            yield run


def _row(journal: Journal, home: Home, run: RunRow) -> dict[str, Any]:
    from runtrue.plan import position_at, recorded_report, standing_of

    try:
        question = journal.open_question(run.id) if run.state is RunState.WAITING else None
        if question is not None and not question.answered:
            # Most plans wait, and what for is known without replaying them.
            position = position_at(question.question)
            state, phase = str(position.state), str(position.phase)
        else:
            report = recorded_report(run) or standing_of(journal, home, run).report
            state, phase = str(report.state), str(report.phase)
    except FlowError:
        # Of another version; `plan status` tells.
        state, phase = str(run.state), ""
    return {
        "plan_id": run.id,
        "state": state,
        "phase": phase,
        "title": run.title,
        "instruction": run.input["instruction"],
        "project": run.input["project"],
        "driven": run.is_driven,
        "created_at": run.created_at,
        "ended_at": run.ended_at,
    }


def _age(at: float) -> str:
    seconds = max(0, int(time.time() - at))
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
