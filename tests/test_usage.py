"""What is seen of processes from outside: their processor time, and whether they want more."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from runtrue.usage import is_busy, seconds_below

#: A net: neither of these takes a moment on a quiet machine.
PATIENCE = 60.0


@contextmanager
def running(program: str) -> Iterator[int]:
    process = subprocess.Popen(
        [sys.executable, "-c", f"print(flush=True); {program}"], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        process.stdout.readline()
        yield process.pid
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


def comes_true(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.01)
    return False


def test_a_process_that_computes_is_busy_and_uses_time() -> None:
    with running("exec('while True: pass')") as pid:
        assert comes_true(lambda: is_busy(pid))
        before = seconds_below(pid)
        assert comes_true(lambda: seconds_below(pid) > before)


def test_a_process_that_waits_is_not_busy() -> None:
    with running("import time; time.sleep(600)") as pid:
        assert comes_true(lambda: not is_busy(pid))


def test_a_process_that_is_gone_uses_nothing() -> None:
    with running("pass") as pid:
        pass
    assert not is_busy(pid)
    assert seconds_below(pid) == 0
