"""Isolation: what the commands and the code of a workflow may reach."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from runtrue.config import load_config
from runtrue.confinement import Confinement
from runtrue.flow import emit
from runtrue.sandbox import Isolation, git_paths
from runtrue.workflow.events import Isolated

if TYPE_CHECKING:
    from runtrue.workflow.context import Context


def confinement_for(context: Context, *paths: Path) -> Confinement:
    """Return the confinement of a command that may write to `paths`. Raises IsolationError.

    A home directory as a whole stays private, and so does everything above it.
    """
    directory = context.directory
    home = Path(context.environment.get("HOME") or Path.home())
    write = [path for path in paths if not home.is_relative_to(path.resolve())]
    isolation = isolation_in(directory)
    config = isolation.config
    emit(Isolated(level=config.level, network=list(config.network)))
    repositories = [git_paths(path) for path in write]
    return isolation.box(
        write=[*write, *(path for own, _ in repositories for path in own)],
        read_only=[path for _, fixed in repositories for path in fixed],
        private=context.private(),
        hidden=_hidden(write, context.surroundings.registry.home.path),
    )


@lru_cache(maxsize=16)
def isolation_in(directory: Path) -> Isolation:
    """Return the isolation configured for a directory. Raises IsolationError."""
    return Isolation.of(load_config(directory).isolation)


def _hidden(write: Iterable[Path], home: Path) -> tuple[Path, ...]:
    return (home,) if any(home.is_relative_to(path) for path in write) else ()
