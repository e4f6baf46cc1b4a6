"""Workers: real processes on a real PostgreSQL, killed, stopped, cut off and told to end."""

from __future__ import annotations

import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from runtrue.errors import JournalError
from runtrue.flow import Journal, PostgresDatabase, RunState
from runtrue.record_format import RECORD_FORMAT
from runtrue.scale import Queue, WorkerTable
from tests.postgres.server import Server, running
from tests.scale.counting import QUEUE, make_log, submit

pytest.importorskip("dbos")

ROOT = Path(__file__).resolve().parents[2]
#: Seconds until a test fails rather than waits: far more than anything takes on a busy machine.
PATIENCE = 60.0


class Process:
    """A worker's process, and what it says line by line."""

    def __init__(
        self, url: str, concurrency: int = 4, drain: float = 5.0, *, most: str = "", rate: str = ""
    ) -> None:
        arguments = [url, QUEUE, str(concurrency), str(drain), most, rate]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.scale.counting", *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self.said: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.id = self.wait_for("takes runs of queue").split()[1]

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(line)

    def wait_for(self, text: str) -> str:
        end = time.monotonic() + PATIENCE
        while True:
            line = self._lines.get(timeout=max(0.0, end - time.monotonic()))
            self.said.append(line)
            if text in line:
                return line

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout
        self.process.stdout.close()
        while not self._lines.empty():
            self.said.append(self._lines.get())
        assert "Traceback" not in "".join(self.said), "".join(self.said)


@pytest.fixture
def url(postgres: Server) -> Iterator[str]:
    url = postgres.new_database()
    Journal(url).close()
    make_log(url)
    yield url
    postgres.drop(url)


def until(found: Callable[[], bool]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            if found():
                return
        except JournalError:
            pass  # the connection was cut, or the server is away
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.05)


def depth(queues: Queue) -> tuple[int, int]:
    """How many runs wait on the queue of these tests, and how many are driven."""
    (found,) = queues.depths().values()
    assert (found.oldest is not None) == bool(found.waiting)
    return found.waiting, found.driven


def states(url: str, runs: list[str]) -> set[RunState]:
    with Journal(url) as journal:
        return {journal.find(run_id).state for run_id in runs}


def log(url: str) -> list[tuple[str, int, float, str]]:
    db = PostgresDatabase(url)
    try:
        return list(db.execute("SELECT * FROM log ORDER BY began").fetchall())
    finally:
        db.close()


def has_gone_on(url: str, runs: list[str], seen: int) -> bool:
    return len(log(url)) > seen or states(url, runs) == {RunState.PASSED}


def assert_recorded_steps_ran_once(url: str, runs: list[str], steps: int) -> None:
    """No step began again after it was recorded, and every run counted all of its steps."""
    began = log(url)
    with Journal(url) as journal:
        for run_id in runs:
            run = journal.find(run_id)
            assert run.result == {"total": sum(range(steps))}, run
            ended = {step.seq: step.finished_at or 0.0 for step in journal.load(run_id)}
            late = [row for row in began if row[0] == run_id and row[2] > ended[row[1]]]
            assert late == []


def test_runs_are_driven_to_their_end_by_several_workers(url: str) -> None:
    with Process(url, 2) as one, Process(url, 2) as other:
        runs = submit(url, 8, steps=4, seconds=0.1)
        until(lambda: states(url, runs) == {RunState.PASSED})
        assert {row[3] for row in log(url)} <= {one.id, other.id}
    assert_recorded_steps_ran_once(url, runs, 4)
    assert len(log(url)) == 8 * 4


@pytest.fixture
def both_busy(url: str) -> Iterator[tuple[Process, Process, list[str]]]:
    """Two workers, each of which drives four runs."""
    with Process(url) as first, Process(url) as second:
        runs = submit(url, 8, steps=6, seconds=0.5)
        until(lambda: len({(row[0], row[3]) for row in log(url)}) == 8)
        yield first, second, runs


