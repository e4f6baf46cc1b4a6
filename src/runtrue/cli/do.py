"""`runtrue do`."""

from __future__ import annotations

from pathlib import Path

import click

from runtrue.cli import options
from runtrue.cli.runner import run_and_show
from runtrue.cli.trust import OF_WORKFLOWS, confirm_trust
from runtrue.errors import UsageError
from runtrue.flow import Journal
from runtrue.home import Home
from runtrue.planner import start_task
from runtrue.workflow import WorkflowStore


@click.command()
@click.argument("task", metavar='"TASK"', nargs=-1, required=True)
@click.option("--save", "name", metavar="NAME", help="Save the workflow under this name.")
@click.option("--force", is_flag=True, help="Replace an existing workflow of that name.")
@click.option("--yes", is_flag=True, help="Approve every effect of the plan without asking.")
@click.option(
    "--dry-run", is_flag=True, help="Show the plan and its effects without calling anything."
)
@options.queued
@options.as_json
def do(
    task: tuple[str, ...],
    name: str | None,
    force: bool,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Turn a task in plain words into a workflow, run it, fix it, and offer to save it.

    If a saved workflow does the task, runs that. Otherwise writes one, with the model that
    RUNTRUE_MODEL or [model] names, or with the built-in planner, which understands tasks that name
    a URL, a file, a command in backticks, an MCP tool or a saved workflow. Then runs it. Where a
    guessed field or argument has another name, fixes the workflow from the real response and runs
    it again, at most three times, without sending a request twice.

    Asks before any effect that the task does not name: another host, a request that changes
    something, a file, a command, a secret. Without a terminal, the run waits for
    `runtrue runs resume RUN --answer yes` or `no`.

    The result goes to stdout, everything else to stderr. The task is recorded: refer to secrets
    by their variables, as in "with token from $TOKEN" (in single quotes).

    \b
    Exit codes: 0 done, 1 not done, 2 bad input, 3 waiting for an answer.

    \b
    Examples:
      runtrue do "fetch https://api.github.com/users/torvalds and extract username and biography"
      runtrue do "ask the time server for the time in Tokyo" --save tokyo-time
      runtrue do 'run `df -h` and save the output to disk.txt' --json
    """
    if dry_run and name is not None:
        raise UsageError("--dry-run makes nothing to save; drop --save")
    home = Home.find(Path.cwd())
    if name is not None:
        _must_be_free(home, name, force)
    confirm_trust(Path.cwd(), sections=OF_WORKFLOWS, servers=True, may_ask=not as_json)
    with Journal(home.journal) as journal:
        run_id = start_task(
            journal,
            " ".join(task),
            Path.cwd(),
            save=name,
            replace=force,
            agrees=yes,
            dry_run=dry_run,
        )
        return run_and_show(journal, home, run_id, as_json=as_json)


def _must_be_free(home: Home, name: str, force: bool) -> None:
    """Refuse a name before anything is run rather than after all was done."""
    taken = WorkflowStore(home).find(name)
    if taken and not force:
        raise UsageError(
            f"a workflow {name!r} is already saved; replace it with --force, or choose another name"
        )
