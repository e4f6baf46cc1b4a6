"""Go modules: the directories of packages, and the files of their tests."""

from __future__ import annotations

import re
from pathlib import Path

from runtrue.checks.locations import files_below, relative
from runtrue.loop import Workplace
from runtrue.settings_file import lenient_text

_FUNCTION = re.compile(r"^func (?P<name>(?:Test|Fuzz|Example|Benchmark)\w*)\(", re.MULTILINE)
_MODULE = re.compile(r"^module\s+\"?([^\s\"]+)", re.MULTILINE)


class Modules:
    """The project's packages, which Go's tools name by their import paths."""

    def __init__(self, workplace: Workplace) -> None:
        self.workplace = workplace
        above = (workplace.directory, *workplace.directory.parents)
        inside = [d for d in above if d.is_relative_to(workplace.root)]
        below = [file for file in files_below(workplace.directory) if file.name == "go.mod"]
        self._modules = {}
        for file in (*below, *(directory / "go.mod" for directory in inside)):
            if module := _MODULE.search(lenient_text(file)):
                self._modules[module[1]] = file.parent
        self._tests: dict[Path, dict[str, str]] = {}

    def _directory(self, package: str) -> Path | None:
        for module in sorted(self._modules, key=len, reverse=True):
            if package == module or package.startswith(f"{module}/"):
                return self._modules[module] / package[len(module) :].lstrip("/")
        return None

    def path(self, package: str, file: str = "") -> str | None:
        """Return the path of a file of a package, or of its directory, relative to the root."""
        directory = self._directory(package)
        return relative(str(directory / file), self.workplace) if directory else None

    def file_of_test(self, package: str, test: str) -> str | None:
        """Return the file that a test is written in."""
        directory = self._directory(package)
        if directory is None:
            return None
        if directory not in self._tests:
            self._tests[directory] = {
                match["name"]: file.name
                for file in sorted(directory.glob("*_test.go"))
                for match in _FUNCTION.finditer(file.read_text(encoding="utf-8", errors="replace"))
            }
        name = self._tests[directory].get(test)
        return self.path(package, name) if name else None
