"""A store: secrets are files of a directory, as containers get them."""

from __future__ import annotations

import os
from pathlib import Path

from runtrue.secrets import StoreRefused, StoreUnavailable


class DirectoryStore:
    """Reads the secret NAME from the file NAME in the directory that SECRETS_DIRECTORY names."""

    origin = "directory"

    def __init__(self) -> None:
        place = os.environ.get("SECRETS_DIRECTORY")
        if not place:
            raise StoreUnavailable("SECRETS_DIRECTORY names no directory")
        self._directory = Path(place)

    def get(self, name: str) -> str | None:
        """Return the content of the file without the end of its last line."""
        file = self._directory / name
        return file.read_text(encoding="utf-8").rstrip("\n") if file.is_file() else None

    def names(self) -> tuple[str, ...]:
        """Return the names of the files."""
        return tuple(sorted(file.name for file in self._directory.iterdir() if file.is_file()))

    def set(self, name: str, value: str) -> None:
        """Refuse: whoever runs the container writes the files."""
        raise StoreRefused(f"{self._directory} is read only; write {name} where it comes from")

    def delete(self, name: str) -> bool:
        """Refuse, for the same reason."""
        raise StoreRefused(f"{self._directory} is read only; delete {name} where it comes from")
