"""`runtrue schedule`: workflows that run at times of the clock."""

from __future__ import annotations

import shlex
import signal
import subprocess
import threading
from collections.abc import Iterator
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

import click

from runtrue.cli import options
from runtrue.cli.console import echo
from runtrue.cli.hooks.hook_change import own_program
from runtrue.cli.lazy_group import CommandGroup
from runtrue.cli.run import pairs
from runtrue.cli.show import print_json
from runtrue.cli.trust import trusted_registry
from runtrue.cli.workflows import complete_workflow
from runtrue.errors import UsageError
from runtrue.flow import Journal, Missed, RunState, Schedule
from runtrue.home import DATABASE, Home, shared_database
from runtrue.schedule import begin_due, local_zone, next_tick, zone_named
from runtrue.workflow import embed_workflows, load_workflow, new_workflow_run

#: Seconds between two looks at the clock, and how many runs go on at once.
_LOOK, _AT_ONCE = 0.5, 4


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    home = Home.find(Path.cwd())
    if not home.has_journal:
        return []
    with Journal(home.journal) as journal:
        return [one.name for one in journal.schedules() if one.name.startswith(incomplete)]


_name = click.argument("name", metavar="NAME", shell_complete=_complete)


@click.group(cls=CommandGroup)
def schedule() -> None:
    """Run workflows on a schedule.

    On one machine, `runtrue schedule run` or a timer of systemd (`runtrue schedule timer`) runs
    them; on a shared database, its workers do. Each tick begins one run, however many look.
    """


@schedule.command()
@click.argument("name", metavar="NAME")
@click.argument("cron", metavar="CRON")
@click.argument("workflow", metavar="NAME|FILE", shell_complete=complete_workflow)
@click.argument("inputs", metavar="[KEY=VALUE]...", nargs=-1)
@click.option("--zone", metavar="ZONE", help="The time zone, as in Europe/Berlin (this machine's).")
@click.option(
    "--missed",
    type=click.Choice([one.value for one in Missed]),
    default=Missed.ONCE.value,
    help="What to do about missed ticks: run once, run all of them, or skip them (once).",
)
@click.option("--queue", metavar="NAME", help="The queue whose workers run it (default).")
@click.option("--replace", "replaces", is_flag=True, help="Replace the schedule of that name.")
@options.as_json
def add(
    name: str,
    cron: str,
    workflow: str,
    inputs: tuple[str, ...],
    zone: str | None,
    missed: str,
    queue: str | None,
    replaces: bool,
    as_json: bool,
) -> int:
    """Run a workflow whenever a cron expression ticks, with these inputs.

    CRON is minute, hour, day of the month, month and day of the week. Clock changes are handled
    as cron does. The schedule keeps a copy of the workflow: after changing the workflow, add the
    schedule again with --replace.

    \b
    Examples:
      runtrue schedule add morning "0 7 * * 1-5" report.yaml team=shop
      runtrue schedule add hourly "0 * * * *" weather city=Oslo --missed skip
      runtrue schedule add close "30 18 * * *" close-day --zone Europe/Berlin
    """
    if queue is not None and shared_database() is None:
        raise UsageError(
            f"--queue needs a database that workers share: set {DATABASE} (docs/scale.md)"
        )
    zone = zone or local_zone()
    zone_named(zone)
    home = Home.find(Path.cwd())
    loaded = load_workflow(workflow, home=home)
    steps = loaded.get("nodes")
    types = [node.get("type") for node in steps if isinstance(node, dict)] if steps else []
    registry = trusted_registry(home, types, may_ask=not as_json)
    embedded = embed_workflows(loaded, registry)
    new = new_workflow_run(embedded, pairs(inputs), registry=registry, from_text=True)
    if new.secrets:
        given = ", ".join(one.removeprefix("inputs.") for one in new.secrets)
        raise UsageError(
            f"secrets are not stored, and {given} would have to be: name it ${{env.NAME}} in the "
            "workflow and keep it with `runtrue secret set NAME`"
        )
    with Journal(home.journal) as journal:
        made = Schedule(
            name=name,
            cron=cron,
            zone=zone,
            queue=queue or "default",
            missed=Missed(missed),
            is_paused=False,
            run=new.run,
            next_at=next_tick(cron, zone, journal.now()),
        )
        journal.add_schedule(made, replace=replaces)
    if as_json:
        print_json(_document(made, None))
    else:
        echo(f"schedule {name}: {new.run.title} next at {_time(made)}")
        if shared_database() is None:
            echo("start `runtrue schedule run`, or see `runtrue schedule timer`", err=True)
    return 0


@schedule.command("list")
@options.as_json
def list_schedules(as_json: bool) -> int:
    """List the schedules: when each ticks next, and the result of its latest run."""
    home = Home.find(Path.cwd())
    found: list[tuple[Schedule, RunState | None]] = []
    if home.has_journal:
        with Journal(home.journal) as journal:
            for one in journal.schedules():
                is_there = one.last_run is not None and journal.knows(one.last_run)
                state = journal.find(str(one.last_run)).state if is_there else None
                found.append((one, state))
    if as_json:
        print_json({"schedules": [_document(one, state) for one, state in found]})
        return 0
    for one, state in found:
        when = "paused" if one.is_paused else f"next {_time(one)}"
        last = f"  last run {one.last_run}: {state or 'deleted'}" if one.last_run else ""
        echo(f"{one.name}  {one.cron}  {one.run.title}  {when}{last}")
    if not found:
        echo("no schedules; add one with `runtrue schedule add`")
    return 0


