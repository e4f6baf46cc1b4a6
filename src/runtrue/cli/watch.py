"""`--watch`: run again when a file of the project changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from runtrue.cli.console import echo
from runtrue.cli.main import INTERRUPTED
from runtrue.errors import UsageError
from runtrue.home import Home
from runtrue.sandbox import GitSandbox

#: Files of a change that are named.
_FEW = 3
#: Milliseconds of silence after a change before it counts as one.
_SETTLED = 300


def refuse_documents(*, as_json: bool) -> None:
    """Raise UsageError where one document on stdout is asked for: there would be many."""
    if as_json:
        raise UsageError("--watch runs until you stop it, and --json and --output print one result")


def watch(project: Path, home: Home, run: Callable[[frozenset[str] | None], int]) -> int:
    """Run now and after each change, until Ctrl-C; return the last exit code.

    `run` gets the files that changed since the run before began, seen from the top of the
    repository; None the first time. What git ignores is no change.
    """
    before = _files(project, home)
    code = run(None)
    try:
        while code != INTERRUPTED:
            echo(f"watching {project}; stop with Ctrl-C", err=True)
            now = _next(project, home, before)
            changed = {name for name in {*before, *now} if before.get(name) != now.get(name)}
            echo(f"changed: {_few(sorted(changed))}", err=True)
            before = now
            code = run(frozenset(changed))
    except KeyboardInterrupt:
        echo(err=True)
    return code


def _next(project: Path, home: Home, before: dict[str, str]) -> dict[str, str]:
    """Wait until the files are others, and return them."""
    own = home.path.resolve()
    is_first = True
    # The first look is for what changed before anything was listening.
    for paths in _batches(project):
        if is_first or any(".git" not in p.parts and not p.is_relative_to(own) for p in paths):
            now = _files(project, home)
            if now != before:
                return now
        is_first = False
    raise KeyboardInterrupt


def _batches(project: Path) -> Iterator[list[Path]]:
    """Yield the paths that changed, and nothing every now and then."""
    from watchfiles import watch as changes_in

    for is_last_resort in (False, True):
        try:
            for batch in changes_in(
                project,
                watch_filter=None,
                step=_SETTLED,
                rust_timeout=_SETTLED,
                yield_on_timeout=True,
                raise_interrupt=True,
                force_polling=is_last_resort or None,
            ):
                yield [Path(path) for _, path in batch]
            return
        except OSError:
            # The system lets nobody watch any more files: look at them instead.
            if is_last_resort:
                raise


def _files(project: Path, home: Home) -> dict[str, str]:
    """Return the files that count as the project's, each with the id of its content."""
    return GitSandbox(home.sandbox(f"watch-{os.getpid()}"), project).users_files()


def _few(names: list[str]) -> str:
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return f"{', '.join(names[:_FEW])}{more}"
