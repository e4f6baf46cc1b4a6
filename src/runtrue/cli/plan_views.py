"""The commands of `runtrue plan` that only look: status, tree, diff, explain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from runtrue.cli import options
from runtrue.cli.chosen_plan import any_plan, opened
from runtrue.cli.console import echo
from runtrue.cli.plan_text import (
    last_verdicts,
    patch_stat,
    print_head,
    print_history,
    print_standing,
    print_tree,
)
from runtrue.cli.show import print_json, write_patch
from runtrue.foreign_text import visible_name
from runtrue.plan import (
    PlanReport,
    QuestionReport,
    wanted_by,
)


@click.command()
@any_plan
@options.as_json
def status(plan_id: str | None, as_json: bool) -> int:
    """Show a plan's state, steps, validations and retries, and what to do next."""
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
@click.option("--stat", is_flag=True, help="Only the files and line counts.")
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
        echo(f"plan {at.report.run_id} has not changed anything yet", err=True)
    elif stat:
        for name, added, removed in files:
            echo(f"{visible_name(name)}  +{added} -{removed}")
    else:
        write_patch(patch)
    return 0


@click.command()
@any_plan
@options.as_json
def explain(plan_id: str | None, as_json: bool) -> int:
    """Explain a plan's history: findings, fixes, decisions, questions and answers."""
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
