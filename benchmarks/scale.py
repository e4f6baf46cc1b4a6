"""Many machines: runs of sleeping steps on 1, 2 and 4 workers, beside the bare work and plain DBOS.

The steps sleep, so that the figures say what the engine costs and not how many cores there are. A
chaos part kills workers and connections while runs go on.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.measure import Row, Table, Target
from runtrue.flow import Journal, PostgresDatabase, RunState
from tests.postgres.server import Server, running
from tests.scale.counting import QUEUE, make_log, submit

ROOT = Path(__file__).resolve().parents[1]
_STEPS, _SECONDS, _CONCURRENCY = 10, 0.05, 8
#: The same work as DBOS steps: each a row in its own tables.
_PLAIN = """
import sys, time
from dbos import DBOS
url, runs, steps, seconds, most = sys.argv[1], *map(float, sys.argv[2:])
DBOS(config={"name": "plain", "system_database_url": url, "log_level": "CRITICAL"})
@DBOS.step()
def work(number):
    time.sleep(seconds)
    return number
@DBOS.workflow()
def run():
    return sum(work(number) for number in range(int(steps)))
DBOS.launch()
DBOS.register_queue("plain", worker_concurrency=int(most), polling_interval_sec=0.1)
begun = time.perf_counter()
handles = [DBOS.enqueue_workflow("plain", run) for _ in range(int(runs))]
for handle in handles:
    handle.get_result(polling_interval_sec=0.1)
print(time.perf_counter() - begun, flush=True)
DBOS.destroy()
"""


def run(loops: int = 32, kills: int = 20) -> Table:
    """Measure `loops` runs for each number of workers, then `kills` kills."""
    bare = loops * _STEPS * _SECONDS / _CONCURRENCY
    with running() as server:
        taken = {workers: _drive(server, loops, workers) for workers in (1, 2, 4)}
        plain = _plain(server, loops)
        rate = _enqueue_rate(server, loops)
        done, again, takeovers = _chaos(server, loops, kills)
    rows = [Row("bare work, 8 at once", bare, (bare, bare))]
    rows.append(Row("plain DBOS steps, 1 worker", plain, (plain, plain), "bare", plain / bare))
    for workers, seconds in taken.items():
        name = f"runtrue, {workers} worker{'s' if workers > 1 else ''}"
        target = Target("≤", 1.10) if workers == 1 else None
        rows.append(Row(name, seconds, (seconds, seconds), "bare", seconds / bare, target))
    faster = taken[1] / taken[4]
    rows.append(
        Row("4 workers for 1", taken[4], (taken[4], taken[4]), "faster", faster, Target("≥", 3.6))
    )
    return Table(
        title=f"scale: {loops} runs of {_STEPS} steps of {_SECONDS * 1000:g} ms",
        unit="s",
        rows=tuple(rows),
        notes=(
            f"{rate:.0f} runs a second are recorded and put on a queue by one process",
            f"chaos: {kills} kills of workers and connections, {done} of {loops} runs ended, "
            f"{again} recorded steps ran again",
            f"takeovers after a kill: {', '.join(f'{one:.1f} s' for one in takeovers) or 'none'}",
            f"{os.cpu_count()} cores, PostgreSQL on loopback without fsync",
        ),
    )


@contextmanager
def _worker(url: str, log: Path) -> Iterator[subprocess.Popen[str]]:
    arguments = [url, QUEUE, str(_CONCURRENCY), "1"]
    with log.open("a") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.scale.counting", *arguments],
            cwd=ROOT,
            stdout=said,
            stderr=said,
            text=True,
        )
    try:
        while "takes runs" not in log.read_text():
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def _fleet(server: Server, workers: int) -> Iterator[tuple[str, Path, list[int]]]:
    url = server.new_database()
    Journal(url).close()
    make_log(url)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        place = Path(folder)
        found = [stack.enter_context(_worker(url, place / str(n))) for n in range(workers)]
        yield url, place, [one.pid for one in found]
    server.drop(url)


def _drive(server: Server, loops: int, workers: int) -> float:
    with _fleet(server, workers) as (url, _, _):
        submit(url, loops, steps=1, seconds=0, logs=False)  # what is done once is not measured
        _wait(url, loops)
        begun = time.perf_counter()
        submit(url, loops, steps=_STEPS, seconds=_SECONDS, logs=False)
        _wait(url, 2 * loops)
        return time.perf_counter() - begun


def _wait(url: str, count: int) -> None:
    with Journal(url) as journal:
        while len(journal.runs(state=RunState.PASSED, limit=None)) < count:
            time.sleep(0.05)


def _plain(server: Server, loops: int) -> float:
    url = server.new_database()
    arguments = [url, str(loops), str(_STEPS), str(_SECONDS), str(_CONCURRENCY)]
    done = subprocess.run(
        [sys.executable, "-c", _PLAIN, *arguments], capture_output=True, text=True, check=True
    )
    server.drop(url)
    return float(done.stdout.split()[-1])


def _enqueue_rate(server: Server, loops: int) -> float:
    url = server.new_database()
    submit(url, 1, steps=1, seconds=0)
    begun = time.perf_counter()
    submit(url, 4 * loops, steps=1, seconds=0)
    seconds = time.perf_counter() - begun
    server.drop(url)
    return 4 * loops / seconds


def _chaos(server: Server, loops: int, kills: int) -> tuple[int, int, list[float]]:
    """Return how many runs ended, how many recorded steps ran again, and how long takeovers took.

    A worker is killed at every tenth kill and replaced; else a connection is cut.
    """
    chance = random.Random(22)  # noqa: S311 - nothing to guess
    killed: dict[int, float] = {}
    with _fleet(server, 0) as (url, place, _), ExitStack() as stack:
        workers = [stack.enter_context(_worker(url, place / f"first-{n}")) for n in range(2)]
        runs = submit(url, loops, steps=_STEPS, seconds=_SECONDS)
        db = PostgresDatabase(url)
        stack.callback(db.close)
        for kill in range(kills):
            if kill % 10 == 5:
                victim = workers.pop(chance.randrange(len(workers)))
                victim.send_signal(signal.SIGKILL)
                killed[victim.pid] = time.time()
                workers.append(stack.enter_context(_worker(url, place / f"kill-{kill}")))
            else:
                db.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                    "datname = current_database() AND pid <> pg_backend_pid() "
                    "ORDER BY random() LIMIT 1"
                )
                time.sleep(0.2)
        _wait(url, loops)
        again = db.execute(
            "SELECT count(*) FROM log JOIN steps ON steps.run_id = log.run_id "
            "AND steps.seq = log.step WHERE log.began > steps.finished_at"
        ).fetchone()[0]
        while db.execute("SELECT 1 FROM workers WHERE state = 'lost'").fetchone():
            time.sleep(0.05)
        freed = dict(db.execute("SELECT pid, beat_at FROM workers WHERE state = 'gone'").fetchall())
        takeovers = [freed[pid] - at for pid, at in killed.items() if pid in freed]
        done = sum(1 for run in runs if _passed(url, run))
    return done, again, takeovers


def _passed(url: str, run_id: str) -> bool:
    with Journal(url) as journal:
        return journal.find(run_id).state is RunState.PASSED
