"""Runs of plain steps, each of which is written down in a table when it begins.

As a program: a worker for such runs, with the database's URL and the queue as its arguments.
"""

from __future__ import annotations

import signal
import sys
import time
from functools import partial

from runtrue.flow import Journal, Outcome, PostgresDatabase, Run, RunRow, RunState, Segment
from runtrue.scale import Queue, QueueLimits, Worker

QUEUE = "counting"


def make_log(url: str) -> None:
    db = PostgresDatabase(url)
    db.execute("CREATE TABLE log (run_id TEXT, step INTEGER, began DOUBLE PRECISION, worker TEXT)")
    db.close()


def submit(
    url: str,
    count: int,
    *,
    steps: int,
    seconds: float,
    asks: bool = False,
    logs: bool = True,
    priority: int | None = None,
) -> list[str]:
    """Put runs on the queue, and return their ids."""
    data = {"steps": steps, "seconds": seconds, "asks": asks, "logs": logs}
    with Journal(url) as journal, Queue(url) as queue:
        made = [journal.create("counting", str(n), data) for n in range(count)]
        queue.submit_all([journal.find(run_id) for run_id in made], QUEUE, priority=priority)
    return made


def count(url: str, run_id: str, seconds: float, worker: str, step: int) -> int:
    """Do a step: note that it begins, and take some time."""
    while True:
        try:
            db = PostgresDatabase(url)
            try:
                with db.explained("written"):
                    values = (run_id, step, time.time(), worker)
                    db.execute("INSERT INTO log VALUES (?, ?, ?, ?)", values)
            finally:
                db.close()
            break
        except Exception:
            time.sleep(0.1)  # the connection was cut; the step is not over
    time.sleep(seconds)
    return step


def sleep(seconds: float, step: int) -> int:
    """Do a step of which nothing is noted."""
    time.sleep(seconds)
    return step


def prepare(url: str, worker: str, run: RunRow) -> Segment:
    async def work(recorded: Run) -> Outcome:
        total = 0
        for step in range(run.input["steps"]):
            seconds = run.input["seconds"]
            done = partial(count, url, run.id, seconds, worker)
            if not run.input["logs"]:
                done = partial(sleep, seconds)
            total += await recorded.step(f"step {step}", done, step)
        if run.input["asks"]:
            await recorded.ask("ask", {"why": "asked"})
        return RunState.PASSED, {"total": total}

    return Segment(work)


def main(
    url: str, queue: str, concurrency: str = "4", drain: str = "5", most: str = "", rate: str = ""
) -> None:
    names: list[str] = []
    worker = Worker(
        url,
        lambda run, force: prepare(url, names[0], run),
        queue=queue,
        limits=QueueLimits(
            each=int(concurrency),
            all=int(most) if most else None,
            rate=(int(rate), 3600.0) if rate else None,
        ),
        drain=float(drain),
        say=lambda text: print(text, flush=True),
    )
    names.append(worker.id)
    signal.signal(signal.SIGTERM, lambda *_: worker.stop())
    worker.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
