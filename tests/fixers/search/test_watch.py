"""What a candidate's process and its server share is read as it was written."""

from __future__ import annotations

import mmap
import os
import signal

from tests.fixers.search.inside import load

watch = load("runtrue_watch")
LIMITS = (1.0, 2.0)


def test_a_server_never_sees_a_test_that_began_at_no_time() -> None:
    region = mmap.mmap(-1, 2 * watch.SLOT_SIZE)
    slot = watch.Slot(region, 1)
    slot.clear(LIMITS[0])
    pid = os.fork()
    if pid == 0:
        while True:
            for limit in LIMITS:
                slot.begin(7, limit)
    try:
        first = slot.read()[0]
        for _ in range(100_000):
            began, _, limit, _ = slot.read()
            assert began >= first
            assert limit in LIMITS
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert slot.starts == 0
