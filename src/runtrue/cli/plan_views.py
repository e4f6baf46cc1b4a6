"""The commands of `runtrue plan` that only look: list, status, tree, diff, explain."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from runtrue.cli import options
from runtrue.cli.chosen_plan import any_plan, opened, plans_here
from runtrue.cli.plan_text import (
    last_verdicts,
    patch_stat,
    print_head,
    print_history,
    print_standing,
    print_tree,
)
from runtrue.cli.runner import after_expiry
from runtrue.cli.show import print_diff, print_json, printable
from runtrue.errors import FlowError
from runtrue.flow import Journal, RunRow
from runtrue.home import Home
from runtrue.plan import (
    PlanReport,
    PlanState,
    QuestionReport,
    recorded_report,
    standing_of,
    wanted_by,
)


@click.command("list")
@click.option("--state", type=click.Choice([s.value for s in PlanState]), help="Only such plans.")
@click.option("--all", "everywhere", is_flag=True, help="Those of other projects as well.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, metavar="N", help="At most so many (20)."
)
@options.as_json
def list_plans(state: str | None, everywhere: bool, limit: int, as_json: bool) -> int:
    """List the plans of this project, newest first."""
    home = Home.find(Path.cwd())
    rows: list[dict[str, Any]] = []
    if home.journal.exists():  # looking makes nothing
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
        click.echo(f"{row['plan_id']}  {about}  {printable(row['title'])}")
    if not rows:
        click.echo(
            f"no plans here in {home.journal}" if not everywhere else f"no plans in {home.journal}"
        )
    return 0


@click.command()
@any_plan
@options.as_json
def status(plan_id: str | None, as_json: bool) -> int:
    """Show where a plan stands: state, steps, validations, retries, and what to do next."""
    with opened(plan_id) as at:
        if as_json:
            print_json(replace(at.report, last_verdicts=last_verdicts(at.report)))
        else:
            print_standing(at.report)
    return 0


@click.command()
@any_plan
@options.as_json
def tree(plan_id: str | None, as_json: bool) -> int:
    """Show the strategy: its steps with their states, actors and bounds."""
    with opened(plan_id) as at:
        if as_json:
            plan = at.report.plan
            print_json({**_head(at.report), "strategy": plan.strategy, "steps": plan.steps})
        else:
            print_head(at.report)
            print_tree(at.report)
    return 0


@click.command()
@any_plan
@click.option("--stat", is_flag=True, help="Only which files, and how many lines.")
@options.as_json
def diff(plan_id: str | None, stat: bool, as_json: bool) -> int:
    """Show the patch from your files to the plan's sandbox as it is now."""
    with opened(plan_id) as at:
        patch = at.standing.diff()
    readable = patch.encode("utf-8", "replace").decode()
    files = patch_stat(readable)
    if as_json:
        rows = [{"file": name, "added": plus, "removed": minus} for name, plus, minus in files]
        print_json({**_head(at.report), "diff": readable, "files": rows})
    elif not patch:
        click.echo(f"plan {at.report.run_id} has changed nothing so far", err=True)
    elif stat:
        for name, added, removed in files:
            click.echo(printable(f"{name}  +{added} -{removed}"))
    elif sys.stdout.isatty():
        print_diff(printable(patch))
    else:
        # Byte for byte, so that `git apply` takes it.
        sys.stdout.buffer.write(patch.encode("utf-8", "surrogateescape"))
    return 0


@click.command()
@any_plan
@options.as_json
def explain(plan_id: str | None, as_json: bool) -> int:
    """Explain why a plan is where it is: what was found, tried, decided, asked and said."""
    with opened(plan_id) as at:
        questions = tuple(
            QuestionReport(
                wanted=wanted_by(question.question),
                asked_at=question.asked_at,
                answered=question.answered,
                answer=question.answer,
            )
            for question in at.journal.questions(at.standing.run.id)
        )
        report = replace(at.report, questions=questions)
    if as_json:
        print_json(report)
    else:
        print_history(report)
        print_standing(report)
    return 0


def _head(report: PlanReport) -> dict[str, Any]:
    return {
        "status": report.status,
        "run_id": report.run_id,
        "state": report.state,
        "phase": report.phase,
    }


def _row(journal: Journal, home: Home, run: RunRow) -> dict[str, Any]:
    try:
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
