"""Old runs: deleted on request, and by themselves once a day."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runtrue.errors import JournalError, UsageError
from runtrue.flow import Journal, RunRetention
from runtrue.home import Home

#: The environment variable for the days that runs are kept by themselves; `never` keeps all.
KEEP_DAYS = "RUNTRUE_KEEP_DAYS"
_DAY = 86_400.0
#: Its time is that of the last time.
_STAMP = "pruned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """The runs that were deleted, or would be, and the bytes of their files and of the journal."""

    runs: tuple[str, ...]
    files: int
    bytes: int
    dry_run: bool


def prune(
    journal: Journal, home: Home, retention: RunRetention, *, dry_run: bool = False
) -> Pruned:
    """Delete old runs with all their files, and what is left of runs long gone."""
    now = time.time()
    old = journal.old_runs(retention, now)
    before = _journal_size(home)
    files = [*_files_of(home, set(old)), *_orphans(journal, home, now - retention.days * _DAY)]
    freed = sum(map(_size, files))
    if not dry_run:
        journal.delete(old)
        for file in files:
            _remove(file)
        journal.vacuum()
        freed += max(0, before - _journal_size(home))
    return Pruned(runs=tuple(old), files=len(files), bytes=freed, dry_run=dry_run)


def prune_daily(journal: Journal, home: Home) -> None:
    """Delete old runs, unless that was done within a day; a run never fails because of it."""
    stamp = home.path / _STAMP
    with suppress(OSError, JournalError):
        if stamp.exists() and time.time() - stamp.stat().st_mtime < _DAY:
            return
        stamp.touch(mode=0o600)
        os.utime(stamp)
        if (retention := _configured()) is not None:
            prune(journal, home, retention)


def _configured() -> RunRetention | None:
    text = os.environ.get(KEEP_DAYS, "")
    if not text:
        return RunRetention()
    if text == "never":
        return None
    try:
        days = float(text)
    except ValueError:
        days = -1.0
    if not days >= 1:
        raise UsageError(f"{KEEP_DAYS} is {text!r}: give a number of days from 1 on, or `never`")
    return RunRetention(days=days)


def _files_of(home: Home, runs: set[str]) -> list[Path]:
    """Return the sandboxes, patches and receipts of runs."""
    return [path for path in _run_files(home) if _run_of(path) in runs]


def _orphans(journal: Journal, home: Home, before: float) -> list[Path]:
    """Return old sandboxes, patches and receipts of runs that the journal does not know."""
    return [
        path
        for path in _run_files(home)
        if path.lstat().st_mtime < before and not journal.knows(_run_of(path))
    ]


def _run_files(home: Home) -> list[Path]:
    found: list[Path] = []
    for folder in ("sandboxes", "patches", "receipts", "projects", "directories"):
        with suppress(OSError):
            found += sorted((home.path / folder).iterdir())
    return found


def _run_of(path: Path) -> str:
    """Return the id of the run that a file or directory is of: its name, or the beginning."""
    return path.name.partition(".")[0].partition("-")[0]


def _journal_size(home: Home) -> int:
    """Return the bytes of the journal's file; a shared database is not this machine's."""
    return _size(home.journal) if isinstance(home.journal, Path) else 0


def _size(path: Path) -> int:
    """Return the bytes of a file, or of all in a directory."""
    if path.is_dir() and not path.is_symlink():
        return sum(
            Path(place, name).lstat().st_size for place, _, names in os.walk(path) for name in names
        )
    return path.lstat().st_size if path.exists() else 0


def _remove(path: Path) -> None:
    """Remove a file or a directory, also what a program has made read-only in it."""
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return
    for place, names, _ in os.walk(path):
        for name in names:
            inner = Path(place, name)
            if not inner.is_symlink():
                inner.chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)
