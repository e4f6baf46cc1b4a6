"""`runtrue worker`: drive runs of a queue on this machine."""

from __future__ import annotations

import re
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from runtrue.cli import options
from runtrue.cli.console import echo
from runtrue.cli.run_files import forget_files, prepare_here
from runtrue.cli.show import print_json
from runtrue.errors import UsageError
from runtrue.flow import RunRow, Segment
from runtrue.home import DATABASE, Home, shared_database

if TYPE_CHECKING:
    from runtrue.scale import QueueDepth, WorkerRow


def _rate(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> tuple[int, float] | None:
    if value is None:
        return None
    found = re.fullmatch(r"([1-9]\d{0,8})/([smh])", value)
    if found is None:
        raise UsageError(f"--rate {value!r}: write how many a second, minute or hour, as in 30/m")
    return int(found[1]), {"s": 1.0, "m": 60.0, "h": 3600.0}[found[2]]


@click.group(invoke_without_command=True)
@click.option("--queue", default="default", metavar="NAME", help="Take runs of this queue.")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 1000),
    default=4,
    metavar="N",
    help="Run this many at once on each worker (4). The limits of the worker that was started "
    "last hold for all of its queue.",
)
@click.option(
    "--at-most",
    type=click.IntRange(1, 100_000),
    metavar="N",
    help="Run this many at once on all workers of the queue together.",
)
@click.option(
    "--rate",
    callback=_rate,
    metavar="N/s|m|h",
    help="Start at most this many runs a second, minute or hour on all workers, as in 30/m.",
)
@click.option(
    "--max-waiting",
    type=click.IntRange(1, 10_000_000),
    metavar="N",
    help="Refuse new runs while this many wait on the queue. Resumed runs are always accepted.",
)
@click.option(
    "--drain",
    type=click.FloatRange(min=0, max=86_400),
    default=30.0,
    metavar="SECONDS",
    help="After SIGTERM, give runs this long to finish (30); then other workers take them.",
)
@click.pass_context
def worker(
    ctx: click.Context,
    queue: str,
    concurrency: int,
    at_most: int | None,
    rate: tuple[int, float] | None,
    max_waiting: int | None,
    drain: float,
) -> int | None:
    """Run what is queued on a shared database, until SIGTERM or SIGINT.

    Runs get on a queue with --queue of `do`, `fix`, `code`, `run` and `plan execute`. A worker that
    has been silent for 5 seconds is lost: the others go on with its runs where they were. Projects
    come from the database, with the files that git does not ignore; secrets are this machine's.

    \b
    Examples:
      runtrue worker                                runs of the queue `default`
      runtrue worker --queue nightly --concurrency 2
      runtrue run report.yaml --queue nightly --wait
    """
    if ctx.invoked_subcommand is not None:
        return None
    url, home = _url(), Home.find(Path.cwd())

    def prepare(run: RunRow, force: bool) -> Segment:
        return prepare_here(run, home, {}, force=force, is_worker=True)

    if at_most is not None and concurrency > at_most:
        concurrency = at_most  # the engine refuses more on one than on all
    from runtrue.scale import QueueLimits, Worker

    said = threading.Lock()

    def say(text: str) -> None:
        with said:
            echo(text, err=True)

    found = Worker(
        url,
        prepare,
        queue=queue,
        limits=QueueLimits(each=concurrency, all=at_most, rate=rate, waiting=max_waiting),
        drain=drain,
        say=say,
        after=lambda run: forget_files(home, run),
    )
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, lambda *_: found.stop())
    found.run()
    return 0


@worker.command()
@options.as_json
def status(as_json: bool) -> int:
    """Show the workers of the database, and what waits on its queues.

    Exit codes: 0 every queue with runs has a worker, 1 runs wait where nobody works.
    """
    workers, depths, idle = _found_workers()
    if as_json:
        print_json(msgspec.to_builtins({"workers": workers, "queues": depths}))
        return 1 if idle else 0
    for one in workers:
        seen = f"seen {max(0.0, one.silent):.0f} s ago"
        place = f"process {one.pid} on {one.host}"
        echo(f"{one.id}  {one.state:<8}  queue {one.queue} × {one.concurrency}  {place}, {seen}")
    if not workers:
        echo("no worker has been active in the last hour")
    for queue, depth in depths.items():
        age = "" if depth.oldest is None else f" (the longest for {depth.oldest:.0f} s)"
        echo(f"queue {queue}: {depth.waiting} waiting{age}, {depth.driven} running")
    for queue in idle:
        echo(
            f"no worker takes runs of queue {queue}: start `runtrue worker --queue {queue}`",
            err=True,
        )
    return 1 if idle else 0


def _found_workers() -> tuple[list[WorkerRow], dict[str, QueueDepth], list[str]]:
    """Return the workers, what waits on each queue, and the queues on which nobody works."""
    from runtrue.scale import Queue

    with Queue(_url()) as queues:
        workers, depths = queues.workers(), queues.depths()
    served = {one.queue for one in workers if one.state == "working"}
    idle = [queue for queue, depth in depths.items() if depth.waiting and queue not in served]
    return workers, depths, idle


def worker_document() -> dict[str, Any]:
    """Return the workers and queues of the shared database as data."""
    workers, depths, idle = _found_workers()
    document: dict[str, Any] = msgspec.to_builtins(
        {"workers": workers, "queues": depths, "idle": idle}
    )
    return document


def _url() -> str:
    url = shared_database()
    if url is None:
        raise UsageError(
            f"workers need a database that they share: set {DATABASE} to "
            "postgresql://USER@HOST:PORT/DATABASE (docs/scale.md)"
        )
    return url