def test_runs_of_a_killed_worker_are_taken_over_where_they_were(
    url: str, both_busy: tuple[Process, Process, list[str]]
) -> None:
    first, second, runs = both_busy
    first.process.kill()
    second.wait_for(f"frees 4 runs of {first.id}")
    until(lambda: states(url, runs) == {RunState.PASSED})
    with Queue(url) as queues:
        found = {worker.id: worker.state for worker in queues.workers()}
    assert found == {first.id: "gone", second.id: "working"}
    assert_recorded_steps_ran_once(url, runs, 6)
    assert len({row[0] for row in log(url) if row[3] == second.id}) == 8


def test_a_worker_that_wakes_up_late_lets_go_of_its_runs_and_takes_others(
    url: str, both_busy: tuple[Process, Process, list[str]]
) -> None:
    first, second, runs = both_busy
    os.kill(first.process.pid, signal.SIGSTOP)
    second.wait_for(f"frees 4 runs of {first.id}")
    until(lambda: states(url, runs) == {RunState.PASSED})
    os.kill(first.process.pid, signal.SIGCONT)
    first.wait_for("was silent for too long")
    second.process.kill()
    more = submit(url, 1, steps=1, seconds=0)
    until(lambda: states(url, more) == {RunState.PASSED})
    assert_recorded_steps_ran_once(url, runs, 6)


def test_a_worker_that_is_told_to_stop_ends_what_it_can_and_leaves_the_rest(url: str) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(Process(url, drain=1.0))
        short = submit(url, 1, steps=2, seconds=0.2)
        long = submit(url, 1, steps=16, seconds=0.25)
        until(lambda: {row[0] for row in log(url)} == {*short, *long})
        first.process.terminate()
        first.wait_for(f"run {long[0]} was released")
        assert first.process.wait(PATIENCE) == 0
        assert states(url, short) == {RunState.PASSED}
        assert states(url, long) == {RunState.RUNNING}
        stack.enter_context(Process(url))
        until(lambda: states(url, long) == {RunState.PASSED})
    assert_recorded_steps_ran_once(url, long, 16)


def test_all_workers_together_drive_no_more_than_the_queue_allows(url: str) -> None:
    seconds = 0.3
    with Process(url, 2, most="2"), Process(url, 2, most="2"):
        runs = submit(url, 6, steps=1, seconds=seconds)
        until(lambda: states(url, runs) == {RunState.PASSED})
    began = [row[2] for row in log(url)]
    assert max(sum(at <= other < at + seconds for other in began) for at in began) <= 2


def test_no_more_runs_begin_than_the_rate_allows(url: str) -> None:
    with Process(url, 4, rate="2"):
        runs = submit(url, 5, steps=1, seconds=0)
        until(lambda: len(log(url)) == 2 and passed(url, runs) == 2)
        with Queue(url) as queues:
            assert depth(queues) == (3, 0)


def passed(url: str, runs: list[str]) -> int:
    with Journal(url) as journal:
        return sum(journal.find(run_id).state is RunState.PASSED for run_id in runs)


def test_runs_with_a_lower_number_go_first(url: str) -> None:
    wanted = [
        *submit(url, 2, steps=1, seconds=0, priority=300),
        *submit(url, 2, steps=1, seconds=0),
        *submit(url, 2, steps=1, seconds=0, priority=1),
    ]
    with Process(url, 1):
        until(lambda: states(url, wanted) == {RunState.PASSED})
    order = [row[0] for row in log(url)]
    assert [set(order[n : n + 2]) for n in (0, 2, 4)] == [
        set(wanted[4:]),
        set(wanted[2:4]),
        set(wanted[:2]),
    ]


