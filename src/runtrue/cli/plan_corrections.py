"""The commands with which a person changes a plan: answer, correct, rollback."""

from __future__ import annotations

import click

from runtrue.cli import options
from runtrue.cli.chosen_plan import ChosenPlan, a_plan, any_plan, opened
from runtrue.cli.console import echo
from runtrue.cli.project import must_be_text
from runtrue.cli.runner import run_and_show
from runtrue.errors import PlanError
from runtrue.loop import Mode
from runtrue.plan import PlanCorrection, answer_for, correct_plan, roll_back

_no_execute = click.option("--no-execute", is_flag=True, help="Only record it.")
_plan = click.option("--plan", "plan_id", metavar="ID", help="The plan. [default: the newest]")
_allow = click.option(
    "--allow",
    multiple=True,
    metavar="PATH",
    help="A file or pattern that may be changed from now on. Can be repeated.",
)


@click.command()
@a_plan
@click.argument("guidance")
@_allow
@_no_execute
@options.waits
@options.as_json
def answer(
    plan_id: str, guidance: str, allow: tuple[str, ...], no_execute: bool, as_json: bool
) -> int:
    """Answer a plan or give it guidance; it continues with a fresh budget.

    To a plan that asks for approval, `yes` approves. `no` undoes the step that is being done, or
    the last one of a complete plan, and the plan asks what to do instead. Anything else is for the
    agent or model that does the steps; to a complete plan it is one more step. A plan that is at
    work takes it up before its next step.

    \b
    Examples:
      runtrue plan answer 3fa9 "the rate is in model.py" --allow model.py
      runtrue plan answer 3fa9 yes
      runtrue plan answer 3fa9 no
    """
    must_be_text(guidance, *allow)
    with opened(plan_id) as at:
        said = answer_for(at.standing, guidance, allow)
        return _go_on(at, said, no_execute=no_execute, as_json=as_json)


@click.command()
@click.argument("name", metavar="STEP|VALIDATION")
@click.option("--command", metavar="LINE", help="The command to run from now on.")
@click.option("--description", metavar="TEXT", help="What the step does.")
@click.option(
    "--only", multiple=True, metavar="PATH", help="The only files that the step may change."
)
@_allow
@click.option("--skip", metavar="REASON", help="Skip the step.")
@click.option("--mode", type=click.Choice([m.value for m in Mode]), help="For a validation.")
@click.option("--waive", metavar="REASON", help="The validation no longer blocks.")
@_plan
@_no_execute
@options.waits
@options.as_json
def correct(
    name: str,
    command: str | None,
    description: str | None,
    only: tuple[str, ...],
    allow: tuple[str, ...],
    skip: str | None,
    mode: str | None,
    waive: str | None,
    plan_id: str | None,
    no_execute: bool,
    as_json: bool,
) -> int:
    """Change a step or a validation of a plan, and continue.

    A changed step is undone together with all later steps, and done again from the checkpoint
    before it. A validation is changed for good; the reason of a waiver is kept with the plan.

    \b
    Examples:
      runtrue plan correct s1 --command "make prices"
      runtrue plan correct s2 --allow model.py
      runtrue plan correct tests --command "python -m pytest tests/unit"
      runtrue plan correct lint --waive "the new rule is not agreed on yet"
    """
    must_be_text(name, command or "", description or "", skip or "", waive or "", *only, *allow)
    facts = PlanCorrection(
        command=command,
        description=description,
        paths=only,
        allow=allow,
        skip=skip,
        mode=Mode(mode) if mode else None,
        waive=waive,
    )
    with opened(plan_id) as at:
        said = correct_plan(at.standing, name, facts)
        return _go_on(at, said, no_execute=no_execute, as_json=as_json)


@click.command()
@any_plan
@click.option("--to", metavar="STEP", help="Undo everything after this step.")
@click.option("--before", metavar="STEP", help="Undo this step and everything after it.")
@options.waits
@options.as_json
def rollback(plan_id: str | None, to: str | None, before: str | None, as_json: bool) -> int:
    """Undo steps of a plan: restores its sandbox to that checkpoint.

    The steps that were undone are done again by `runtrue plan execute`.
    """
    if (to is None) == (before is None):
        raise PlanError("pass --to STEP to keep that step, or --before STEP to undo it too")
    with opened(plan_id) as at:
        said = roll_back(at.standing, to=to, before=before)
        return _go_on(at, said, no_execute=False, as_json=as_json)


def _go_on(at: ChosenPlan, said: object, *, no_execute: bool, as_json: bool) -> int:
    """Record what a person said, and run the plan on, unless another process does."""
    run_id = at.standing.run.id
    is_driven = at.say(said)
    if is_driven:
        echo(f"plan {run_id} is in progress and will read this before its next step", err=True)
    elif not no_execute:
        return run_and_show(at.journal, at.home, run_id, as_json=as_json)
    with opened(run_id) as again:
        again.show(as_json=as_json)
    return 0
