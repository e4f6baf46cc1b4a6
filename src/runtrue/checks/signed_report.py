"""Signed reports: the lines of a report that certainly came from the runner's side.

They are written by `runtrue_signed` in the project's own Python, and `runtrue-signed.cjs` in its
Node. Several sessions may write one report, one after the other or side by side; each has its key.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtrue.checks.locations import plain

#: A longer report was not written by tests.
_LONGEST = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedReport:
    """The lines with a valid signature, each with the number of its session, and any problems."""

    lines: tuple[dict[str, Any], ...] = ()
    #: What is wrong with the report, in words for people.
    problems: tuple[str, ...] = ()
    #: True if any session has taken its key, however little it wrote.
    started: bool = False


class ReportKey:
    """The key of a report that is about to be written to `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._key_file = path.with_name(f"{path.name}.key")
        self._first = secrets.token_bytes(32)
        self._left = f"0 {self._first.hex()}".encode()

    def leave(self) -> None:
        """Remove what others have left there, and leave the key for the first session."""
        for file in (self._path, self._key_file):
            file.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(self._key_file, flags, 0o600), "wb") as key:
            key.write(self._left)

    def read(self) -> SignedReport:
        """Read the report, once, after everything that may have written it has ended."""
        started = _content(self._key_file, 256) != self._left
        self._key_file.unlink(missing_ok=True)
        if not _is_regular(self._path):
            gone = ("the test report is gone",) if started else ()
            return SignedReport(started=started, problems=gone)
        content = _content(self._path, _LONGEST)
        if content is None:
            return SignedReport(started=True, problems=("the test report cannot be read",))
        # It holds all that tests printed, and a failed run keeps its sandbox.
        self._path.unlink(missing_ok=True)
        return self._verified(content)

    def _verified(self, content: bytes) -> SignedReport:
        # The first key of each session, and the key of its next line.
        first, keys = self._first, [self._first]
        lines: list[dict[str, Any]] = []
        forged = 0
        # What comes after the last line end was cut off, by a process that died while writing.
        for line in content.split(b"\n")[:-1]:
            number, _, rest = line.partition(b" ")
            signature, _, data = rest.partition(b" ")
            session = int(number) if number.isdigit() and len(number) < 9 else -1
            if session == len(keys):
                first = hashlib.sha512(first + b"session").digest()[:32]
                keys.append(first)
            key = keys[session] if 0 <= session < len(keys) else b""
            digest = hashlib.sha512(key + data).digest()
            if not key or not hmac.compare_digest(digest[32:].hex().encode(), signature):
                forged += 1
                continue
            keys[session] = digest[:32]
            lines.append({**_plain(json.loads(data)), "session": session})
        problem = f"{forged} lines of the test report were written or changed by another program"
        return SignedReport(lines=tuple(lines), problems=(problem,) if forged else (), started=True)


def _plain(value: Any) -> Any:
    """Return a value without a terminal's escape sequences in any of its texts."""
    match value:
        case str():
            return plain(value)
        case list():
            return [_plain(item) for item in value]
        case dict():
            return {key: _plain(item) for key, item in value.items()}
    return value


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _content(path: Path, limit: int) -> bytes | None:
    """Return a file's content; None if it is too long or not regular: a pipe would never end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            return None
        return file.read(limit)
