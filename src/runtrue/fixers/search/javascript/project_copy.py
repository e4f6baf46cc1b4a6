"""Copies of a project, in which candidates are tried without touching the project itself."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from runtrue.encoding import decoded, encoded

_MODULES = "node_modules"
_LEFT_OUT = frozenset((".git", ".hg", "coverage", ".nyc_output", ".venv", "__pycache__"))
#: A project with more bytes, or files, is not copied.
_MOST_BYTES, _MOST_FILES = 256 * 1024 * 1024, 20_000


class TooLarge(Exception):
    """The project is too large to copy."""


class ProjectCopy:
    """A copy of the project's files. What is installed is linked to."""

    def __init__(self, root: Path, directory: Path) -> None:
        self._from = root
        self.root = directory.resolve() / "project"
        self._copy()

    @contextlib.contextmanager
    def with_texts(self, texts: Mapping[str, str]) -> Iterator[None]:
        """Have a candidate's files in the copy."""
        try:
            for name, text in texts.items():
                self._write(self.root / name, encoded(text))
            yield
        finally:
            for name in texts:
                self._write(self.root / name, (self._from / name).read_bytes())

    def write(self, texts: Mapping[str, str]) -> None:
        """Make a candidate what later ones start from."""
        for name, text in texts.items():
            self._write(self.root / name, encoded(text))

    def read(self, name: str) -> str:
        """Return the text of a file; nothing where it cannot be read."""
        try:
            return decoded((self.root / name).read_bytes())
        except (OSError, UnicodeDecodeError):
            return ""

    @staticmethod
    def _write(path: Path, content: bytes) -> None:
        # The old file may be linked from elsewhere, and runners compare times of change.
        path.unlink(missing_ok=True)
        path.write_bytes(content)

    def _copy(self) -> None:
        size = count = 0
        for place, directories, files in os.walk(self._from):
            target = self.root / Path(place).relative_to(self._from)
            target.mkdir(parents=True, exist_ok=True)
            for name in [*directories]:
                source = Path(place, name)
                if name == _MODULES or source.is_symlink():
                    directories.remove(name)
                    if name == _MODULES or _is_inside(source, self._from):
                        link = source.resolve() if name == _MODULES else source.readlink()
                        (target / name).symlink_to(link, target_is_directory=True)
                elif name in _LEFT_OUT:
                    directories.remove(name)
            for name in files:
                source = Path(place, name)
                with contextlib.suppress(OSError):
                    if source.is_symlink() and name != _MODULES:
                        (target / name).symlink_to(source.readlink())
                        continue
                    if name == _MODULES:
                        (target / name).symlink_to(source.resolve(), target_is_directory=True)
                        continue
                    size += source.stat().st_size
                    shutil.copy2(source, target / name)
                count += 1
            if size > _MOST_BYTES or count > _MOST_FILES:
                raise TooLarge("the project is too large to copy")


def _is_inside(path: Path, root: Path) -> bool:
    return path.resolve().is_relative_to(root.resolve())
