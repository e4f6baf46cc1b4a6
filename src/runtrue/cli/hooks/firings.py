"""How often a hook has fired in a project, so one that never does can be seen."""

from __future__ import annotations

import hashlib
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from runtrue.atomic_file import private_directory, write_atomically
from runtrue.home import Home
from runtrue.typed_data import decode_json


class Firings(msgspec.Struct, frozen=True, kw_only=True):
    """How often one hook of a project has fired, and held something back."""

    fired: int = 0
    blocked: int = 0
    last: float | None = None


def read_firings(home: Home, project: Path, host: str) -> Firings:
    """Return what is known of a hook; nothing has fired where nothing is recorded."""
    with suppress(OSError, msgspec.MsgspecError):
        return decode_json(_file(home, project, host).read_bytes(), Firings)
    return Firings()


def note_firing(home: Home, project: Path, host: str, *, blocked: bool) -> None:
    """Count a firing. What cannot be written does not stop the hook."""
    before = read_firings(home, project, host)
    now = Firings(fired=before.fired + 1, blocked=before.blocked + blocked, last=time.time())
    file = _file(home, project, host)
    with suppress(OSError):
        private_directory(file.parent)
        write_atomically(file, msgspec.json.encode(now))


def _file(home: Home, project: Path, host: str) -> Path:
    name = hashlib.sha256(f"{project}\0{host}".encode()).hexdigest()[:32]
    return home.path / "hooks" / f"{name}.json"
