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


def usual_mode() -> int:
    """Return the mode of a file that a program of the user's makes without asking for one."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def private_directory(directory: Path) -> None:
    """Make a directory, and those around it that are missing, for the user alone."""
    for missing in reversed([one for one in (directory, *directory.parents) if not one.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    if not directory.is_dir():
        directory.mkdir()  # raises what is wrong with it


def private_file(file: Path) -> None:
    """Make an empty file for the user alone, if there is none, and its directory."""
    private_directory(file.parent)
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
