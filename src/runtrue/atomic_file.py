"""Write a file so that others see its old content or its new, and nothing in between."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_atomically(file: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Replace a file by one with this content; on any error it stays as it was."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as written:
            os.fchmod(handle, mode)
            written.write(content)
            written.flush()
            os.fsync(handle)
        Path(name).replace(file)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
