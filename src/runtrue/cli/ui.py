"""`runtrue ui`."""

from __future__ import annotations

import os
import re
import sys
import webbrowser
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from runtrue.cli.console import echo
from runtrue.cli.kinds import kind_of
from runtrue.errors import UsageError
from runtrue.flow import Journal, RunRow, RunState
from runtrue.home import Home, shared_database

if TYPE_CHECKING:
    from runtrue.web import PersonAnswer, Report, WebAddress, WebService

_PORT = 8320
#: The secret that a proxy shows with each request.
_TOKEN, _SHORTEST_TOKEN = "RUNTRUE_UI_TOKEN", 24


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
@click.option(
    "--read-only", is_flag=True, help="Only look: nothing can be answered, started or changed."
)
@click.option(
    "--auth-header",
    metavar="NAME",
    help="Behind a proxy: the header that names the person it let in.",
)
@click.option("--public-url", metavar="URL", help="Behind a proxy: the address that browsers open.")
def ui(
    port: int,
    host: str,
    no_open: bool,
    read_only: bool,
    auth_header: str | None,
    public_url: str | None,
) -> int:
    """Show runs, questions, workflows and metrics in a browser.

    The address that is printed has a token, good until the server ends; nobody gets in without it.
    What you answer or start there goes on when browser or server are closed.

    Behind a proxy that lets people in, --auth-header names the header with the person, and
    RUNTRUE_UI_TOKEN is a secret that the proxy sends as X-Runtrue-Token (docs/ui.md).

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
        **_behind(auth_header, public_url),
    )
    echo("stopped; runs continue", err=True)
    return 0


def _behind(header: str | None, url: str | None) -> dict[str, Any]:
    """Return what a server behind a proxy needs to know; nothing without one."""
    from runtrue.web import TrustedProxy

    if header is None and url is None:
        return {}
    if header is None or url is None:
        raise UsageError("--auth-header and --public-url belong together; give both")
    if not re.fullmatch(r"[A-Za-z0-9-]{1,60}", header):
        raise UsageError(f"{header!r} is not the name of a header, such as X-Forwarded-User")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/"):
        raise UsageError(f"{url!r} is not an address such as https://runs.example.org")
    token = os.environ.get(_TOKEN, "")
    if len(token) < _SHORTEST_TOKEN:
        raise UsageError(
            f"set {_TOKEN} to a secret of at least {_SHORTEST_TOKEN} characters that the proxy "
            "sends as X-Runtrue-Token: anyone on this machine could name a person otherwise"
        )
    return {"token": token, "proxy": TrustedProxy(header, f"{parts.scheme}://{parts.netloc}")}


def service_for(home: Home, *, read_only: bool = False) -> WebService:
    """Return what the pages stand on: this program, and what it does with a run."""
    from runtrue.cli.hooks.hook_change import own_program
    from runtrue.cli.metrics import load_facts, load_judged
    from runtrue.cli.plan_text import REASONS
    from runtrue.cli.worker import worker_document
    from runtrue.plan import standing_of, step_diffs
    from runtrue.web import WebService

    return WebService(
        home=home,
        program=tuple(own_program()),
        directory=Path.cwd(),
        report_of=partial(_report_of, home),
        answer=partial(record_answer, home),
        facts=lambda: load_facts(home.journal),
        judged_fixes=lambda: load_judged(home.journal),
        workers=worker_document if shared_database() else None,
        step_diffs=lambda journal, run: step_diffs(standing_of(journal, home, run)),
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
        raise UsageError(f"run {run.id} waited too long for an answer and was given up")
    if run.state is not RunState.WAITING:
        raise UsageError(f"run {run.id} ({run.state}) does not ask a question")
    if run.kind == "plan":
        value: Any = _answer_to_plan(home, journal, run, answer)
    elif answer.paths:
        value = kind.choose(journal, run, answer.paths)
    else:
        # Nothing said is an answer to a person who edited the candidate.
        value = kind.answer(journal, home, run, answer.said, can_ask=False)
    if value is None:
        raise UsageError(f"run {run.id} needs an answer")
    journal.answer(run.id, value, seq=answer.seq)


def _answer_to_plan(home: Home, journal: Journal, run: RunRow, answer: PersonAnswer) -> Any:
    """Return what `plan execute`, `plan apply` or `plan answer` would record."""
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
    echo(f"open {address.to_open}", err=True)
    echo("stop with Ctrl-C; runs continue without it", err=True)
    sys.stderr.flush()
    if opens and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        webbrowser.open(address.to_open)
