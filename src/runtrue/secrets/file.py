"""A file as a store: `secrets.json` in the user's own home of runtrue, readable by nobody else.

It is never one of a project's: a stranger might have written that.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

from runtrue.atomic_file import write_atomically
from runtrue.secrets.store import StoreRefused, StoreUnavailable, problem_of_name, problem_of_value

_FILE = "secrets.json"
#: Larger ones are something else.
_LARGEST = 8 * 1024 * 1024


class FileStore:
    """Keeps secrets in a file of mode 0600, and refuses one that others could read or replace."""

    origin = "file"

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of_user(cls) -> FileStore:
        """Return the file in `$RUNTRUE_HOME`, or in `~/.runtrue`. Raises StoreUnavailable."""
        named = os.environ.get("RUNTRUE_HOME")
        try:
            home = Path(named).expanduser() if named else Path.home() / ".runtrue"
        except RuntimeError as error:
            raise StoreUnavailable(
                "there is no home directory to store secrets in; set RUNTRUE_HOME to a directory"
            ) from error
        if not home.is_absolute():
            # Otherwise the current directory would decide which secrets are used.
            raise StoreUnavailable(
                f"RUNTRUE_HOME is {str(home)!r}, which is a different place in each "
                "directory; secrets "
                "are only read from an absolute path"
            )
        return cls(home / _FILE)

    def get(self, name: str) -> str | None:
        """Return the secret of that name, if the file has it."""
        return self._read().get(name)

    def names(self) -> tuple[str, ...]:
        """Return the names in the file."""
        return tuple(sorted(self._read()))

    def set(self, name: str, value: str) -> None:
        """Rewrite the file with this secret in it."""
        if problem := problem_of_name(name) or problem_of_value(value):
            raise StoreRefused(f"{name!r} cannot be stored: {problem}")
        self._write({**self._read(), name: value})

    def delete(self, name: str) -> bool:
        """Rewrite the file without this secret."""
        secrets = self._read()
        if name not in secrets:
            return False
        del secrets[name]
        self._write(secrets)
        return True

    def _read(self) -> dict[str, str]:
        try:
            # Not through a link, and not waiting for anyone who writes into a pipe.
            fd = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._refused(
                error.strerror or str(error), "make it a file that you own"
            ) from None
        try:
            # Of the open file, not of the one that has this name by now.
            self._require_own(os.fstat(fd))
            self._require_safe_directory()
            with os.fdopen(fd, "rb", closefd=False) as file:
                data = file.read(_LARGEST + 1)
        finally:
            os.close(fd)
        return self._understood(data)

    def _understood(self, data: bytes) -> dict[str, str]:
        remedy = "write it with `runtrue secret set NAME`"
        try:
            secrets = json.loads(data) if len(data) <= _LARGEST else None
        except (ValueError, RecursionError):
            # The error would quote the content.
            secrets = None
        if not isinstance(secrets, dict) or not all(isinstance(v, str) for v in secrets.values()):
            raise self._refused("it is not a JSON object of names and texts", remedy)
        return secrets

    def _require_own(self, found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode):
            raise self._refused("it is not an ordinary file", "make it a file that you own")
        if found.st_uid != os.geteuid():
            raise self._refused("it belongs to another user", "make it a file that you own")
        if found.st_mode & 0o077:
            mode = stat.S_IMODE(found.st_mode)
            raise self._refused(
                f"its mode {mode:04o} lets others access it",
                f"chmod 600 {self.path}, and change the secrets in it if others may have read them",
            )

    def _require_safe_directory(self) -> None:
        directory = self.path.parent
        found = directory.stat()
        if found.st_uid not in (os.geteuid(), 0):
            raise self._refused(f"{directory} belongs to another user", "use one that you own")
        if found.st_mode & 0o022:
            raise self._refused(
                f"others can write to {directory} and put another file in its place",
                f"chmod go-w {directory}",
            )

    def _refused(self, why: str, remedy: str) -> StoreRefused:
        return StoreRefused(f"the secrets in {self.path} are not used: {why}; {remedy}")

    def _write(self, secrets: dict[str, str]) -> None:
        directory = self.path.parent
        text = json.dumps(secrets, indent=1, sort_keys=True, ensure_ascii=False)
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._require_safe_directory()
        except OSError as error:
            raise self._refused(error.strerror or str(error), "set RUNTRUE_HOME") from error
        try:
            write_atomically(self.path, f"{text}\n".encode())
        except OSError as error:
            raise self._refused(error.strerror or str(error), "nothing was changed") from error
