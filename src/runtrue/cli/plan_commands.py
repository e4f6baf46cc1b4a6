"""The commands of `runtrue plan` that drive a plan: new, execute, apply, cancel."""

from __future__ import annotations

import os
from pathlib import Path

import click
import msgspec

from runtrue.cli import options
from runtrue.cli.chosen_plan import a_plan, any_plan, opened
from runtrue.cli.chosen_run import end_run
from runtrue.cli.plan_text import print_head, print_next
from runtrue.cli.project import find_project, must_be_text
from runtrue.cli.runner import run_and_show
from runtrue.cli.self_runners import WAITS, agrees_to
from runtrue.cli.show import print_json
from runtrue.cli.trust import confirm_trust
from runtrue.config import load_config
from runtrue.errors import UsageError
from runtrue.flow import Journal
from runtrue.home import Home
from runtrue.models import model_name
from runtrue.plan import (
    ApplyTarget,
    Wanted,
    demand_target,
    must_be_complete,
    must_be_open,
    must_not_be_applied,
    plan_use,
    start_plan,
)

_force = click.option(
    "--force",
    is_flag=True,
    help="Stop the process that runs it, and repeat an interrupted side effect.",
)


@click.command()
@click.argument("what", metavar='FILE|"INSTRUCTION"')
@click.option("--profile", metavar="NAME", help="The automation profile; overrides the file's.")
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
def new(
    what: str,
    profile: str | None,
    model: str | None,
    agent: str | None,
    directory: Path,
    as_json: bool,
) -> int:
    """Create a plan, and carry it out as far as its profile allows.

    \b
    Examples:
      runtrue plan new plan.yaml
      runtrue plan new plan.yaml --profile full-auto
      runtrue plan new "Totals must include tax" --model openai:NAME
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

    Continues an interrupted plan where it stopped. If you edited the sandbox of a complete plan,
    validates it again.
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
@any_plan
@click.option("--branch", metavar="NAME", help="Commit the result to a new branch from HEAD.")
@click.option(
    "--onto",
    metavar="BRANCH",
    help="Commit the result to this branch, which must not be checked out.",
)
@click.option("--commit", is_flag=True, help="Commit the result after applying it.")
@options.allow_self_running
@options.as_json
def apply(
    plan_id: str | None,
    branch: str | None,
    onto: str | None,
    commit: bool,
    allow_self_running: bool,
    as_json: bool,
) -> int:
    """Apply the changes of a complete plan to your files, all of them or none.

    Merges them with what you changed since, and validates the result first. Refuses if that fails,
    if you changed the same lines, or if the sandbox was edited after it was validated; the plan
    then stays complete.

    With --branch or --onto the result becomes a commit, merged and validated in the same way, and
    your files stay as they are. With --commit, the commit has exactly the files of the plan.
    """
    if [branch is not None, onto is not None, commit].count(True) > 1:
        raise UsageError("pass only one of --branch, --onto and --commit")
    must_be_text(branch or "", onto or "")
    target = ApplyTarget(branch=branch, onto=onto, commit=commit)
    with opened(plan_id) as at:
        must_be_complete(at.standing)
        if not Path(at.standing.plan.request.project).is_dir():
            raise UsageError(
                f"{at.standing.plan.request.project} is not on this machine: apply plan "
                f"{at.standing.run.id} where it is"
            )
        if target != ApplyTarget():
            demand_target(at.standing, target)
        if not (allow_self_running or agrees_to(at.report.self_running, as_json=as_json)):
            return WAITS
        if not at.standing.is_applying:
            at.answer(
                "apply" if target == ApplyTarget() else {"apply": msgspec.to_builtins(target)}
            )
        # Your files are here, whichever worker did the rest.
        run_id = at.standing.run.id
        return run_and_show(at.journal, at.home, run_id, as_json=as_json, here=True)


@click.command()
@a_plan
@options.as_json
def cancel(plan_id: str, as_json: bool) -> int:
    """Cancel a plan and stop its process. Its sandbox stays."""
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
