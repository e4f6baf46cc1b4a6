"""What a server offers: which program it runs, and the directories that it may work in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtrue.errors import UsageError
from runtrue.foreign_text import visible_name


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
                f"{shown} is outside of the directories that this server may use ({roots}); "
                "start it with --root DIR to add one"
            )
        if not found.is_dir():
            raise UsageError(f"there is no directory {shown}")
        return found

    def output_schema(self, report: str) -> dict[str, Any]:
        """Return the JSON Schema of a report; the protocol wants the type beside the reference."""
        return {**self.schemas[report], "type": "object"}
