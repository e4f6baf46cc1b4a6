"""Owners: which process drives a run, and whether that process still lives."""

from __future__ import annotations

import os
import signal
import socket
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from runtrue.errors import RunBusy


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, not to be confused with a later one of the same number."""

    host: str
    boot: str
    pid: int
    started: str

    @classmethod
    def this_process(cls) -> Owner:
        """The process that calls."""
        return cls(_host(), _boot(), os.getpid(), _started(os.getpid()))

    def is_here(self) -> bool:
        """True if it is, or was, a process of this machine, so that its life can be looked up."""
        return self.host == _host()

    def is_alive(self) -> bool:
        """True if it may still be driving. A process of another machine is taken to be alive."""
        if not self.is_here():
            return True
        if self.boot != _boot():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return _started(self.pid) == self.started

    def end(self) -> None:
        """Kill it, if it is another process of this machine that lives, and wait until it is dead.

        Two processes must not share the sandbox of a run: the fence
        keeps it from writing to the journal, not from writing to files.
        """
        if not self.is_here() or self.pid == os.getpid():
            return
        while self.is_alive():
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                return
            except PermissionError as error:
                raise RunBusy(f"{self} belongs to another user and cannot be stopped") from error
            time.sleep(0.01)

    def __str__(self) -> str:
        place = "" if self.is_here() else f" on {self.host}"
        return f"process {self.pid}{place}"


@cache
def _host() -> str:
    return socket.gethostname()


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _started(pid: int) -> str:
    """The process's start time in clock ticks since boot; empty where there is no /proc."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The second field, the program's name, may hold spaces and brackets: count from its end.
    state, *fields = stat.rpartition(")")[2].split()
    return "" if state == "Z" else fields[18]
