"""Driving runs from the command line: progress while it goes on, questions, exit codes."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import click
from msgspec import UNSET

from runtrue.cli.kinds import KINDS, RunKind, kind_of
from runtrue.cli.main import INTERRUPTED
from runtrue.cli.progress import open_display
from runtrue.cli.show import is_terminal, print_json
from runtrue.errors import (
    FlowError,
    HostError,
    NodeFailed,
    RuntrueError,
    SandboxError,
    SideEffectInterrupted,
)
from runtrue.flow import Journal, LocalDispatcher, RunRow, RunState
from runtrue.home import Home
from runtrue.sandbox import IsolationRecord, RefusedFiles
from runtrue.workflow import Isolated

if TYPE_CHECKING:
    from runtrue.cli.kinds import Report

#: The exit code of a run that failed, or was cancelled.
_FAILED = 1
#: What tells a process to stop.
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def drive(
    journal: Journal,
    home: Home,
    run_id: str,
    *,
    as_json: bool,
    force: bool = False,
    secrets: Mapping[str, Any] | None = None,
) -> int:
    """Drive a run to its end or its next question, show what there is to show; the exit code.

    One that is told to stop tells how far it has come, and is left to be resumed.
    """
    with _stopped_by(_interrupt):
        try:
            return _drive(
                journal, home, run_id, as_json=as_json, force=force, secrets=secrets or {}
            )
        except KeyboardInterrupt:
            _heed_nothing()
            return _tell_interrupted(journal, home, journal.find(run_id), as_json=as_json)


def _drive(
    journal: Journal,
    home: Home,
    run_id: str,
    *,
    as_json: bool,
    force: bool,
    secrets: Mapping[str, Any],
) -> int:
    run = journal.find(run_id)
    kind = kind_of(run)
    click.echo(f"run {run.id}: {run.kind} {run.title}", err=True)
    asked = False
    while (
        run.state is not RunState.WAITING
        or kind.expire(journal, run)
        or (asked := _ask_here(journal, home, run, as_json=as_json))
    ):
        try:
            run = _drive_segment(
                journal, home, run, kind, plain=as_json, force=force, secrets=secrets
            )
        except NodeFailed:
            run = journal.find(run_id)
            break
        except (HostError, FlowError, SideEffectInterrupted) as error:
            # The run broke off, and all it has come to is kept: it must not be lost here either.
            if not as_json and not isinstance(error, SandboxError):
                raise
            report = report_of_run(journal, home, journal.find(run_id))
            said = _said(error, kind.unapplied_patch(report))
            click.echo(f"runtrue: {said}", err=True)
            if as_json:
                _print_whole(_broken(report, error, said))
            return error.exit_code
        if run.is_over:
            break
    report = kind.stopped(run, home, report_of_run(journal, home, run))
    if as_json:
        _print_whole(report)
    else:
        kind.print_report(report, asked=asked)
        if run.state is RunState.WAITING:
            kind.print_question(run.id, journal.open_question(run.id))
        kind.conclude(home, report)
    return kind.exit_code(run, report)


def _drive_segment(
    journal: Journal,
    home: Home,
    run: RunRow,
    kind: RunKind[Any],
    *,
    plain: bool,
    force: bool,
    secrets: Mapping[str, Any],
) -> RunRow:
    try:
        with open_display(plain=plain) as display, closing(kind.narrator(display)) as narrator:
            dispatcher = LocalDispatcher(
                journal, lambda run: kind.prepare(run, home, secrets, force=force), [narrator]
            )
            return asyncio.run(until_it_stops(dispatcher, run.id, force=force))
    except asyncio.CancelledError:
        _interrupt()


async def until_it_stops(dispatcher: LocalDispatcher, run_id: str, *, force: bool) -> RunRow:
    """Drive a segment; a signal to stop lets what runs be ended first."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(dispatcher.run(run_id, force=force))
    # Not by the loop's own means: when it is closed, it leaves a process that a signal kills.
    with _stopped_by(lambda *_: loop.call_soon_threadsafe(task.cancel)):
        return await task


@contextmanager
def _stopped_by(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Have what tells the process to stop handled, unless it was started to ignore it."""
    before = {stop: signal.getsignal(stop) for stop in _STOPS}
    for stop, former in before.items():
        if former is not signal.SIG_IGN:
            signal.signal(stop, handler)
    try:
        yield
    finally:
        for stop, former in before.items():
            signal.signal(stop, former)


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _heed_nothing() -> None:
    """Let nothing interrupt what follows, which is the last that is done.

    A handler that does nothing, since programs that are started would inherit to ignore it.
    """
    for stop in _STOPS:
        signal.signal(stop, lambda *_: None)


def _print_whole(report: Report) -> None:
    """Print the one document, of which half would be worse than none, and a second no better."""
    _heed_nothing()
    print_json(report)


def _tell_interrupted(journal: Journal, home: Home, run: RunRow, *, as_json: bool) -> int:
    command = "plan execute" if run.kind == "plan" else "runs resume"
    how = f"interrupted; nothing is lost: continue with `runtrue {command} {run.id}`"
    is_cancelled = run.state is RunState.CANCELLED
    click.echo(f"run {run.id} was cancelled" if is_cancelled else how, err=True)
    if as_json:
        print_json(replace(report_of_run(journal, home, run), interrupted=True))
    return _FAILED if is_cancelled else INTERRUPTED


def _broken(report: Report, error: Exception, said: str) -> Report:
    """Return a report with the error that stopped the run, and the files that were refused."""
    if isinstance(error, RefusedFiles):
        findings = (*report.findings, *error.findings)
        report = replace(report, status="failed", findings=findings)
    return replace(report, error=said)


def _said(error: Exception, patch: str | None) -> str:
    """Return what stopped a run; where that was applying its patch, with the file to apply."""
    # What was refused is not to be applied by hand either.
    may_be = isinstance(error, SandboxError) and not isinstance(error, RefusedFiles)
    return f"{error}; the patch: {patch}" if may_be and patch else str(error)


def look_at(journal: Journal, home: Home, run: RunRow) -> RunRow:
    """A run as it stands now: one that nobody has answered in time is driven to its end first."""
    if run.state is not RunState.WAITING or run.kind not in KINDS:
        return run
    kind = kind_of(run)
    if not kind.expire(journal, run):
        return run
    dispatcher = LocalDispatcher(journal, lambda run: kind.prepare(run, home, {}, force=False))
    # Why it cannot be driven is in the journal: to look at it must be possible.
    with suppress(RuntrueError):
        asyncio.run(dispatcher.run(run.id))
    return journal.find(run.id)


def report_of_run(journal: Journal, home: Home, run: RunRow) -> Report:
    """The report of a run: as it was recorded at its end, or as far as it has come.

    How strongly its commands are confined is known beforehand, or where one was.
    """
    kind, is_recorded = kind_of(run), run.result is not None
    report: Report = (
        run.result_as(kind.report_type) if is_recorded else kind.report(journal, home, run)
    )
    if report.isolation is not UNSET:
        return report
    event = journal.latest_event(run.id, Isolated)
    isolation = IsolationRecord(event.level, tuple(event.network)) if event else None
    return replace(report, isolation=isolation)


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
