"""Driving runs from the command line: progress while it goes on, questions, exit codes."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Any

import click

from runtrue.cli.progress import open_progress
from runtrue.cli.show import print_diff, print_question, print_report
from runtrue.errors import UsageError
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
    while True:
        with open_progress(plain=as_json) as progress:
            dispatcher = LocalDispatcher(journal, lambda run: prepare(run, home), [progress])
            run = _until_it_stops(dispatcher, run_id, force=force)
        if not (run.state is RunState.WAITING and _answered_here(journal, run, as_json=as_json)):
            break
    report = report_of_run(journal, home, run)
    if as_json:
        print_json(report)
    else:
        print_report(report)
        if run.state is RunState.WAITING:
            print_question(run.id, journal.open_question(run.id))
    return EXIT_CODES.get(run.state, 1)


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


def _answered_here(journal: Journal, run: RunRow, *, as_json: bool) -> bool:
    """Ask the person at the terminal, if there is one and the question can be put that way."""
    question = journal.open_question(run.id)
    if question is None or as_json or not sys.stdin.isatty():
        return False
    if not question.question.get("apply"):
        return False
    print_diff(question.question["diff"])
    try:
        yes = click.confirm("Apply these changes?", default=False, err=True)
    except click.Abort:
        click.echo(err=True)
        return False
    journal.answer(run.id, "yes" if yes else "no")
    return True


def _until_it_stops(dispatcher: LocalDispatcher, run_id: str, *, force: bool) -> RunRow:
    async def segment() -> RunRow:
        task = asyncio.ensure_future(dispatcher.run_segment(run_id, force=force))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await task

    try:
        return asyncio.run(segment())
    except (KeyboardInterrupt, asyncio.CancelledError):
        click.echo(
            f"\ninterrupted; nothing is lost: continue with `runtrue runs resume {run_id}`",
            err=True,
        )
        raise KeyboardInterrupt from None
