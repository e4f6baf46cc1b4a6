"""Session files: what one run of a code loop saw and did, as JSON beside the project.

They lie where the seed's outer loop looks for them, so that whoever comes next, with or without
runtrue, can learn from them. Inside of an outer loop each iteration has a file of its own.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from runtrue.loop import Analysis
from runtrue.memory.store import storable
from runtrue.redaction import Redactor

#: Below the project.
DIRECTORY = PurePosixPath(".aiwg/ralph/debug-memory")

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 60
#: A file larger than this was not written by us.
_LARGEST = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFailure:
    """A failure that an attempt saw, and what was made of it."""

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
    """A fix that was run, and what came of it: `passed`, `failed` or `regression`."""

    attempt: int
    fixer: str
    description: str
    files: tuple[str, ...]
    outcome: str
    diff: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What one run saw, did and learnt. Times are written as in RFC 3339."""

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
    """Where a session was written, seen from the project; or why it could not be."""

    ref: str | None
    trouble: str | None = None


def write_session(project: Path, session: Session, hide: Redactor | None = None) -> SessionFile:
    """Write a session's file, whole or not at all; written again, it is replaced."""
    relative = session_path(session.session_id, session.loop_id, session.iteration)
    path = project / relative
    if not _is_within(project, path.parent):
        return SessionFile(None, f"{path.parent} lies outside of {project}: it is a link")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        data = msgspec.json.encode(_safe_to_keep(msgspec.to_builtins(session), hide or Redactor()))
        _replace(path, msgspec.json.format(data, indent=2))
    except OSError as error:
        return SessionFile(None, f"the session {path} cannot be written: {error.strerror}")
    return SessionFile(relative.as_posix())


def load_sessions(project: Path, loop_id: str | None = None) -> tuple[Session, ...]:
    """The sessions of a project, or of one outer loop, in the order in which they began.

    What is no session is passed over.
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
    """Where a session's file lies, seen from the project."""
    if loop_id is None:
        return DIRECTORY / f"{_safe(session_id)}.json"
    number = max(iteration or 0, 0)
    return DIRECTORY / _safe(loop_id) / f"iteration-{number:03d}.json"


def _is_within(project: Path, directory: Path) -> bool:
    """Whether a directory, made or not, is in the project: what it holds may come from anyone."""
    # Unlike `Path.resolve`, this takes links that lead in a circle, too.
    real = os.path.realpath
    return Path(real(directory)).is_relative_to(real(project))


def _safe(name: str) -> str:
    """A name that is one for a file, and still another than those of other names."""
    clean = _UNSAFE.sub("-", name)[:_LONGEST_NAME].strip("-")
    if name and clean == name:
        return name
    mark = hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=4).hexdigest()
    return f"{clean}-{mark}" if clean else mark


def _load(path: Path) -> Session | None:
    try:
        if path.stat().st_size > _LARGEST:
            return None
        return msgspec.json.decode(path.read_bytes(), type=Session)
    except (OSError, msgspec.DecodeError, ValueError):
        return None


def _safe_to_keep(value: Any, hide: Redactor) -> Any:
    """JSON data without secrets, and with nothing that is not text in UTF-8."""
    if isinstance(value, dict):
        return {key: _safe_to_keep(inner, hide) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_safe_to_keep(inner, hide) for inner in value]
    return storable(hide(value)) if isinstance(value, str) else value


def _replace(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".session-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
