"""Go modules: where in the project a package lies, and in which file one of its tests."""

from __future__ import annotations

import re
from pathlib import Path

from runtrue.checks.places import Place, files_below, relative
from runtrue.loop import Workplace

_FUNCTION = re.compile(r"^func (?P<name>(?:Test|Fuzz|Example|Benchmark)\w*)\(", re.MULTILINE)
_MODULE = re.compile(r"^module\s+\"?([^\s\"]+)", re.MULTILINE)


class Modules:
    """Where packages and their tests lie: Go's tools name packages by their import paths."""

    def __init__(self, workplace: Workplace) -> None:
        self.workplace = workplace
        above = (workplace.directory, *workplace.directory.parents)
        inside = [d for d in above if d.is_relative_to(workplace.root)]
        below = [file for file in files_below(workplace.directory) if file.name == "go.mod"]
        files = [*below, *(directory / "go.mod" for directory in inside)]
        self._modules = {}
        for file in files:
            try:
                module = _MODULE.search(file.read_text(encoding="utf-8", errors="replace"))
            except OSError:
                continue
            if module:
                self._modules[module[1]] = file.parent
        self._tests: dict[Path, dict[str, str]] = {}

    def directory(self, package: str) -> Path | None:
        """The directory of a package."""
        for module in sorted(self._modules, key=len, reverse=True):
            if package == module or package.startswith(f"{module}/"):
                return self._modules[module] / package[len(module) :].lstrip("/")
        return None

    def place(self, package: str, file: str, line: int | None = None) -> Place | None:
        """A line in a file of a package."""
        directory = self.directory(package)
        name = relative(str(directory / file), self.workplace) if directory else None
        return Place(name, line) if name else None

    def file(self, package: str, test: str = "") -> str | None:
        """The file that a test is written in; the directory where no test is named."""
        directory = self.directory(package)
        if directory is None:
            return None
        if not test:
            return relative(str(directory), self.workplace)
        if directory not in self._tests:
            self._tests[directory] = {
                match["name"]: file.name
                for file in sorted(directory.glob("*_test.go"))
                for match in _FUNCTION.finditer(file.read_text(encoding="utf-8", errors="replace"))
            }
        name = self._tests[directory].get(test)
        place = self.place(package, name) if name else None
        return place.file if place else None
