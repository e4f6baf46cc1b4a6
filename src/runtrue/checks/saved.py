"""Values that a check saves in the scratch directory for those who run after it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import quote

import msgspec

from runtrue.typed_data import decode_json

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SavedValue(Generic[T]):
    """A value of one type for each check, as a JSON file."""

    name: str
    type: type[T]

    def file(self, scratch: Path, check: str) -> Path:
        """Return the path of a check's file; the check's name may have any characters."""
        return scratch / f"{self.name}-{quote(check, safe='')}.json"

    def save(self, value: T, scratch: Path, check: str) -> None:
        """Write a check's value."""
        file = self.file(scratch, check)
        file.write_bytes(msgspec.json.encode(value, order="deterministic"))

    def forget(self, scratch: Path, check: str) -> None:
        """Remove the value of an earlier run, which was of another candidate."""
        self.file(scratch, check).unlink(missing_ok=True)

    def load(self, scratch: Path, check: str) -> T | None:
        """Return a check's value; None if there is none that can be read."""
        try:
            return decode_json(self.file(scratch, check).read_bytes(), self.type)
        except (OSError, msgspec.MsgspecError):
            return None
