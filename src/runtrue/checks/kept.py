"""What checks leave in the scratch directory for those that come after them, by check."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import msgspec

T = TypeVar("T")


def kept_file(scratch: Path, kind: str, check: str) -> Path:
    """Where something of a check's is kept; its name may have any signs."""
    return scratch / f"{kind}-{quote(check, safe='')}.json"


def keep(value: object, file: Path) -> None:
    """Write a value."""
    file.write_bytes(msgspec.json.encode(value, order="deterministic"))


def load(file: Path, kind: type[T]) -> T | None:
    """Read a value; None where there is none that can be read."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError):
        return None