def test_a_parked_run_holds_no_slot_and_goes_on_after_its_answer(url: str) -> None:
    with Process(url, 1):
        parked = submit(url, 3, steps=1, seconds=0, asks=True)
        until(lambda: states(url, parked) == {RunState.WAITING})
        others = submit(url, 1, steps=1, seconds=0)
        until(lambda: states(url, others) == {RunState.PASSED})
        with Journal(url) as journal, Queue(url) as queues:
            assert all(journal.find(run_id).owner is None for run_id in parked)
            assert queues.depths() == {}
            for run_id in parked:
                journal.answer(run_id, "yes")
                queues.submit(journal.find(run_id))
        until(lambda: states(url, parked) == {RunState.PASSED})


def test_a_cancelled_run_is_let_go_of_in_the_middle_of_a_step(url: str) -> None:
    with Process(url, 1) as worker:
        (run_id,) = submit(url, 1, steps=1000, seconds=0.2)
        until(lambda: bool(log(url)))
        with Journal(url) as journal:
            journal.cancel(run_id)
        worker.wait_for(run_id)
        others = submit(url, 1, steps=1, seconds=0)
        until(lambda: states(url, others) == {RunState.PASSED})


def test_runs_of_another_version_are_left_for_other_workers_and_said_so_once(url: str) -> None:
    with Journal(url) as journal, Queue(url) as queues:
        newer = {"steps": 1, "record_format": RECORD_FORMAT + 1}
        run_id = journal.create("counting", "newer", newer)
        queues.submit(journal.find(run_id), QUEUE)
    with Process(url, 1) as worker:
        said = worker.wait_for("are left for other workers")
        assert f"record-format-{RECORD_FORMAT + 1}, and this runtrue knows" in said
        known = submit(url, 1, steps=1, seconds=0)
        until(lambda: states(url, known) == {RunState.PASSED})
        assert states(url, [run_id]) == {RunState.RUNNING}
        with Queue(url) as queues:
            assert depth(queues) == (1, 0)


def test_a_worker_survives_a_restart_of_the_server() -> None:
    with running() as server:
        url = server.new_database()
        Journal(url).close()
        make_log(url)
        with Process(url, 2) as worker:
            runs = submit(url, 4, steps=10, seconds=0.1)
            until(lambda: len(log(url)) >= 5)
            server.stop()
            server.start()
            until(lambda: states(url, runs) == {RunState.PASSED})
            assert worker.process.poll() is None
        assert_recorded_steps_ran_once(url, runs, 10)


def test_whatever_is_killed_every_run_ends_and_no_recorded_step_runs_again(url: str) -> None:
    """Twenty times: mostly a connection is cut, sometimes a worker is killed and replaced."""
    chance = random.Random(22)  # noqa: S311 - nothing to guess
    steps = 8
    runs = submit(url, 16, steps=steps, seconds=0.1)
    with ExitStack() as stack:
        workers = [stack.enter_context(Process(url)) for _ in range(2)]
        for kill in range(20):
            if kill % 7 == 3:
                chance.choice(workers).process.kill()
                workers = [one for one in workers if one.process.poll() is None]
                workers.append(stack.enter_context(Process(url)))
            else:
                db = PostgresDatabase(url)
                db.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                    "datname = current_database() AND pid <> pg_backend_pid() "
                    "ORDER BY random() LIMIT 1"
                )
                db.close()
            until(partial(has_gone_on, url, runs, len(log(url))))
        until(lambda: states(url, runs) == {RunState.PASSED})
    assert_recorded_steps_ran_once(url, runs, steps)


def test_of_a_silent_worker_nothing_is_taken_before_its_time(url: str) -> None:
    db = PostgresDatabase(url)
    try:
        from runtrue.flow import Owner

        table, owner = WorkerTable(db), Owner.this_process()
        table.register("one", owner, QUEUE, 1, "v")
        assert table.give_up_silent() == []
        assert not table.is_gone(owner)
        db.execute("UPDATE workers SET beat_at = beat_at - 4.5")
        assert table.give_up_silent() == []
        db.execute("UPDATE workers SET beat_at = beat_at - 1")
        assert table.give_up_silent() == ["one"]
        assert table.is_gone(owner)
        assert not table.beat("one")
    finally:
        db.close()
