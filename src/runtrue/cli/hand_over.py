"""Runs that workers drive: put on a queue here, and followed from here."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from runtrue.cli.console import echo
from runtrue.cli.kinds import kind_of
from runtrue.cli.options import PRIORITY, QUEUE, WAIT
from runtrue.cli.progress import open_display
from runtrue.cli.run_files import bring_files, has_project, send_project
from runtrue.cli.runner import report_of_run
from runtrue.cli.show import print_document, print_json
from runtrue.errors import QueueFull, UsageError
from runtrue.flow import Journal, RunRow, RunState
from runtrue.home import Home
from runtrue.scale import Queue

#: Seconds between two looks at a run that somebody else drives.
_LOOK = 0.25


def hand_over(
    journal: Journal,
    home: Home,
    run_id: str,
    *,
    as_json: bool,
    force: bool,
    secrets: Mapping[str, Any],
) -> int | None:
    """Put a run on its queue, and follow it if that is wanted; return the exit code.

    None: the run belongs to no queue, and is driven here.
    """
    meta = click.get_current_context().meta
    with Queue(str(journal.location)) as queues:
        name = meta.get(QUEUE) or queues.of_run(run_id)
        if name is None:
            return None
        if secrets:
            journal.cancel(run_id)
            given = ", ".join(name.removeprefix("inputs.") for name in secrets)
            raise UsageError(
                f"secrets never travel, and {given} would have to: name it ${{env.NAME}} in the "
                "workflow and keep it on the workers with `runtrue secret set NAME`"
            )
        if queues.of_run(run_id) is None:
            try:
                queues.must_have_room(name)
            except QueueFull:
                journal.cancel(run_id)
                raise
        run = journal.find(run_id)
        if children := journal.children(run.id):
            queues.adopt(run.id, name)
            left = [child.run_id for child in children if not child.is_over]
            if left:
                _submit(journal, home, queues, left, name, force=force)
            else:
                queues.submit(run, name)
        else:
            _submit(journal, home, queues, [run.id], name, force=force)
    if not meta.get(WAIT):
        if as_json:
            print_json({"run_id": run.id, "status": "queued", "queue": name})
        else:
            echo(run.id)
            echo(f"queue {name}; see `runtrue runs show {run.id}`", err=True)
        return 0
    return _follow(journal, home, run, as_json=as_json)


def _submit(
    journal: Journal, home: Home, queues: Queue, ids: list[str], name: str, *, force: bool
) -> None:
    """Put those runs on a queue that nobody drives and that wait for no answer."""
    found = map(journal.find, ids)
    runs = [
        run
        for run in found
        if not run.is_driven and run.state is not RunState.WAITING and not run.is_over
    ]
    for run in filter(has_project, runs):
        send_project(journal, home, run)
    priority = click.get_current_context().meta.get(PRIORITY)
    queues.submit_all(runs, name, force=force, priority=priority)


def is_for_others(journal: Journal, run: RunRow) -> bool:
    """True if a run belongs to workers, or to a machine that has its project."""
    project = run.input.get("project")
    if isinstance(project, str) and not Path(project).is_dir():
        return True
    with Queue(str(journal.location)) as queues:
        return queues.of_run(run.id) is not None


def _follow(journal: Journal, home: Home, run: RunRow, *, as_json: bool) -> int:
    """Show what is recorded of a run until it ends or asks, and then its report."""
    kind = kind_of(run)
    echo(f"run {run.id}: {run.kind} {run.title}", err=True)
    news = kind.news(journal, run)
    with open_display(plain=as_json) as display, closing(kind.narrator(display)) as narrator:
        while True:
            run = journal.find(run.id)
            for event in news():
                narrator(event)
            if kind.is_stopped(journal, run):
                break
            time.sleep(_LOOK)
    bring_files(journal, home, run)
    report = report_of_run(journal, home, run)
    if as_json:
        print_document(report)
        return kind.exit_code(run, report)
    kind.print_report(report)
    if run.state is RunState.WAITING:
        kind.print_question(run.id, journal.open_question(run.id))
    return kind.exit_code(run, report)
