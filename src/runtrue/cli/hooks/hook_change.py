"""The result of installing or removing a hook, and what all hooks need for it."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from runtrue.atomic_file import usual_mode, write_atomically
from runtrue.errors import UsageError


@dataclass(frozen=True, slots=True)
class HookChange:
    """Whether a file was changed, and a sentence for the user."""

    changed: bool
    said: str


def own_program() -> list[str]:
    """This very installation, as the words of a command."""
    beside = Path(sys.executable).with_name("runtrue")
    if os.access(beside, os.X_OK):
        return [str(beside)]
    # Without -P, Python itself imports from the directory that it is started in: a project's.
    return [sys.executable, "-P", "-m", "runtrue"]


def shared_program() -> list[str]:
    """The words for a file that others get as well: a name, unless nothing is found by it here."""
    return ["runtrue"] if shutil.which("runtrue") else own_program()


def only_here(program: list[str]) -> str:
    """Return a hint for a command that works on this machine only, or nothing."""
    if program == ["runtrue"]:
        return ""
    return (
        f"; `runtrue` is not on PATH, so it names {program[0]}, which exists on this machine only"
    )


def read(file: Path) -> str | None:
    """The text of a file, if it is there."""
    try:
        return file.read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 text and was not changed") from error


def write(file: Path, text: str, *, mode: int | None = None) -> None:
    """Write a file, whole or not at all; where it is a link, what it leads to."""
    target = file.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    if mode is None:
        mode = target.stat().st_mode & 0o777 if target.exists() else usual_mode()
    write_atomically(target, text.encode(), mode=mode)
