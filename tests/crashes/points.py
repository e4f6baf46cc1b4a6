"""Crash points: a real SIGKILL of a fork, before or after its n-th write to the journal."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

#: Statements that change the journal, or make a change last.
_WRITES = ("INSERT", "UPDATE", "DELETE", "COMMIT")


@dataclass(frozen=True)
class CrashPoint:
    """Before or after a write to the journal, counted from 1."""

    write: int
    before: bool

    def __str__(self) -> str:
        return f"{self.write}-{'before' if self.before else 'after'}"


def killed_at(point: CrashPoint, work: Callable[[], object]) -> bool:
    """True if a fork that does `work` was killed at the point; false if it ended first."""
    status = _forked(partial(_with_connections, partial(_kill, point), work))
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    assert status == 0, f"work failed before point {point}"
    return False


def done_by_fork(work: Callable[[], object]) -> None:
    """Do `work` in a fork, undisturbed."""
    assert _forked(partial(_with_connections, lambda *_, **__: None, work)) == 0


def writes_of(work: Callable[[], object], counted: Path) -> int:
    """Return how often a fork that does `work` undisturbed writes to the journal."""

    def count(number: int, *, before: bool) -> None:
        counted.write_text(str(number))

    assert _forked(partial(_with_connections, count, work)) == 0
    return int(counted.read_text())


def _kill(point: CrashPoint, number: int, *, before: bool) -> None:
    if (number, before) == (point.write, point.before):
        os.kill(os.getpid(), signal.SIGKILL)


def _with_connections(on_write: Callable[..., None], work: Callable[[], object]) -> None:
    count = 0

    class Connection(sqlite3.Connection):
        def __init__(self, path: Any, *args: Any, **options: Any) -> None:
            super().__init__(path, *args, **options)
            self._is_journal = Path(path).name == "journal.db"

        def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
            nonlocal count
            if sql == "PRAGMA synchronous = FULL":
                # A killed process loses nothing that it has written: only a power cut does.
                sql = "PRAGMA synchronous = OFF"
            if not (self._is_journal and sql.lstrip().startswith(_WRITES)):
                return super().execute(sql, *args)
            count += 1
            number = count
            on_write(number, before=True)
            done = super().execute(sql, *args)
            on_write(number, before=False)
            return done

    connect: Any = sqlite3.connect
    sqlite3.connect = partial(connect, factory=Connection)  # the fork's own
    work()


def _forked(work: Callable[[], object]) -> int:
    """Do `work` in a fork, and return its wait status."""
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1]
