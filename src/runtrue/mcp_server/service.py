"""What a server offers: which program it runs, and the directories that it may work in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtrue.errors import UsageError
from runtrue.foreign_text import visible_name
from runtrue.workflow import ROOTS

_SUFFIXES = frozenset({".json", ".yaml", ".yml"})
#: No name of a file is longer; a text is.
_LONGEST = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The settings of a server."""

    #: The words that start runtrue.
    program: tuple[str, ...]
    #: Projects lie in or below these directories; the first is the default. At least one.
    roots: tuple[Path, ...]
    #: The JSON Schema of each report, by the name of its class.
    schemas: Mapping[str, Mapping[str, Any]]
    #: Publish each saved workflow as a tool of its own.
    workflows: bool = False

    def directory(self, path: str) -> Path:
        """Return the directory that a call names, or the first root.

        Raises UsageError where it is no directory, or in none of the roots.
        """
        found = (self.roots[0] / path).resolve()
        shown = visible_name(path)
        if not any(found.is_relative_to(root) for root in self.roots):
            roots = ", ".join(map(str, self.roots))
            raise UsageError(
                f"{shown} is outside the directories that this server may use ({roots}); "
                "start it with --root DIR to add one"
            )
        if not found.is_dir():
            raise UsageError(f"there is no directory {shown}")
        return found

    def demand_inside(self, file: str, directory: Path) -> None:
        """Raise UsageError for a file of a call that is in none of the roots.

        Also by a link; a name that is no file is left to the command.
        """
        try:
            found = (directory / file).resolve() if self.is_file(file, directory) else directory
        except (OSError, RuntimeError):
            return
        if not any(found.is_relative_to(root) for root in self.roots):
            raise UsageError(
                f"{visible_name(file)} is outside the directories that this server may use; "
                "start it with --root DIR to add one"
            )

    def is_file(self, name: str, directory: Path) -> bool:
        """True for a name that `runtrue run` would take for a file, and not for a saved one."""
        if "\0" in name or len(name) > _LONGEST:
            return False
        path = directory / name
        try:
            return "/" in name or path.suffix in _SUFFIXES or path.exists()
        except OSError:
            return False

    @property
    def environment(self) -> dict[str, str]:
        """The variables of commands: files that a call names are reached in the roots alone."""
        return {**os.environ, ROOTS: os.pathsep.join(map(str, self.roots))}

    def output_schema(self, report: str) -> dict[str, Any]:
        """Return the JSON Schema of a report; the protocol wants the type beside the reference."""
        return {**self.schemas[report], "type": "object"}
