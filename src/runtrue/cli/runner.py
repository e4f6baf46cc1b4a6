"""Runs on the command line: progress while one goes on, questions, reports, exit codes."""

from __future__ import annotations

import asyncio
import shlex
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import click
import msgspec
from msgspec import UNSET

from runtrue.cli.console import echo, streams_are_one
from runtrue.cli.kinds import KINDS, Shown, kind_of
from runtrue.cli.main import INTERRUPTED
from runtrue.cli.progress import Display, open_display
from runtrue.cli.run_files import as_seen_here, forget_files, prepare_here
from runtrue.cli.shared_options import verbosity
from runtrue.cli.show import is_terminal, print_document
from runtrue.errors import (
    ChildrenFailed,
    FlowError,
    HostError,
    NodeFailed,
    RuntrueError,
    RunWaiting,
    SandboxError,
    SideEffectInterrupted,
)
from runtrue.flow import (
    EffectAwaited,
    Event,
    Journal,
    Listener,
    LocalDispatcher,
    RunRow,
    RunState,
    interrupted,
)
from runtrue.home import Home
from runtrue.sandbox import IsolationRecord, RefusedFiles
from runtrue.workflow import Isolated

if TYPE_CHECKING:
    from runtrue.cli.kinds import Report

#: The exit code of a run that failed, or was cancelled.
_FAILED = 1
#: How many characters of an event `--verbose` shows.
_MOST_OF_EVENT = 400
#: Signals to stop.
_STOPS = (signal.SIGINT, signal.SIGTERM)


def run_and_show(
    journal: Journal,
    home: Home,
    run_id: str,
    *,
    as_json: bool,
    force: bool = False,
    secrets: Mapping[str, Any] | None = None,
    here: bool = False,
) -> int:
    """Run until the end or the next question, show the outcome, and return the exit code.

    A run that is interrupted shows how far it is, and can be resumed. One that belongs to workers
    is left to them, unless it must go on `here`.
    """
    from runtrue.cli.prune import prune_daily

    if isinstance(journal.location, str) and not here:
        from runtrue.cli.hand_over import hand_over

        code = hand_over(journal, home, run_id, as_json=as_json, force=force, secrets=secrets or {})
        if code is not None:
            return code
    with _stopped_by(_interrupt):
        try:
            prune_daily(journal, home)
            return _run_and_show(
                journal, home, run_id, as_json=as_json, force=force, secrets=secrets or {}
            )
        except KeyboardInterrupt:
            _ignore_signals()
            return _show_interrupted(journal, home, journal.find(run_id), as_json=as_json)


