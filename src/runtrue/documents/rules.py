"""Rules for values that no type can express: patterns of files, and commands."""

from __future__ import annotations

import shlex
from pathlib import PurePosixPath

from runtrue.documents.words import lower_first


def problem_of_pattern(pattern: str) -> str | None:
    """Return why a pattern can never match a file of the project, or None."""
    if not pattern.strip():
        return "the pattern is empty; to match everything, use '**'"
    if "\0" in pattern:
        return "a pattern cannot contain a null character"
    path = PurePosixPath(pattern)
    if path.is_absolute():
        return f"{pattern!r} is absolute; give a path relative to the project"
    if ".." in path.parts:
        return f"{pattern!r} has '..' in it; give a path relative to the project"
    return None


def problem_of_command(command: str) -> str | None:
    """Return why a command can never be started, or None."""
    if "\0" in command:
        return "a command cannot contain a null character"
    try:
        words = shlex.split(command)
    except ValueError as error:
        return f"the command cannot be read: {lower_first(str(error))}"
    return None if words else "the command is empty"
