"""Java sources: the project's file that a class, or a frame of a stack, is written in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain
from pathlib import Path

from runtrue.checks.locations import files_below, relative
from runtrue.loop import Location, Workplace

_FRAME = re.compile(
    r"^\s*at (?:[\w.-]+/)*(?P<method>[\w.$<>]+)\((?P<file>[\w$-]+\.\w+):(?P<line>\d+)\)"
)
_SOURCES = frozenset({".java", ".kt", ".groovy", ".scala"})


class Sources:
    """The project's source files, which Java's reports name by class or by bare name."""

    def __init__(self, workplace: Workplace) -> None:
        self.workplace = workplace

    @cached_property
    def _files(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for file in files_below(self.workplace.directory):
            if file.suffix in _SOURCES and (name := relative(str(file), self.workplace)):
                found.setdefault(file.name, []).append(name)
        return found

    def of_class(self, name: str) -> str | None:
        """Return the file that a class is written in, by the custom that they share a name."""
        top = name.partition("$")[0].replace(".", "/")
        base = top.rpartition("/")[2]
        named = (f"{base}{suffix}" for suffix in _SOURCES)
        return self._best(top, chain.from_iterable(self._files.get(n, ()) for n in named))

    def of_file(self, package: str, name: str) -> str | None:
        """Return the file of a bare name in a package, which is written with slashes."""
        return self._best(f"{package}/{Path(name).stem}", self._files.get(name, ()))

    def frames(self, stack: str) -> Iterator[tuple[str, Location]]:
        """Yield the frames of a stack that are in the project's own files, and where."""
        for line in stack.splitlines():
            if frame := _FRAME.match(line):
                package = frame["method"].rpartition(".")[0].rpartition(".")[0].replace(".", "/")
                if found := self.of_file(package, frame["file"]):
                    yield line, Location(file=found, line=int(frame["line"]))

    @staticmethod
    def _best(path: str, files: Iterable[str]) -> str | None:
        """Return the file that agrees with a path from its end for longest."""

        def agreement(file: str) -> int:
            theirs, ours = (reversed(Path(p).with_suffix("").parts) for p in (file, path))
            same = [a == b for a, b in zip(theirs, ours, strict=False)]
            return same.index(False) if False in same else len(same)

        return max(files, key=agreement, default=None)