@schedule.command()
@_name
@options.as_json
def pause(name: str, as_json: bool) -> int:
    """Pause a schedule until `runtrue schedule resume`."""
    return _set_paused(name, is_paused=True, as_json=as_json)


@schedule.command()
@_name
@options.as_json
def resume(name: str, as_json: bool) -> int:
    """Resume a paused schedule at its next tick; missed ticks are skipped."""
    return _set_paused(name, is_paused=False, as_json=as_json)


@schedule.command()
@_name
@options.as_json
def remove(name: str, as_json: bool) -> int:
    """Delete a schedule. Its runs stay."""
    with _journal() as journal:
        found = _find(journal, name)
        journal.remove_schedule(found.name)
    if as_json:
        print_json({"name": name, "removed": True})
    else:
        echo(f"schedule {name} is removed")
    return 0


@schedule.command("run")
@click.option("--once", is_flag=True, help="Run what is due now, wait for it, and exit.")
def run_schedules(once: bool) -> int:
    """Run what is due on this machine, until SIGTERM or SIGINT.

    Continues interrupted runs first. Not for a shared database: its workers
    do this.

    \b
    Exit codes: 0 done, 1 with --once: a run did not pass.
    """
    if shared_database() is not None:
        raise UsageError("the workers of a shared database run its schedules: `runtrue worker`")
    stop = threading.Event()
    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, lambda *_: stop.set())
    going: list[subprocess.Popen[bytes]] = []
    codes: list[int] = []
    with Journal(Home.find(Path.cwd()).journal) as journal:
        due = chain(_interrupted(journal), _begun(journal))
        while not stop.is_set():
            codes += [process.returncode for process in going if process.poll() is not None]
            going = [process for process in going if process.returncode is None]
            run_id = next(due, None) if len(going) < _AT_ONCE else None
            if run_id is not None:
                command = [*own_program(), "runs", "resume", run_id]
                going.append(subprocess.Popen(command, stdin=subprocess.DEVNULL))
                continue
            if once and not going:
                break
            stop.wait(_LOOK)
            if not once and len(going) < _AT_ONCE:
                due = chain(_begun(journal))
    for process in going:
        process.terminate()
    codes += [process.wait() for process in going]
    return int(once and any(codes))


def _begun(journal: Journal) -> Iterator[str]:
    """Begin the runs that are due, each when it is asked for, and yield them."""
    try:
        for found, run_id in begin_due(journal):
            echo(f"schedule {found.name} began run {run_id}", err=True)
            yield run_id
    except UsageError as error:
        echo(f"runtrue: {error}", err=True)


@schedule.command()
def timer() -> int:
    """Print units for systemd that run what is due each minute.

    \b
    Example:
      runtrue schedule timer    # says where to put them
    """
    program = shlex.join([*own_program(), "schedule", "run", "--once"])
    echo(
        "# ~/.config/systemd/user/runtrue-schedule.service\n"
        "[Unit]\n"
        "Description=runtrue schedules that are due\n"
        "\n"
        "[Service]\n"
        "Type=oneshot\n"
        f"WorkingDirectory={Path.cwd()}\n"
        f"Environment=RUNTRUE_HOME={Home.find(Path.cwd()).path}\n"
        f"ExecStart={program}\n"
        "\n"
        "# ~/.config/systemd/user/runtrue-schedule.timer\n"
        "[Unit]\n"
        "Description=runtrue schedules, each minute\n"
        "\n"
        "[Timer]\n"
        "OnCalendar=*-*-* *:*:00\n"
        "AccuracySec=1s\n"
        "\n"
        "[Install]\n"
        "WantedBy=timers.target\n"
        "\n"
        "# systemctl --user daemon-reload\n"
        "# systemctl --user enable --now runtrue-schedule.timer"
    )
    return 0


def _interrupted(journal: Journal) -> Iterator[str]:
    """Yield the runs of schedules that have not ended and that nobody drives.

    A person has to decide about one whose side effect was cut off.
    """
    for run_id in journal.open_ticks():
        if not journal.find(run_id).is_driven and not journal.begun(run_id):
            yield run_id


def _set_paused(name: str, *, is_paused: bool, as_json: bool) -> int:
    with _journal() as journal:
        found = _find(journal, name)
        next_at = None if is_paused else next_tick(found.cron, found.zone, journal.now())
        if is_paused != found.is_paused:
            journal.set_paused(name, is_paused=is_paused, next_at=next_at)
        found = _find(journal, name)
    if as_json:
        print_json(_document(found, None))
    else:
        echo(f"schedule {name}: {'paused' if found.is_paused else f'next at {_time(found)}'}")
    return 0


def _journal() -> Journal:
    home = Home.find(Path.cwd())
    if not home.has_journal:
        raise UsageError("there are no schedules yet; add one with `runtrue schedule add`")
    return Journal(home.journal)


def _find(journal: Journal, name: str) -> Schedule:
    known = {one.name: one for one in journal.schedules()}
    if name not in known:
        there = ", ".join(known) or "none yet"
        raise UsageError(f"there is no schedule {name!r}; available: {there}")
    return known[name]


def _time(one: Schedule) -> str:
    return f"{datetime.fromtimestamp(one.next_at, zone_named(one.zone)):%Y-%m-%d %H:%M:%S %Z}"


def _document(one: Schedule, state: RunState | None) -> dict[str, Any]:
    return {
        "name": one.name,
        "cron": one.cron,
        "zone": one.zone,
        "missed": one.missed,
        "queue": one.queue,
        "paused": one.is_paused,
        "workflow": one.run.title,
        "next_at": one.next_at,
        "last_at": one.last_at,
        "last_run": one.last_run,
        "last_state": state,
    }
