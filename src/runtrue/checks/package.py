"""package.json: what a JavaScript project says of itself."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Package:
    """The parts of a package.json that say how its tests are run."""

    scripts: dict[str, str] = field(default_factory=dict)
    dependencies: frozenset[str] = frozenset()
    #: The names of all settings at the top, among which tools have theirs.
    settings: frozenset[str] = frozenset()

    @classmethod
    def read(cls, directory: Path) -> Package:
        """The package in a directory; an empty one where there is none that can be read."""
        try:
            value = json.loads((directory / "package.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return cls()
        if not isinstance(value, dict):
            return cls()
        scripts = _table(value, "scripts")
        kinds = ("dependencies", "devDependencies")
        return cls(
            scripts={name: line for name, line in scripts.items() if isinstance(line, str)},
            dependencies=frozenset(name for kind in kinds for name in _table(value, kind)),
            settings=frozenset(value),
        )


def _table(value: dict[str, Any], key: str) -> dict[str, Any]:
    table = value.get(key)
    return table if isinstance(table, dict) else {}
