"""Driving runs from the command line: progress while it goes on, questions, exit codes."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import click

from runtrue.cli.progress import open_progress
from runtrue.cli.show import (
    is_terminal,
    print_diff,
    print_proof,
    print_question,
    print_report,
)
from runtrue.errors import FlowError, SandboxError, UsageError
from runtrue.flow import Journal, LocalDispatcher, RunRow, RunState, Segment, replay
from runtrue.home import Home

EXIT_CODES = {RunState.PASSED: 0, RunState.WAITING: 3}


def prepare(run: RunRow, home: Home) -> Segment:
    """The flow of a run, by its kind."""
    from runtrue.code import KIND, prepare_fix

    if run.kind != KIND:
        raise UsageError(
            f"run {run.id} is of the kind {run.kind!r}, which this runtrue has not got"
        )
    return prepare_fix(run, home)


def drive(journal: Journal, home: Home, run_id: str, *, as_json: bool, force: bool = False) -> int:
    """Drive a run to its end or its next question, show what there is to show; the exit code."""
    run = journal.find(run_id)
    click.echo(f"run {run.id}: {run.kind} {run.title}", err=True)
    asked = False
    while run.state is not RunState.WAITING or _ask_here(journal, home, run, as_json=as_json):
        asked = run.state is RunState.WAITING
        try:
            run = _drive_segment(journal, home, run_id, plain=as_json, force=force)
        except (SandboxError, FlowError) as error:
            # The run broke off, and all it has come to is kept: it must not be lost here either.
            if not as_json:
                raise
            click.echo(f"runtrue: {error}", err=True)
            print_json({**report_of_run(journal, home, journal.find(run_id)), "error": str(error)})
            return error.exit_code
        if run.is_over:
            break
    report = report_of_run(journal, home, run)
    if as_json:
        print_json(report)
    else:
        print_report(report, with_diff=not asked)
        if run.state is RunState.WAITING:
            print_question(run.id, journal.open_question(run.id))
    return EXIT_CODES.get(run.state, 1)


def _drive_segment(
    journal: Journal, home: Home, run_id: str, *, plain: bool, force: bool
) -> RunRow:
    try:
        with open_progress(plain=plain) as progress:
            dispatcher = LocalDispatcher(journal, lambda run: prepare(run, home), [progress])
            return asyncio.run(_until_it_stops(dispatcher, run_id, force=force))
    except (KeyboardInterrupt, asyncio.CancelledError):
        click.echo(
            f"interrupted; nothing is lost: continue with `runtrue runs resume {run_id}`", err=True
        )
        raise KeyboardInterrupt from None


async def _until_it_stops(dispatcher: LocalDispatcher, run_id: str, *, force: bool) -> RunRow:
    task = asyncio.ensure_future(dispatcher.run_segment(run_id, force=force))
    for stop in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(stop, task.cancel)
    return await task


def report_of_run(journal: Journal, home: Home, run: RunRow) -> dict[str, Any]:
    """The report of a run: as it was recorded at its end, or as far as it has come."""
    if run.result is not None:
        return run.result
    from runtrue.code import report_of

    segment = prepare(run, home)
    asyncio.run(replay(segment.flow, segment.shared, journal.load(run.id)))
    return {**report_of(segment.shared, run.state), "error": run.error}


def print_json(document: Any) -> None:
    """One JSON document on stdout."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


def _ask_here(journal: Journal, home: Home, run: RunRow, *, as_json: bool) -> bool:
    """Ask the person at the terminal, if there is one and a yes or no is all that is asked."""
    question = journal.open_question(run.id)
    if question is None or not question.question.get("apply") or as_json or not is_terminal():
        return False
    print_diff(question.question["diff"])
    print_proof(report_of_run(journal, home, run))
    try:
        yes = click.confirm("Apply these changes?", default=False, err=True)
    except click.Abort:
        click.echo(err=True)
        return False
    journal.answer(run.id, "yes" if yes else "no")
    return True
