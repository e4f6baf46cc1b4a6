"""Driving runs from the command line: progress while it goes on, questions, exit codes."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import click

from runtrue.cli.kinds import Kind, kind_of
from runtrue.cli.progress import open_display
from runtrue.cli.show import is_terminal, print_json
from runtrue.errors import FlowError, HostError, NodeFailed, SideEffectInterrupted
from runtrue.flow import Journal, LocalDispatcher, RunRow, RunState
from runtrue.home import Home

EXIT_CODES = {RunState.PASSED: 0, RunState.WAITING: 3}


def drive(
    journal: Journal,
    home: Home,
    run_id: str,
    *,
    as_json: bool,
    force: bool = False,
    secrets: Mapping[str, Any] | None = None,
) -> int:
    """Drive a run to its end or its next question, show what there is to show; the exit code."""
    run = journal.find(run_id)
    kind = kind_of(run)
    click.echo(f"run {run.id}: {run.kind} {run.title}", err=True)
    asked = False
    while run.state is not RunState.WAITING or _ask_here(journal, home, run, as_json=as_json):
        asked = run.state is RunState.WAITING
        try:
            run = _drive_segment(
                journal, home, run, kind, plain=as_json, force=force, secrets=secrets or {}
            )
        except NodeFailed:
            run = journal.find(run_id)
            break
        except (HostError, FlowError, SideEffectInterrupted) as error:
            # The run broke off, and all it has come to is kept: it must not be lost here either.
            if not as_json:
                raise
            click.echo(f"runtrue: {error}", err=True)
            print_json({**report_of_run(journal, home, journal.find(run_id)), "error": str(error)})
            return error.exit_code
        if run.is_over:
            break
    report = kind.settle(run, home, report_of_run(journal, home, run))
    if as_json:
        print_json(report)
    else:
        kind.print_report(report, asked=asked)
        if run.state is RunState.WAITING:
            kind.print_question(run.id, journal.open_question(run.id))
        kind.conclude(home, report)
    return 1 if report.get("save_error") else EXIT_CODES.get(run.state, 1)


def _drive_segment(
    journal: Journal,
    home: Home,
    run: RunRow,
    kind: Kind,
    *,
    plain: bool,
    force: bool,
    secrets: Mapping[str, Any],
) -> RunRow:
    try:
        with open_display(plain=plain) as display, closing(kind.narrate(display)) as narrator:
            dispatcher = LocalDispatcher(
                journal, lambda run: kind.prepare(run, home, secrets, force=force), [narrator]
            )
            return asyncio.run(until_it_stops(dispatcher, run.id, force=force))
    except (KeyboardInterrupt, asyncio.CancelledError):
        click.echo(
            f"interrupted; nothing is lost: continue with `runtrue runs resume {run.id}`", err=True
        )
        raise KeyboardInterrupt from None


async def until_it_stops(dispatcher: LocalDispatcher, run_id: str, *, force: bool) -> RunRow:
    """Drive a segment; a signal to stop lets what runs be ended first."""
    task = asyncio.ensure_future(dispatcher.run_segment(run_id, force=force))
    for stop in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(stop, task.cancel)
    return await task


def report_of_run(journal: Journal, home: Home, run: RunRow) -> dict[str, Any]:
    """The report of a run: as it was recorded at its end, or as far as it has come."""
    if run.result is not None:
        return run.result
    return kind_of(run).report(journal, home, run)


def _ask_here(journal: Journal, home: Home, run: RunRow, *, as_json: bool) -> bool:
    """Ask the person at the terminal, if there is one and a yes or no is all that is asked."""
    question = journal.open_question(run.id)
    if question is None or not question.question.get("apply") or as_json or not is_terminal():
        return False
    kind_of(run).print_offer(report_of_run(journal, home, run), question)
    try:
        yes = click.confirm("Apply these changes?", default=False, err=True)
    except click.Abort:
        click.echo(err=True)
        return False
    journal.answer(run.id, "yes" if yes else "no")
    return True
