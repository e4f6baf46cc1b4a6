"""The run that a command is about: which one is meant, and how it is ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from runtrue.errors import RunError, UnknownRun
from runtrue.flow import Journal, RunRow
from runtrue.home import Home


def completes(kind: str | None = None) -> Callable[[Any, Any, str], list[str]]:
    """Return a completion of the ids of runs, or of those of a kind."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        home = Home.find(Path.cwd())
        if not home.has_journal:
            return []
        with Journal(home.journal) as journal:
            return [run.id for run in journal.runs(kind=kind) if run.id.startswith(incomplete)]

    return complete


run_id_argument = click.argument(
    "run_id", metavar="[RUN]", required=False, shell_complete=completes()
)
of_all_option = click.option(
    "--all", "of_all", is_flag=True, help="Without an id: the latest run of any project."
)
#: What a project has at its root.
_ROOT_FILES = (".git", "runtrue.toml", "pyproject.toml", "package.json")


def end_run(journal: Journal, home: Home, run: RunRow) -> RunRow:
    """Cancel a run, stop the process that drives it, and forget what it taught.

    Return the run as it was before.
    """
    from runtrue.memory import DebugMemory

    run = journal.cancel(run.id)
    for child in journal.children(run.id):
        if not child.is_over:
            with suppress(RunError):  # it has just ended
                end_run(journal, home, journal.find(child.run_id))
    # A child's process drives others, too: what it still writes of this one is refused.
    is_alone = journal.parent_of(run.id) is None
    if is_alone and run.owner is not None and run.owner.is_here() and run.is_driven:
        with suppress(OSError):
            os.kill(run.owner.pid, signal.SIGTERM)
    with DebugMemory.of(home, Path.cwd()) as memory:
        memory.unlearn(run.id)
    return run


def runs_journal(home: Home) -> Journal:
    """Open the journal of the runs there are. Raises UnknownRun if there is none."""
    if not home.has_journal:
        raise UnknownRun(f"there are no runs yet: {home.journal} does not exist")
    return Journal(home.journal)


def find_run(journal: Journal, run_id: str | None, *, of_all: bool = False) -> RunRow:
    """Return the run of an id, or without one the latest of this project. Raises UnknownRun."""
    if run_id is not None:
        return journal.find(run_id)
    root = None if of_all else project_root()
    if root is not None:
        if (run := journal.latest_within(root)) is not None:
            return run
        raise UnknownRun(
            f"there are no runs of {root} in {journal.name}; "
            "pass an id from `runtrue runs list --all`, or --all for the latest of any project"
        )
    latest = journal.runs(limit=1, with_children=False)
    if not latest:
        raise UnknownRun(f"there are no runs in {journal.name} yet")
    return latest[0]


def project_root() -> Path | None:
    """Return the directory of the project that the user is in, or None outside of one."""
    here = Path.cwd().resolve()
    for directory in (here, *here.parents):
        if any((directory / name).exists() for name in _ROOT_FILES):
            return directory
    return None
