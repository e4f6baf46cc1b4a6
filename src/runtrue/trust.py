"""Trust: a person's recorded agreement to what a file of a project asks for.

Nothing that a clone brings along counts before a person said yes to it. An agreement is for one
content of one file with one owner. It is kept in the user's own home, never in a project.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from runtrue.atomic_file import private_directory, write_atomically
from runtrue.errors import HostError
from runtrue.typed_data import decode_json

_FILE = "trust.json"
#: Agreements to earlier contents of a file that still count, as after a change of branch.
_KEPT = 20
#: The file that names a project's own `.runtrue`, so that no other can take its place.
_MARK = "home.id"


def users_home() -> Path:
    """Return the user's own home of runtrue: `$RUNTRUE_HOME`, else `~/.runtrue`."""
    try:
        named = os.environ.get("RUNTRUE_HOME")
        return Path(named).expanduser() if named else Path.home() / ".runtrue"
    except RuntimeError as error:
        raise HostError("there is no home directory; set RUNTRUE_HOME to a directory") from error


def why_not_own(path: Path) -> str | None:
    """Return why others may have made or changed a path; None if only the user or root can."""
    try:
        seen = (path.lstat(), path.stat())
        around = path.parent.stat()
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    if any(one.st_uid not in (os.geteuid(), 0) for one in seen):
        return "it belongs to another user"
    # In a directory such as /tmp, others cannot replace what is not theirs.
    is_sticky = bool(around.st_mode & 0o1000)
    if _others_write(seen[1]) or (_others_write(around) and not is_sticky):
        return "others can write to it"
    return None


def _others_write(found: os.stat_result) -> bool:
    # Many systems give each user a group, and let it write.
    by_group = bool(found.st_mode & 0o020) and found.st_gid != os.getegid()
    return by_group or bool(found.st_mode & 0o002)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustRequest:
    """A file of a project, and what it asks a person for, item by item in plain words."""

    path: Path
    #: What an agreement is for: the digest of the content.
    digest: str
    #: The user that the file belongs to.
    owner: int
    items: tuple[str, ...]

    @classmethod
    def of(cls, file: Path, content: str, items: Iterable[str]) -> TrustRequest:
        """Return what a file with this content asks for."""
        digest = hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest()
        try:
            owner = file.stat().st_uid
        except OSError:
            owner = -1
        return cls(path=file.resolve(), digest=digest, owner=owner, items=tuple(items))


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """A person's yes to one content of one file."""

    path: str
    digest: str
    owner: int
    items: tuple[str, ...]
    agreed_at: float

    def changes(self, request: TrustRequest) -> list[str]:
        """Return what the file asks for now and did not then, and the other way round."""
        added = [f"new: {item}" for item in request.items if item not in self.items]
        gone = [f"gone: {item}" for item in self.items if item not in request.items]
        return [*added, *gone] or ["other lines of the file"]


class _Record(msgspec.Struct):
    agreements: list[Agreement] = []
    version: int = 1


class Agreements:
    """What the user agreed to, in a file that only the user may write."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @classmethod
    def of_user(cls) -> Agreements:
        """Return the agreements in the user's own home."""
        return cls(users_home() / _FILE)

    def all(self) -> list[Agreement]:
        """Return all agreements, the oldest first; none if the file is not the user's alone."""
        # A relative home is another one in each directory: a project could bring its own.
        if not self._file.is_absolute() or why_not_own(self._file) is not None:
            return []
        try:
            return decode_json(self._file.read_bytes(), _Record).agreements
        except (OSError, msgspec.MsgspecError):
            return []

    def covers(self, request: TrustRequest) -> bool:
        """Return whether the user agreed to just this."""
        asked = (str(request.path), request.digest, request.owner)
        return any((one.path, one.digest, one.owner) == asked for one in self.all())

    def latest(self, path: Path) -> Agreement | None:
        """Return the latest agreement to any content of a file."""
        found = [one for one in self.all() if one.path == str(path)]
        return found[-1] if found else None

    def add(self, *requests: TrustRequest) -> None:
        """Record that the user agrees. Raises HostError if it cannot be kept."""
        with self._changing() as agreements:
            for request in requests:
                path = str(request.path)
                others = [one for one in agreements if one.path != path]
                same = [one for one in agreements if one.path == path]
                same = [one for one in same if one.digest != request.digest][1 - _KEPT :]
                agreement = Agreement(
                    path=path,
                    digest=request.digest,
                    owner=request.owner,
                    items=request.items,
                    agreed_at=time.time(),
                )
                agreements[:] = [*others, *same, agreement]

    def revoke(self, path: Path) -> list[Agreement]:
        """Forget every agreement to a file, or to the files in a directory, and return them."""
        with self._changing() as agreements:
            revoked = [one for one in agreements if Path(one.path).is_relative_to(path)]
            agreements[:] = [one for one in agreements if one not in revoked]
        return revoked

    @contextmanager
    def _changing(self) -> Iterator[list[Agreement]]:
        home = self._file.parent
        if not self._file.is_absolute():
            raise HostError(
                f"RUNTRUE_HOME is {str(home)!r}, which is a different place in each "
                "directory; set it "
                "to an absolute path to record what you trust"
            )
        try:
            private_directory(home)
            with (home / f".{_FILE}.lock").open("a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                os.fchmod(lock.fileno(), 0o600)
                agreements = self.all()
                yield agreements
                write_atomically(self._file, msgspec.json.encode(_Record(agreements)))
        except OSError as error:
            raise HostError(
                f"{self._file}: what you trust cannot be recorded: {error.strerror}"
            ) from error


# -- homes of projects --------------------------------------------------------------------------


def home_request(directory: Path) -> TrustRequest:
    """Return what a `.runtrue` in a project asks for: to be where runs are kept."""
    try:
        mark = (directory / _MARK).read_text(errors="replace")[:100]
    except OSError:
        mark = ""
    item = "keeps runs, saved workflows, MCP servers and learnt fixes that runtrue would use"
    return TrustRequest.of(directory, f"home {mark}", [item])


def adopt_home(directory: Path) -> None:
    """Record a `.runtrue` in a project as the user's own. Raises HostError, OSError."""
    directory.chmod(0o700)
    write_atomically(directory / _MARK, f"{secrets.token_hex(16)}\n".encode())
    Agreements.of_user().add(home_request(directory))


def is_adopted(directory: Path) -> bool:
    """Return whether the user's runtrue keeps its things in this directory already.

    One that is empty is the user's, made just now: nothing can have come with it.
    """
    if Agreements.of_user().covers(home_request(directory)):
        return (directory / _MARK).is_file()
    try:
        with os.scandir(directory) as entries:
            is_empty = next(entries, None) is None
        if is_empty:
            adopt_home(directory)
    except OSError:
        return False
    except HostError:
        return True
    return is_empty