def _run_and_show(
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
    if verbosity() >= 0:
        echo(f"run {run.id}: {run.kind} {run.title}", err=True)
    asked = False
    while (
        run.state is not RunState.WAITING
        or kind.expire(journal, run)
        or (asked := _ask_here(journal, home, run, as_json=as_json))
    ):
        try:
            with open_display(plain=as_json) as display:
                run = go_on(journal, home, run, display, force=force, secrets=secrets)
        except (NodeFailed, ChildrenFailed):
            run = journal.find(run_id)
            break
        except (HostError, FlowError, RunWaiting, SideEffectInterrupted) as error:
            # The run broke off, and all it has come to is kept: it must not be lost here either.
            if isinstance(error, SideEffectInterrupted):
                error.args = (f"{error}{ways_to_settle(run, journal.begun(run_id))}",)
            if not as_json and not isinstance(error, SandboxError):
                raise
            report = report_of_run(journal, home, journal.find(run_id))
            said = _said(error, kind.unapplied_patch(report))
            echo(f"runtrue: {said}", err=True)
            if as_json:
                _print_whole(_broken(report, error, said))
            return error.exit_code
        if run.is_over:
            break
    report = kind.stopped(run, home, report_of_run(journal, home, run))
    if as_json:
        _print_whole(report)
    else:
        kind.print_report(report, asked=asked, shown=_shown(report))
        if run.state is RunState.WAITING:
            kind.print_question(run.id, journal.open_question(run.id))
        kind.conclude(home, report)
    return kind.exit_code(run, report)


def _shown(report: Report) -> Shown:
    """Return what the reader of stdout has just read as progress on stderr."""
    is_read = bool(report.attempts) and streams_are_one() and verbosity() >= 0
    return Shown.PROGRESS if is_read else Shown.NOTHING


def go_on(
    journal: Journal,
    home: Home,
    run: RunRow,
    display: Display | None = None,
    *,
    force: bool = False,
    secrets: Mapping[str, Any] | None = None,
) -> RunRow:
    """Run until the end or the next question, and return the run as it is then.

    A signal to stop lets what runs be ended first, and raises KeyboardInterrupt.
    """
    kind = kind_of(run)
    with closing(kind.narrator(display or Display())) as narrator:
        shown = display or Display()

        def say_awaited(event: Event) -> None:
            if isinstance(event, EffectAwaited):
                node, seconds = event.origin, event.seconds
                shown.line(
                    f"  stopping: {node} gets up to {seconds:g} s to finish; "
                    "a second signal stops it now",
                    "yellow",
                )

        def say_all(event: Event) -> None:
            origin = f" {event.origin}" if event.origin else ""
            payload = msgspec.json.encode(event.payload).decode()
            shown.line(f"    event {event.kind}{origin} {payload[:_MOST_OF_EVENT]}", "bright_black")

        listeners: list[Listener] = [narrator, say_awaited]
        if verbosity() > 0:
            listeners.append(say_all)
        dispatcher = LocalDispatcher(
            journal, lambda run: prepare_here(run, home, secrets or {}, force=force), listeners
        )
        try:
            run = asyncio.run(_until_stopped(dispatcher, run.id, force=force))
            forget_files(home, run)
            return run
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None


async def _until_stopped(dispatcher: LocalDispatcher, run_id: str, *, force: bool) -> RunRow:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(dispatcher.run(run_id, force=force))
    # Not by the loop's own means: when it is closed, it leaves a process that a signal kills.
    with _stopped_by(lambda *_: loop.call_soon_threadsafe(task.cancel)):
        return await task


@contextmanager
def _stopped_by(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Handle the signals to stop, except those that the process was started to ignore."""
    before = {stop: signal.getsignal(stop) for stop in (*_STOPS, signal.SIGHUP)}
    for stop, former in before.items():
        if former is not signal.SIG_IGN:
            # The terminal may go away: the run goes on without it.
            signal.signal(stop, handler if stop in _STOPS else lambda *_: None)
    try:
        yield
    finally:
        for stop, former in before.items():
            signal.signal(stop, former)


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _ignore_signals() -> None:
    """Let nothing interrupt what follows, the last thing that is done.

    By a handler that does nothing: SIG_IGN would be inherited by programs that are started.
    """
    for stop in (*_STOPS, signal.SIGHUP):
        signal.signal(stop, lambda *_: None)


def _print_whole(report: Report) -> None:
    """Print the one document, whole: half of it would be worse than none."""
    _ignore_signals()
    print_document(report)


def _show_interrupted(journal: Journal, home: Home, run: RunRow, *, as_json: bool) -> int:
    command = "plan execute" if run.kind == "plan" else "runs resume"
    how = f"interrupted; nothing is lost. Continue with `runtrue {command} {run.id}`"
    if begun := journal.begun(run.id):
        how = f"interrupted: {interrupted(run.id, begun)}{ways_to_settle(run, begun)}"
    is_cancelled = run.state is RunState.CANCELLED
    echo(f"run {run.id} was cancelled" if is_cancelled else how, err=True)
    if as_json:
        report = replace(report_of_run(journal, home, run), interrupted=True)
        print_document(as_interrupted(report))
    return _FAILED if is_cancelled else INTERRUPTED


def as_interrupted(report: Report) -> Report:
    """Return the report of a run that nobody drives: it is interrupted, not running."""
    return replace(report, status="interrupted") if report.status == "running" else report


def _broken(report: Report, error: Exception, said: str) -> Report:
    """Return a report with the error that stopped the run, and the files that were refused."""
    if isinstance(error, RefusedFiles):
        findings = (*report.findings, *error.findings)
        report = replace(report, status="failed", findings=findings)
    return replace(report, error=said)


def ways_to_settle(run: RunRow, begun: Sequence[str]) -> str:
    """Return what else a person can do about side effects that were cut off."""
    if run.kind != "workflow" or not begun:
        return ""
    first = shlex.quote(begun[0])
    return f"; or pass `--done {first}` if it happened, `--skip {first}` without it"


def _said(error: Exception, patch: str | None) -> str:
    """Return what stopped a run; where that was applying its patch, with the file to apply."""
    # What was refused is not to be applied by hand either.
    may_be = isinstance(error, SandboxError) and not isinstance(error, RefusedFiles)
    return f"{error}; the patch: {patch}" if may_be and patch else str(error)


def after_expiry(journal: Journal, home: Home, run: RunRow) -> RunRow:
    """Return a run as it is now; one that nobody answered in time runs to its end first."""
    if run.state is not RunState.WAITING or run.kind not in KINDS:
        return run
    if isinstance(journal.location, str):
        from runtrue.cli.hand_over import is_for_others

        # A look at what many share must not drive what is on other machines.
        if is_for_others(journal, run):
            return run
    if not kind_of(run).expire(journal, run):
        return run
    # Why it cannot run is in the journal: to look at it must be possible.
    with suppress(RuntrueError):
        go_on(journal, home, run)
    return journal.find(run.id)


def report_of_run(journal: Journal, home: Home, run: RunRow) -> Report:
    """Return the report of a run: as recorded at its end, or as far as it is."""
    kind = kind_of(run)
    is_recorded = run.result is not None and not kind.is_derived
    report: Report = (
        run.result_as(kind.report_type)
        if is_recorded
        else as_seen_here(journal, home, run, kind.report(journal, home, run))
    )
    if report.isolation is not UNSET:
        return report
    event = journal.latest_event(run.id, Isolated)
    isolation = IsolationRecord(event.level, tuple(event.network)) if event else None
    return replace(report, isolation=isolation)


def _ask_here(journal: Journal, home: Home, run: RunRow, *, as_json: bool) -> bool:
    """Ask the person at the terminal, if there is one and this can be asked there."""
    question = journal.open_question(run.id)
    if question is None or as_json or not is_terminal():
        return False
    try:
        answer = kind_of(run).ask_here(report_of_run(journal, home, run), question)
    except click.Abort:
        echo(err=True)
        return False
    if answer is None:
        return False
    journal.answer(run.id, answer)
    return True
