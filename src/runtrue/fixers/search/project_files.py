"""Project files: a candidate on the disk for the time of a trial, and all restored afterwards."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from runtrue.encoding import encoded

#: What runs leave behind without harm, and the code of others.
_CACHES = frozenset(
    {"__pycache__", ".pytest_cache", ".hypothesis", ".git", ".tox", ".nox", "node_modules"}
)
#: The most bytes that are remembered of one file, and of all.
_LARGEST, _IN_ALL = 1024 * 1024, 64 * 1024 * 1024


class ProjectFiles:
    """The files of a project, which candidates and tests change for a while."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._before = set(self._listed())
        self._kept: dict[Path, tuple[bytes, int]] = {}
        self._size = 0
        self._times = 0

    @contextlib.contextmanager
    def with_texts(self, texts: Mapping[str, str]) -> Iterator[None]:
        """Have a candidate's files on the disk."""
        with contextlib.ExitStack() as stack:
            for name, text in texts.items():
                path = self._root / name
                try:
                    old, state = path.read_bytes(), path.stat()
                except FileNotFoundError:
                    stack.callback(path.unlink, missing_ok=True)
                    path.write_bytes(encoded(text))
                    continue
                stack.callback(_restore, path, old, state.st_atime_ns, state.st_mtime_ns)
                path.write_bytes(encoded(text))
                # Compiled files go by seconds and size: no two candidates share both.
                self._times += 1
                later = int(state.st_mtime) + 10 + self._times
                os.utime(path, (later, later))
            yield

    def state(self) -> dict[Path, tuple[int, int]]:
        """Return the size and the time of the last change of each file."""
        states: dict[Path, tuple[int, int]] = {}
        for path in self._listed():
            with contextlib.suppress(FileNotFoundError):
                found = path.lstat()
                if not stat.S_ISDIR(found.st_mode):
                    states[path] = found.st_size, found.st_mtime_ns
        return states

    def keep(self, written: Iterable[str | Path]) -> None:
        """Remember files that are written, to restore them."""
        for path in map(Path, written):
            if path in self._kept or path not in self._before or not path.is_file():
                continue
            state = path.stat()
            if state.st_size <= min(_LARGEST, _IN_ALL - self._size):
                self._kept[path] = path.read_bytes(), state.st_mtime_ns
                self._size += state.st_size

    def keep_all(self) -> None:
        """Remember all files, where it is not known which are written."""
        self.keep(sorted(self._before))

    def can_restore(self, name: str) -> bool:
        """Return whether `tidy` restores or removes a file."""
        return Path(name) in self._kept or Path(name) not in self._before

    def tidy(self) -> None:
        """Remove new files, and restore those that are remembered."""
        for path in sorted(set(self._listed()) - self._before, reverse=True):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        for path, (content, time) in self._kept.items():
            try:
                changed = path.stat().st_mtime_ns != time
            except OSError:
                changed = True
            if changed:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                os.utime(path, ns=(time, time))

    def _listed(self) -> Iterator[Path]:
        for place, directories, files in os.walk(self._root):
            directories[:] = [
                name
                for name in directories
                if name not in _CACHES and not Path(place, name, "pyvenv.cfg").exists()
            ]
            yield from (Path(place, name) for name in (*directories, *files))


def _restore(path: Path, content: bytes, accessed: int, modified: int) -> None:
    path.write_bytes(content)
    os.utime(path, ns=(accessed, modified))
