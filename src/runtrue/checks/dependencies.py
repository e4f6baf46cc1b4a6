"""What a Python project declares that it needs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def is_declared(module: str, directory: Path) -> bool:
    """Whether the project in `directory` declares a dependency that would provide `module`.

    Distribution names and module names differ in known ways (`PyYAML` is `yaml`), so a module
    counts as declared when its name is, or is a part of, the name of a declared distribution.
    """
    wanted = _normalised(module.partition(".")[0])
    names = {_normalised(requirement) for requirement in _requirements(directory)}
    return any(wanted == name or (len(wanted) > 3 and wanted in name) for name in names)


def _requirements(directory: Path) -> Iterator[str]:
    try:
        config = tomllib.loads((directory / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        config = {}
    project = _table(config, "project")
    yield from _strings(project.get("dependencies"))
    yield from _strings(project.get("optional-dependencies"))
    yield from _strings(config.get("dependency-groups"))
    poetry = _table(config, "tool", "poetry")
    groups = _table(poetry, "group")
    for holder in (poetry, *(_table(groups, name) for name in groups)):
        yield from _table(holder, "dependencies")
    for file in sorted(directory.glob("requirements*.txt")):
        try:
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        yield from (line for line in lines if line.strip() and line[0] not in "#-")


def _table(table: Any, *keys: str) -> dict[str, Any]:
    """A table within a table; an empty one where there is none."""
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else {}


def _strings(value: Any) -> Iterator[str]:
    """All strings in nested lists and tables of requirements."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _normalised(requirement: str) -> str:
    name = re.match(r"\s*([A-Za-z0-9._-]+)", requirement)
    return re.sub(r"[-_.]+", "", name[1]).lower() if name else ""
