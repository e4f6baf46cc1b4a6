"""Watch judges: tests and their settings must not change while they judge."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from runtrue.checks.locations import INSTALLED, State, relative, state_of
from runtrue.loop import Location, Workplace
from runtrue.sandbox import is_judge

#: Directories of a project that hold the code of others, or what running it has left.
_NOT_OWN = INSTALLED | frozenset(
    {
        *("vendor", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"),
        # What compilers write, tests too, before they are run.
        *("target", "dist", "build", "out", "coverage"),
    }
)
_PROGRAMS = (
    *(".py", ".go", ".rs", ".java", ".kt", ".sh", ".rb"),
    *(".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"),
)
#: Words of a command that is meant to write into programs, tests among them.
_FORMATTING = re.compile(r"\b(format|fmt|gofmt|black|isort|prettier|autopep8)\b|--(fix|write)\b")
#: Of settings, what tools write all the time, and no check of the same run reads again.
_WRITTEN = frozenset({".gitignore", ".ignore", ".coveragerc", ".gitattributes"})
#: Files that pytest and Python look for in every directory, however late.
_LOOKED_FOR = ("conftest.py", "sitecustomize.py", "usercustomize.py", "pytest.py", "_pytest.py")


class JudgeWatch:
    """The judges in a directory as they were before a command ran."""

    def __init__(self, directory: Path, argv: Sequence[str]) -> None:
        self._directory = directory
        self._is_meant = any(_FORMATTING.search(word) for word in argv)
        self._before = _judges(directory)
        #: The judges that existed before, relative to the root; set by `written`.
        self.files: frozenset[str] = frozenset()

    def written(self, workplace: Workplace) -> list[tuple[str, Location]]:
        """Return what was written or made since, as messages and locations.

        Nobody can write a file and set back its time of change.
        """
        names = {file: relative(file, workplace) or file for file in self._before}
        self.files = frozenset(names.values())
        found = [
            (f"{name} was changed while the tests ran", Location(file=name))
            for file, name in names.items()
            if not self._is_meant and state_of(Path(file)) != self._before[file]
        ]
        for file in _judges(self._directory):
            if file not in self._before and Path(file).name in _LOOKED_FOR:
                name = relative(file, workplace) or file
                found.append((f"{name} was created while the tests ran", Location(file=name)))
        return found


def _judges(directory: Path) -> dict[str, State]:
    """Return the programs and settings among the judges: tests write other files."""
    found: dict[str, State] = {}
    top = str(directory)
    for parent, directories, files in os.walk(top):
        directories[:] = [name for name in directories if name not in _NOT_OWN]
        inside = os.path.relpath(parent, top)
        for name in files:
            if _decides(name, inside):
                file = os.path.join(parent, name)  # noqa: PTH118 - there may be very many
                if state := state_of(Path(file)):
                    found[file] = state
    return found


def _decides(name: str, directory: str) -> bool:
    if is_judge(name) or name == "package.json":
        return name not in _WRITTEN
    return name.endswith(_PROGRAMS) and is_judge(f"{directory}/{name}")
