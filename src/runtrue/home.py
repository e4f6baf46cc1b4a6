"""Home: the directory of runtrue's journal, sandboxes and patches."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from runtrue.errors import UsageError
from runtrue.trust import is_adopted, users_home, why_not_own

if TYPE_CHECKING:
    from runtrue.flow import Location

#: The environment variable for the database that many machines share.
DATABASE = "RUNTRUE_DATABASE"
#: The directories whose files are as private as those beside the journal. What is in `sandboxes`
#: has the modes of the projects that it is from.
_PRIVATE = ("", "patches", "receipts", "workflows", "mcp-tools", "apis", "stops", "notes", "hooks")
#: Says by itself why it must not be readable, and that its secrets may be known by now.
_OWN_CARE = "secrets.json"


@dataclass(frozen=True, slots=True)
class Home:
    """A directory of runtrue's, in which nothing is made before it is needed."""

    path: Path
    #: Why a `.runtrue` that is nearer does not count, each in a sentence.
    passed_over: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def find(cls, start: Path) -> Home:
        """Return `$RUNTRUE_HOME`; else the nearest `.runtrue` above `start`; else `~/.runtrue`.

        A `.runtrue` in a project counts if it is the user's own: made empty by the user, or
        trusted. One that came with files would bring runs, servers and workflows along. Links are
        resolved: confined commands see directories only where they really are.
        """
        users = users_home()
        if os.environ.get("RUNTRUE_HOME"):
            return cls(users.resolve())
        passed_over: list[str] = []
        for own in _homes_above(start, users):
            if why := why_not_own(own):
                passed_over.append(f"{own} is ignored: {why}")
            elif is_adopted(own):
                return cls(own.resolve(), tuple(passed_over))
            else:
                passed_over.append(
                    f"{own} is ignored: it came with files in it; "
                    f"`runtrue trust {own.parent}` asks whether it may"
                )
        return cls(users.resolve(), tuple(passed_over))

    @property
    def journal(self) -> Location:
        """Where the journal is: the database that the user shares with others, else a file."""
        return shared_database() or self.path / "journal.db"

    @property
    def journal_name(self) -> str:
        """What messages call the journal."""
        from runtrue.flow import location_name

        return location_name(self.journal)

    @property
    def has_journal(self) -> bool:
        """True if there is a journal to look into. Looking makes no file."""
        location = self.journal
        return isinstance(location, str) or location.exists()

    def sandbox(self, run_id: str) -> Path:
        """Return the directory of one run's sandbox."""
        return self.path / "sandboxes" / run_id

    def patch(self, run_id: str) -> Path:
        """Return the file of one run's resulting patch."""
        return self.path / "patches" / f"{run_id}.patch"

    def receipt(self, run_id: str) -> Path:
        """Return the file of one run's receipt."""
        return self.path / "receipts" / f"{run_id}.json"

    def close_to_others(self) -> list[Path]:
        """Take every right of others from the home and its files; return what they could reach."""
        return [path for path in self._own_paths() if _close(path)] if self.path.is_dir() else []

    def _own_paths(self) -> Iterator[Path]:
        yield self.path
        for name in _PRIVATE:
            with suppress(OSError), os.scandir(self.path / name) as entries:
                for entry in entries:
                    if entry.name != _OWN_CARE and entry.is_file(follow_symlinks=False):
                        yield Path(entry.path)


def shared_database() -> str | None:
    """Return the URL of the PostgreSQL database that the user's journal is in, if it is in one.

    `$RUNTRUE_DATABASE` names it, else the user's own `runtrue.toml`: no project may send runs away.
    """
    url = os.environ.get(DATABASE)
    if url is None and os.path.lexists(users_home() / "runtrue.toml"):
        from runtrue.config import users_database

        url = users_database()
    if url and not url.startswith(("postgresql://", "postgres://")):
        raise UsageError(
            f"{DATABASE} or [database] url names no PostgreSQL database: "
            "write postgresql://USER@HOST:PORT/DATABASE, and the password to ~/.pgpass"
        )
    return url or None


def pending_home(start: Path) -> Path | None:
    """Return the nearest `.runtrue` above `start` that counts as soon as the user trusts it."""
    if os.environ.get("RUNTRUE_HOME"):
        return None
    for own in _homes_above(start, users_home()):
        if why_not_own(own) is None:
            return None if is_adopted(own) else own
    return None


def _homes_above(start: Path, users: Path) -> Iterator[Path]:
    for directory in (start, *start.parents):
        own = directory / ".runtrue"
        if own != users and own.is_dir():
            yield own


def _close(path: Path) -> bool:
    """Return whether others had rights to a path of the user's, which they have no more."""
    try:
        found = path.lstat()
        if found.st_uid != os.geteuid() or not found.st_mode & 0o077:
            return False
        path.chmod(stat.S_IMODE(found.st_mode) & 0o700)
    except OSError:
        return False
    return True
