"""Placing: a candidate on the disk for the time of a trial, and all as it was afterwards."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from runtrue.encoding import encoded

#: What runs leave behind and nobody minds, and where the code of others is.
_CACHES = frozenset(
    {"__pycache__", ".pytest_cache", ".hypothesis", ".git", ".tox", ".nox", "node_modules"}
)
#: How much is remembered of one file, and of all.
_LARGEST, _IN_ALL = 1024 * 1024, 64 * 1024 * 1024


class Placing:
    """The files of a project, some of which are another's for a while."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._before = set(self._listed())
        self._kept: dict[Path, tuple[bytes, int]] = {}
        self._size = 0
        self._times = 0

    @contextlib.contextmanager
    def placed(self, texts: Mapping[str, str]) -> Iterator[None]:
        """Have some files on the disk as a candidate has them."""
        with contextlib.ExitStack() as stack:
            for name, text in texts.items():
                path = self._root / name
                try:
                    old, state = path.read_bytes(), path.stat()
                except FileNotFoundError:
                    stack.callback(path.unlink, missing_ok=True)
                    path.write_bytes(encoded(text))
                    continue
                stack.callback(_put_back, path, old, state.st_atime_ns, state.st_mtime_ns)
                path.write_bytes(encoded(text))
                # Compiled files go by seconds and size: no two candidates share both.
                self._times += 1
                later = int(state.st_mtime) + 10 + self._times
                os.utime(path, (later, later))
            yield

    def state(self) -> dict[Path, tuple[int, int]]:
        """What tells whether any file has changed: its size, and when it was last written."""
        states: dict[Path, tuple[int, int]] = {}
        for path in self._listed():
            with contextlib.suppress(FileNotFoundError):
                found = path.lstat()
                if not stat.S_ISDIR(found.st_mode):
                    states[path] = found.st_size, found.st_mtime_ns
        return states

    def keep(self, written: Iterable[str | Path]) -> None:
        """Remember what files are like that are written, so that they can be made so again."""
        for path in map(Path, written):
            if path in self._kept or path not in self._before or not path.is_file():
                continue
            state = path.stat()
            if state.st_size <= min(_LARGEST, _IN_ALL - self._size):
                self._kept[path] = path.read_bytes(), state.st_mtime_ns
                self._size += state.st_size

    def keep_all(self) -> None:
        """Remember all files: it is not seen which of them are written."""
        self.keep(sorted(self._before))

    def can_restore(self, name: str) -> bool:
        """Whether a file is made as it was, or removed, when all is tidied."""
        return Path(name) in self._kept or Path(name) not in self._before

    def tidy(self) -> None:
        """Remove what was not there before, and make as they were the files that are kept."""
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


def _put_back(path: Path, content: bytes, accessed: int, modified: int) -> None:
    path.write_bytes(content)
    os.utime(path, ns=(accessed, modified))
