"""Projects on the command line: the directory that was named, or what is wrong with it."""

from __future__ import annotations

import os
from pathlib import Path

from runtrue.errors import UsageError
from runtrue.sandbox import repository_of


def must_be_text(*words: str) -> None:
    """Refuse words that the journal cannot hold."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError as error:
            shown = word.encode("utf-8", "surrogateescape").decode(errors="replace")
            raise UsageError(f"{shown} is not UTF-8 text, which the journal needs") from error


def find_project(path: Path) -> Path:
    """The directory of a project, as an absolute path."""
    if not path.exists():
        raise UsageError(f"{path} does not exist; give the directory of a project")
    if not path.is_dir():
        raise UsageError(f"{path} is not a directory; give the directory of a project")
    project = path.resolve()
    if not os.access(project, os.R_OK | os.X_OK):
        raise UsageError(f"{path} cannot be read: permission denied")
    return project


def must_be_in_repository(project: Path) -> Path:
    """Return the top of the project's repository; raise UsageError where there is none."""
    top = repository_of(project)
    if top is None:
        raise UsageError(
            f"{project} is not in a git repository, so the gate cannot see what changed; "
            "create one with `git init`"
        )
    return top
