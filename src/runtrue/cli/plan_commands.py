"""The commands of `runtrue plan` that do something: use, execute, prompt, apply, cancel."""

from __future__ import annotations

import os
from pathlib import Path

import click

from runtrue.cli import options
from runtrue.cli.chosen_plan import a_plan, any_plan, opened
from runtrue.cli.plan_text import print_head, print_next
from runtrue.cli.project import find_project, must_be_text
from runtrue.cli.runner import run_and_show
from runtrue.cli.runs import end_run
from runtrue.cli.self_runners import WAITS, agrees_to
from runtrue.cli.show import print_json
from runtrue.cli.trust import confirm_trust
from runtrue.config import load_config
from runtrue.flow import Journal
from runtrue.home import Home
from runtrue.models import model_name
from runtrue.plan import (
    Wanted,
    answer_for,
    must_be_complete,
    must_be_open,
    must_not_be_applied,
    plan_use,
    start_plan,
)

_force = click.option(
    "--force",
    is_flag=True,
    help="End the process that drives it; fire an interrupted side effect again.",
)


@click.command()
@click.argument("what", metavar='FILE|"INSTRUCTION"')
@click.option("--profile", metavar="NAME", help="The automation profile, over the file's.")
@click.option("--model", metavar="NAME", help="The language model, as provider:model.")
@options.agent
@click.option(
    "--path",
    "directory",
    default=".",
    type=click.Path(path_type=Path),
    help="The project's directory. [default: .]",
)
@options.as_json
def use(
    what: str,
    profile: str | None,
    model: str | None,
    agent: str | None,
    directory: Path,
    as_json: bool,
) -> int:
    """Make a plan, and go as far with it as its profile allows.

    \b
    Examples:
      runtrue plan use plan.yaml
      runtrue plan use plan.yaml --profile full-auto
      runtrue plan use "Totals must include tax" --model openai:NAME
    """
    project = find_project(directory)
    must_be_text(str(project), what, agent or "", model or "", profile or "")
    confirm_trust(project, may_ask=not as_json)
    config = load_config(project)
    request = plan_use(
        project,
        config,
        what,
        profile=profile,
        model=model or model_name(os.environ, config.model.name),
        agent=agent,
    )
    home = Home.find(project)
    with Journal(home.journal) as journal:
        return run_and_show(journal, home, start_plan(journal, request), as_json=as_json)


@click.command()
@any_plan
@_force
@options.queued
@options.as_json
def execute(plan_id: str | None, force: bool, as_json: bool) -> int:
    """Execute a plan: do its steps, validate them, fix what fails and validate again.

    One that was interrupted goes on where it was. One that is complete, and whose sandbox was
    edited since, is validated again.
    """
    with opened(plan_id) as at:
        must_be_open(at.standing)
        wanted = at.standing.wanted
        if wanted is not None and wanted.is_prompt:
            return at.show(as_json=as_json)
        if wanted is Wanted.APPLY:
            edited = at.standing.edited()
            if edited is None:
                at.show(as_json=as_json)
                return 0
            at.answer({"candidate": edited})
        elif wanted is Wanted.BEGIN:
            at.answer("go")
        return run_and_show(at.journal, at.home, at.standing.run.id, as_json=as_json, force=force)


@click.command()
@a_plan
@click.argument("guidance")
@click.option(
    "--allow",
    multiple=True,
    metavar="PATH",
    help="A file, or pattern, that may be changed from now on. Can be repeated.",
)
@click.option("--no-execute", is_flag=True, help="Only record it.")
@options.waits
@options.as_json
def prompt(
    plan_id: str, guidance: str, allow: tuple[str, ...], no_execute: bool, as_json: bool
) -> int:
    """Say something to a plan that waits for a person; it goes on with a fresh budget.

    To a plan that asks for approval, `yes` approves; anything else is what is to be different.

    \b
    Examples:
      runtrue plan prompt 3fa9 "the rate is in model.py" --allow model.py
      runtrue plan prompt 3fa9 yes
    """
    must_be_text(guidance, *allow)
    with opened(plan_id) as at:
        at.answer(answer_for(at.standing, guidance, allow))
        run_id = at.standing.run.id
        if not no_execute:
            return run_and_show(at.journal, at.home, run_id, as_json=as_json)
    with opened(run_id) as at:
        at.show(as_json=as_json)
    return 0


@click.command()
@any_plan
@options.allow_self_running
@options.waits
@options.as_json
def apply(plan_id: str | None, allow_self_running: bool, as_json: bool) -> int:
    """Bring what a complete plan has come to into your files, all of it or nothing.

    What you have changed meanwhile is merged with it, and the result is validated first. Refused
    when that fails, when you have changed the same lines, or when the sandbox was edited after it
    was validated; the plan then stays complete.
    """
    with opened(plan_id) as at:
        must_be_complete(at.standing)
        if not (allow_self_running or agrees_to(at.report.self_running, as_json=as_json)):
            return WAITS
        if not at.standing.is_applying:
            at.answer("apply")
        return run_and_show(at.journal, at.home, at.standing.run.id, as_json=as_json)


@click.command()
@a_plan
@options.as_json
def cancel(plan_id: str, as_json: bool) -> int:
    """End a plan, and stop the process that drives it. Its sandbox is kept."""
    with opened(plan_id) as at:
        must_be_open(at.standing)
        must_not_be_applied(at.standing)
        end_run(at.journal, at.home, at.standing.run)
    with opened(at.standing.run.id) as at:
        if as_json:
            print_json(at.report)
        else:
            print_head(at.report)
            print_next(at.report)
    return 0
