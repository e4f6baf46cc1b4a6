"""`runtrue runs`: every run of every kind."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runtrue.cli import options
from runtrue.cli.chosen_run import (
    end_run,
    find_run,
    of_all_option,
    project_root,
    run_id_argument,
    runs_journal,
)
from runtrue.cli.console import echo
from runtrue.cli.kinds import Shown, is_yes_or_no, kind_of
from runtrue.cli.lazy_group import CommandGroup
from runtrue.cli.run_files import bring_files
from runtrue.cli.runner import after_expiry, as_interrupted, go_on, report_of_run, run_and_show
from runtrue.cli.show import is_terminal, print_document, print_json, write_patch
from runtrue.errors import SandboxError, UsageError
from runtrue.flow import Journal, RunRetention, RunRow, RunState
from runtrue.home import Home

if TYPE_CHECKING:
    from runtrue.cli.kinds import Report
    from runtrue.code import CodeReport
    from runtrue.plan import PlanReport


@click.group(cls=CommandGroup)
def runs() -> None:
    """List, show, apply, resume and cancel runs of every kind.

    Name a run by its id, or the start of it. Without one, the commands take the latest run of this
    project; outside any project, the latest of all.
    """


@runs.command("list")
@click.option(
    "--state", type=click.Choice([s.value for s in RunState]), help="Only runs in this state."
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, metavar="N", help="At most N (20)."
)
@click.option("--workflow", metavar="NAME", help="Only runs of this workflow.")
@click.option("--of", "parent", metavar="RUN", help="The runs that a run with --each has begun.")
@click.option("--all", "of_all", is_flag=True, help="Runs of every project, not only of this one.")
@options.as_json
def list_runs(
    state: str | None,
    limit: int,
    workflow: str | None,
    parent: str | None,
    of_all: bool,
    as_json: bool,
) -> int:
    """List the latest runs of this project, newest first; outside any project, all.

    \b
    Examples:
      runtrue runs list
      runtrue runs list --all --state waiting
      runtrue runs list --workflow weather
    """
    home = Home.find(Path.cwd())
    rows: list[RunRow] = []
    root = None if of_all or workflow or parent else project_root()
    if home.has_journal:  # looking makes nothing
        with Journal(home.journal) as journal:
            wanted = RunState(state) if state else None
            for run in journal.runs(state=RunState.WAITING, limit=None):
                after_expiry(journal, home, run)
            kind = "workflow" if workflow else None
            rows = journal.runs(
                limit=limit,
                state=wanted,
                kind=kind,
                title=workflow,
                within=root,
                of=journal.find(parent).id if parent else None,
                with_children=workflow is not None,
            )
    if as_json:
        print_json({"runs": [_summary(run) for run in rows]})
    elif not rows:
        where = f"no runs of {root} in {home.journal_name}; --all lists every project's"
        echo(where if root else f"no runs in {home.journal_name}")
    else:
        for run in rows:
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.created_at))
            echo(f"{run.id}  {_state(run):<24}  {when}  {run.kind}  {run.title}")
    return 0


@runs.command()
@run_id_argument
@of_all_option
@options.output
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the run as a page of its own; one file, no other assets.",
)
@options.as_json
def show(
    run_id: str | None, of_all: bool, output: str | None, page: Path | None, as_json: bool
) -> int:
    """Show what happened in a run: every attempt, fix, verdict and finding."""
    home = Home.find(Path.cwd())
    with runs_journal(home) as journal:
        run = after_expiry(journal, home, find_run(journal, run_id, of_all=of_all))
        bring_files(journal, home, run)
        report = replace(report_of_run(journal, home, run), driven=run.is_driven)
        question = journal.open_question(run.id)
        if page is not None:
            _write_page(page, journal, run, report)
    if page is not None and not (as_json or output):
        return 0
    if as_json or output:
        print_document(report if run.is_driven else as_interrupted(report))
        return 0
    echo(f"run {run.id}: {run.kind} {run.title} ({_state(run)})")
    if isolation := report.isolation:
        network = ", ".join(isolation.network) or "none"
        echo(f"isolation: {isolation.level} (network: {network})")
    kind = kind_of(run)
    kind.print_details(report)
    kind.print_report(report, shown=Shown.DETAILS)
    if run.state is RunState.WAITING:
        kind.print_question(run.id, question)
    return 0


def _write_page(page: Path, journal: Journal, run: RunRow, report: Report) -> None:
    from runtrue.cli.kinds.each import EachReport
    from runtrue.cli.plan_text import REASONS
    from runtrue.web import write_run_page

    if isinstance(report, EachReport):
        raise UsageError(f"--html is for one run: name a child of run {run.id}")
    write_run_page(page, journal, run, report, REASONS)
    echo(f"wrote {page}", err=True)


@runs.command()
@run_id_argument
@click.option("--answer", help="The answer to what the run asks.")
@click.option(
    "--set",
    "paths",
    multiple=True,
    metavar="FIELD=PATH",
    help="The path of a field that the run is in doubt about. Can be repeated.",
)
@click.option(
    "--force",
    is_flag=True,
    help="Stop the process that runs it, and repeat an interrupted side effect.",
)
@click.option(
    "--done",
    multiple=True,
    metavar="NODE",
    help="The interrupted side effect of this node did happen. Can be repeated.",
)
@click.option(
    "--result",
    metavar="JSON",
    help="With --done: the node's outputs, as a JSON object.",
)
@click.option(
    "--skip",
    multiple=True,
    metavar="NODE",
    help="Skip the interrupted node, as if it had failed. Can be repeated.",
)
@click.option(
    "--input",
    "secrets",
    multiple=True,
    metavar="NAME=VALUE",
    help="A secret input of the workflow; it is not stored. Can be repeated.",
)
@of_all_option
@options.waits
@options.as_json
def resume(
    run_id: str | None,
    answer: str | None,
    paths: tuple[str, ...],
    force: bool,
    done: tuple[str, ...],
    result: str | None,
    skip: tuple[str, ...],
    secrets: tuple[str, ...],
    of_all: bool,
    as_json: bool,
) -> int:
    """Continue a run that was interrupted or waits for an answer.

    An interrupted side effect is repeated only if it has an idempotency key. Otherwise say that it
    happened (--done), skip it (--skip), or repeat it (--force).

    A task in doubt about a field continues with the responses that it has: nothing is called again.
    """
    from runtrue.cli.settle import CutOffChoice

    if paths and answer is not None:
        raise UsageError("--set sets fields and --answer answers a question: give one of them")
    home = Home.find(Path.cwd())
    with runs_journal(home) as journal:
        run = after_expiry(journal, home, find_run(journal, run_id, of_all=of_all))
        if run.is_over and (answer is not None or paths):
            raise UsageError(
                f"run {run.id} has ended ({run.state}), so the answer was not used; "
                f"`runtrue runs show {run.id}` shows its result"
            )
        if run.is_over:
            return _show_again(journal, home, run, as_json=as_json)
        if paths:
            set_paths = dict(_pair(text, "--set") for text in paths)
            journal.answer(run.id, kind_of(run).choose(journal, run, set_paths))
        elif answer is not None or run.state is RunState.WAITING:
            can_ask = is_terminal() and not as_json
            value = kind_of(run).answer(journal, home, run, answer, can_ask=can_ask)
            if value is not None:
                journal.answer(run.id, value)
        CutOffChoice(done, skip, result).record(journal, run)
        given = {f"inputs.{name}": value for name, value in map(_input, secrets)}
        return run_and_show(journal, home, run.id, as_json=as_json, force=force, secrets=given)


def _input(text: str) -> tuple[str, str]:
    return _pair(text, "--input")


def _pair(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"{option} {name!r} has no value; write {option} NAME=VALUE")
    return name.strip(), value


def _show_again(journal: Journal, home: Home, run: RunRow, *, as_json: bool) -> int:
    """Show the result of a run that is over."""
    report = report_of_run(journal, home, run)
    if as_json:
        print_json(report)
    else:
        echo(f"run {run.id} has already ended", err=True)
        kind_of(run).print_report(report)
    return kind_of(run).exit_code(run, report)


@runs.command()
@run_id_argument
@options.as_json
def diff(run_id: str | None, as_json: bool) -> int:
    """Show the diff of a run, passed or not."""
    home = Home.find(Path.cwd())
    with runs_journal(home) as journal:
        run = find_run(journal, run_id)
        report = _with_diff(journal, home, run)
    if as_json:
        print_json({"run_id": run.id, "diff": report.diff, "patch": report.patch})
    else:
        write_patch(report.diff)
    return 0


@runs.command()
@run_id_argument
@click.option(
    "--hunk",
    "hunks",
    multiple=True,
    type=click.IntRange(min=1),
    metavar="N",
    help="Apply only this change of the diff, counted from 1. Can be repeated.",
)
@options.allow_self_running
@options.as_json
def apply(
    run_id: str | None, hunks: tuple[int, ...], allow_self_running: bool, as_json: bool
) -> int:
    """Apply the diff of a run, passed or not, to your files.

    Applies all of it or nothing, and refuses if you changed the same files since. If the run asks
    whether its fix is right, this answers yes.

    With --hunk, the checks of the run first run again with only these changes. Nothing is applied
    if a test breaks, or if none is fixed.
    """
    from runtrue.cli.apply_hunks import apply_chosen, patch_here
    from runtrue.cli.self_runners import WAITS, agrees_to
    from runtrue.code import apply_patch

    home = Home.find(Path.cwd())
    with runs_journal(home) as journal:
        run = find_run(journal, run_id)
        report = _with_diff(journal, home, run)
        if run.kind == "plan":
            raise UsageError(f"run {run.id} is a plan: use `runtrue plan apply {run.id}`")
        if hunks:
            return apply_chosen(journal, home, run, hunks, allow_self_running, as_json=as_json)
        if not (allow_self_running or agrees_to(report.self_running, as_json=as_json)):
            return WAITS
        was_applied = report.applied
        question = journal.open_question(run.id)
        if question is not None and is_yes_or_no(question):
            journal.answer(run.id, "yes")
            run = go_on(journal, home, run)
            report = _with_diff(journal, home, run)
        if not run.is_over:
            raise UsageError(
                f"run {run.id} is {_state(run)}: continue it with `runtrue runs resume {run.id}`"
            )
        if was_applied or not report.applied:
            try:
                apply_patch(run, home, patch_here(home, run, report.diff))
            except SandboxError as error:
                if was_applied:
                    raise UsageError(f"the diff of run {run.id} is already applied") from error
                raise
            report = replace(report, applied=True)
            if run.result is not None:  # there is none of a run that was cancelled
                journal.amend(run.id, report)
    if as_json:
        print_json(report)
    else:
        echo(f"applied to {report.project}")
    return 0


def _with_diff(journal: Journal, home: Home, run: RunRow) -> CodeReport | PlanReport:
    """Return the report of a run that has a diff. Raises UsageError where there is none."""
    from runtrue.code import CodeReport
    from runtrue.plan import PlanReport

    bring_files(journal, home, run)
    report = report_of_run(journal, home, run)
    if not isinstance(report, CodeReport | PlanReport) or not report.diff:
        raise UsageError(f"run {run.id} ({run.kind}, {_state(run)}) has no diff")
    return report


@runs.command()
@run_id_argument
@options.as_json
def cancel(run_id: str | None, as_json: bool) -> int:
    """Cancel a run and stop its process. Its sandbox stays."""
    home = Home.find(Path.cwd())
    with runs_journal(home) as journal:
        run = end_run(journal, home, find_run(journal, run_id))
    if as_json:
        print_json({**_summary(run), "state": RunState.CANCELLED})
    else:
        echo(f"run {run.id} is cancelled")
    return 0


@runs.command("prune")
@click.option(
    "--keep-days",
    type=click.FloatRange(min=0),
    default=90.0,
    metavar="N",
    help="Keep runs that ended within N days (90).",
)
@click.option(
    "--keep-last",
    type=click.IntRange(min=0),
    default=200,
    metavar="N",
    help="Keep the latest N runs, however old (200).",
)
@click.option("--dry-run", is_flag=True, help="Show what would be deleted without deleting.")
@options.as_json
def prune_runs(keep_days: float, keep_last: int, dry_run: bool, as_json: bool) -> int:
    """Delete old runs with their sandboxes, patches and recorded answers.

    Never deletes a run that waits for you, and deletes one that can be resumed, or whose diff was
    not applied, only after a year. runtrue does this itself once a day, with the defaults below;
    RUNTRUE_KEEP_DAYS sets another number of days, or `never`.
    """
    from runtrue.cli.prune import prune

    home = Home.find(Path.cwd())
    if not home.has_journal:
        found = None
    else:
        with Journal(home.journal) as journal:
            retention = RunRetention(days=keep_days, last=keep_last)
            found = prune(journal, home, retention, dry_run=dry_run)
    runs, files, size = (found.runs, found.files, found.bytes) if found else ((), 0, 0)
    if as_json:
        print_json({"runs": list(runs), "files": files, "bytes": size, "dry_run": dry_run})
    else:
        verb = "would delete" if dry_run else "deleted"
        echo(f"{verb} {len(runs)} runs and {files} of their files, {size / 1e6:.1f} MB")
    return 0


def _state(run: RunRow) -> str:
    """Return the state, and whether anybody is at work on it."""
    if run.state is RunState.RUNNING and not run.is_driven:
        return "running (interrupted)"
    if run.state is RunState.FAILED and not run.is_over:
        return "failed (can be resumed)"
    return run.state


def _summary(run: RunRow) -> dict[str, Any]:
    return {
        "run_id": run.id,
        "kind": run.kind,
        "title": run.title,
        "state": run.state,
        "driven": run.is_driven,
        "created_at": run.created_at,
        "ended_at": run.ended_at,
    }
