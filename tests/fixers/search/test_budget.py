"""Budgets: a search is limited by processor time, the same on a busy and on a quiet machine."""

from __future__ import annotations

import subprocess
import sys
import time

from runtrue.fixers.search.budget import WAITING, Allowance, SearchBudget, SearchClock

BURN = "import time\nwhile time.process_time() < 0.6: pass"


def test_the_work_of_a_process_that_was_started_counts() -> None:
    clock = SearchClock()
    subprocess.run([sys.executable, "-c", BURN], check=True)
    deadline = time.monotonic() + 10
    while (used := clock()) < 0.6 and time.monotonic() < deadline:
        pass  # the figure may be a moment old
    assert used >= 0.6


def test_work_counts_while_the_process_still_runs() -> None:
    clock = SearchClock()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            deadline = time.monotonic() + 30
            while clock() < 0.4 and time.monotonic() < deadline:
                time.sleep(0.02)
            assert process.poll() is None
        finally:
            process.kill()
    assert clock() >= 0.4


def test_of_waiting_only_a_part_counts() -> None:
    clock = SearchClock()
    began, used = time.monotonic(), time.process_time()
    time.sleep(0.6)
    seconds = clock()
    waited = time.monotonic() - began
    assert 0.6 / WAITING <= seconds <= max(waited / WAITING, time.process_time() - used) + 0.1


def test_a_budget_runs_from_its_beginning_by_its_own_clock() -> None:
    now = [5.0]
    budget = SearchBudget(10.0, 100, clock=lambda: now[0])
    now[0] = 8.0
    assert budget.left == 10.0
    budget.begin(spent=2.0)
    now[0] = 9.0
    assert budget.left == 7.0
    assert Allowance(until=12.0, candidates=1, clock=budget.clock).seconds == 3.0
