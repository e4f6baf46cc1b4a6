"""Session files: the failures and fixes of one run of a code loop, as JSON beside the project.

They are where the seed's outer loop looks for them, so that anyone who comes next, with or without
runtrue, can learn from them. Inside of an outer loop each iteration has a file of its own.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from runtrue.atomic_file import write_atomically
from runtrue.loop import Analysis
from runtrue.memory.store import storable
from runtrue.redaction import Redactor
from runtrue.typed_data import decode_json

#: Below the project.
DIRECTORY = PurePosixPath(".aiwg/ralph/debug-memory")

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 60
#: A file larger than this was not written by us.
_LARGEST = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFailure:
    """A failure that an attempt saw, with its analysis."""

    attempt: int
    fingerprint: str
    error_type: str
    cause: str
    message: str
    test: str | None = None
    file: str | None = None
    analysis: Analysis | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFix:
    """A fix that was run, and its outcome: `passed`, `failed` or `regression`."""

    attempt: int
    fixer: str
    description: str
    files: tuple[str, ...]
    outcome: str
    diff: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugSession:
    """The failures, fixes and learnings of one run. Times are written as in RFC 3339."""

    session_id: str
    run_id: str
    project: str
    status: str
    started_at: str
    ended_at: str | None = None
    loop_id: str | None = None
    iteration: int | None = None
    failures: tuple[SessionFailure, ...] = ()
    fixes: tuple[SessionFix, ...] = ()
    learnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionFile:
    """The path of a session relative to the project; or why it could not be written."""

    ref: str | None
    trouble: str | None = None


def write_session(
    project: Path, session: DebugSession, redact: Callable[[str], str] | None = None
) -> SessionFile:
    """Write a session's file, in place of an earlier one, where git does not see it.

    `redact` is done to each text in it.
    """
    relative = session_path(session.session_id, session.loop_id, session.iteration)
    path = project / relative
    if not _is_within(project, path.parent):
        return SessionFile(None, f"{path.parent} is outside {project}: it is a link")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _keep_from_git(project / DIRECTORY)
        data = msgspec.json.encode(_redacted(msgspec.to_builtins(session), redact or Redactor()))
        write_atomically(path, msgspec.json.format(data, indent=2), mode=0o644)
    except OSError as error:
        return SessionFile(None, f"the session {path} cannot be written: {error.strerror}")
    return SessionFile(relative.as_posix())


def without_places(places: Mapping[str, str]) -> Callable[[str], str]:
    """Return what replaces directories of this machine in a text, each by a name for it.

    A directory that is called `.` is left out of the paths in it.
    """
    names: dict[str, str] = {}
    for place, name in places.items():
        for spelling in {place, os.path.realpath(place)} - {"/"}:
            names.setdefault(spelling, name)
    # Not where a longer name only begins so.
    found = "|".join(re.escape(place) for place in sorted(names, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w.~-])({found})(/|(?![\w.-]))")

    def replaced(match: re.Match[str]) -> str:
        name, slash = names[match[1]], match[2]
        return "" if name == "." and slash else f"{name}{slash}"

    return lambda text: pattern.sub(replaced, text)


def _keep_from_git(directory: Path) -> None:
    """Have git ignore a directory, unless somebody has said otherwise."""
    file = directory / ".gitignore"
    if not file.exists() and not file.is_symlink():
        file.write_text("# Made by runtrue. Remove the line below to share this directory.\n*\n")


def load_sessions(project: Path, loop_id: str | None = None) -> tuple[DebugSession, ...]:
    """Return the sessions of a project, or of one outer loop, by the time when they began.

    Files that are no session are passed over.
    """
    directory = project / DIRECTORY
    if not _is_within(project, directory):
        return ()
    pattern = "*.json" if loop_id is None else f"{_safe(loop_id)}/iteration-*.json"
    found = [_load(path) for path in sorted(directory.glob(pattern))]
    if loop_id is None:
        found += [_load(path) for path in sorted(directory.glob("*/iteration-*.json"))]
    sessions = [session for session in found if session is not None]
    return tuple(sorted(sessions, key=lambda s: (s.iteration or 0, s.started_at, s.session_id)))


def session_path(
    session_id: str, loop_id: str | None = None, iteration: int | None = None
) -> PurePosixPath:
    """Return the path of a session's file relative to the project."""
    if loop_id is None:
        return DIRECTORY / f"{_safe(session_id)}.json"
    number = max(iteration or 0, 0)
    return DIRECTORY / _safe(loop_id) / f"iteration-{number:03d}.json"


def _is_within(project: Path, directory: Path) -> bool:
    """Return whether a directory is really in the project: anyone may have made it a link."""
    # Unlike `Path.resolve`, this takes links that lead in a circle, too.
    real = os.path.realpath
    return Path(real(directory)).is_relative_to(real(project))


def _safe(name: str) -> str:
    clean = _UNSAFE.sub("-", name)[:_LONGEST_NAME].strip("-")
    if name and clean == name:
        return name
    mark = hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=4).hexdigest()
    return f"{clean}-{mark}" if clean else mark


def _load(path: Path) -> DebugSession | None:
    try:
        if path.stat().st_size > _LARGEST:
            return None
        return decode_json(path.read_bytes(), DebugSession)
    except (OSError, msgspec.DecodeError, ValueError):
        return None


def _redacted(value: Any, redact: Callable[[str], str]) -> Any:
    """Return JSON data without secrets, and with nothing that is not text in UTF-8."""
    if isinstance(value, dict):
        return {key: _redacted(inner, redact) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(inner, redact) for inner in value]
    return storable(redact(value)) if isinstance(value, str) else value
