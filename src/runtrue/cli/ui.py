"""`runtrue ui`."""

from __future__ import annotations

import os
import sys
import webbrowser
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runtrue.cli.console import echo
from runtrue.cli.kinds import kind_of
from runtrue.errors import UsageError
from runtrue.flow import Journal, RunRow, RunState
from runtrue.home import Home

if TYPE_CHECKING:
    from runtrue.web import PersonAnswer, Report, WebAddress, WebService

_PORT = 8320


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=_PORT,
    show_default=True,
    help="The port; 0 takes any that is free.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address.")
@click.option("--no-open", is_flag=True, help="Do not open a browser.")
@click.option("--read-only", is_flag=True, help="Only show: answer, start and change nothing.")
def ui(port: int, host: str, no_open: bool, read_only: bool) -> int:
    """Show runs, questions, workflows and metrics as pages in a browser.

    The address that is printed has a token, good until the server ends; nobody gets in without it.
    What you answer or start there goes on when browser or server are closed.

    \b
    Examples:
      runtrue ui
      runtrue ui --port 0 --no-open --read-only
    """
    from runtrue.web import serve_pages

    serve_pages(
        service_for(Home.find(Path.cwd()), read_only=read_only),
        host=host,
        port=port,
        on_ready=partial(_announce, opens=not no_open),
    )
    echo("stopped; runs go on", err=True)
    return 0


def service_for(home: Home, *, read_only: bool = False) -> WebService:
    """Return what the pages stand on: this program, and what it does with a run."""
    from runtrue.cli.hooks.arranged import own_program
    from runtrue.cli.metrics import load_facts
    from runtrue.cli.plan_text import REASONS
    from runtrue.web import WebService

    return WebService(
        home=home,
        program=tuple(own_program()),
        directory=Path.cwd(),
        report_of=partial(_report_of, home),
        answer=partial(record_answer, home),
        facts=lambda: load_facts(home.journal),
        reasons=REASONS,
        read_only=read_only,
    )


def _report_of(home: Home, journal: Journal, run: RunRow) -> Report:
    from runtrue.cli.kinds.each import EachReport
    from runtrue.cli.runner import report_of_run

    report = report_of_run(journal, home, run)
    if isinstance(report, EachReport):
        counts = ", ".join(f"{count} {state}" for state, count in sorted(report.counts.items()))
        raise UsageError(f"{counts}; `runtrue runs show {run.id}` lists each of its runs")
    return report


def record_answer(home: Home, journal: Journal, run_id: str, answer: PersonAnswer) -> None:
    """Record what a person said to a question, as the commands for that do.

    Raises RuntrueError where that question is no longer open, and for what cannot be meant.
    """
    run = journal.find(run_id)
    kind = kind_of(run)
    if kind.expire(journal, run):
        raise UsageError(f"run {run.id} waited too long for an answer, and is given up")
    if run.state is not RunState.WAITING:
        raise UsageError(f"run {run.id} ({run.state}) asks nothing that could be answered")
    if run.kind == "plan":
        value: Any = _answer_to_plan(home, journal, run, answer)
    else:
        # Nothing said is an answer to a person who edited the candidate.
        value = kind.answer(journal, home, run, answer.said, can_ask=False)
    if value is None:
        raise UsageError(f"run {run.id} needs an answer")
    journal.answer(run.id, value, seq=answer.seq)


def _answer_to_plan(home: Home, journal: Journal, run: RunRow, answer: PersonAnswer) -> Any:
    """Return what `plan execute`, `plan apply` or `plan prompt` would record."""
    from runtrue.plan import Wanted, answer_for, must_be_complete, standing_of

    standing = standing_of(journal, home, run)
    commands = {Wanted.BEGIN: ("execute", "go"), Wanted.APPLY: ("apply", "apply")}
    if standing.wanted not in commands:
        return answer_for(standing, answer.said or "", answer.allow)
    command, value = commands[standing.wanted]
    if answer.said != command:
        raise UsageError(f"plan {run.id} waits for `{command}`, not for {answer.said!r}")
    if standing.wanted is Wanted.APPLY:
        must_be_complete(standing)
        if standing.report.self_running and not answer.self_running:
            raise UsageError(
                f"plan {run.id} has files that run by themselves once they are applied: "
                "read them, and agree to them"
            )
    return value


def _announce(address: WebAddress, *, opens: bool) -> None:
    echo(f"open {address.with_token}", err=True)
    echo("stop with Ctrl-C; runs go on without it", err=True)
    sys.stderr.flush()
    if opens and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        webbrowser.open(address.with_token)
