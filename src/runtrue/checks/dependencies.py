"""Dependencies that a Python project declares."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runtrue.settings_file import lenient_text, read_settings, subtable


def is_declared(module: str, directory: Path) -> bool:
    """Return whether the project in `directory` declares a dependency that provides `module`.

    Distribution names and module names differ in known ways (`PyYAML` is `yaml`), so a module
    counts as declared when its name is, or is a part of, the name of a declared distribution.
    """
    wanted = _normalised(module.partition(".")[0])
    names = {_normalised(requirement) for requirement in _requirements(directory)}
    return any(wanted == name or (len(wanted) > 3 and wanted in name) for name in names)


def _requirements(directory: Path) -> Iterator[str]:
    config = read_settings(directory / "pyproject.toml")
    project = subtable(config, "project")
    yield from _strings(project.get("dependencies"))
    yield from _strings(project.get("optional-dependencies"))
    yield from _strings(config.get("dependency-groups"))
    poetry = subtable(config, "tool", "poetry")
    for holder in (poetry, *subtable(poetry, "group").values()):
        yield from subtable(holder, "dependencies")
    for file in sorted(directory.glob("requirements*.txt")):
        lines = lenient_text(file).splitlines()
        yield from (line for line in lines if line.strip() and line[0] not in "#-")


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def _normalised(requirement: str) -> str:
    name = re.match(r"\s*([A-Za-z0-9._-]+)", requirement)
    return re.sub(r"[-_.]+", "", name[1]).lower() if name else ""
