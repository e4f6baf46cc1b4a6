"""Scripts in pyproject.toml: those of hatch, pdm, poe, taskipy and rye."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from runtrue.checks.recipes.recipe import (
    UNKNOWN,
    Group,
    Recipe,
    by_test_name,
    line_from,
    line_of,
    substitute,
    text_of,
)
from runtrue.settings_file import read_settings, subtable

_FILE = "pyproject.toml"
#: `{args:tests}` of hatch and pdm.
_BRACES = re.compile(r"\{([^{}]*)\}")
#: The keys under which a task holds its command, and those under which it holds several.
_COMMANDS = ("cmd", "shell")
_LISTS = ("composite", "chain", "sequence")
#: Tasks that call tasks: further down than this is a circle.
_DEPTH = 5


def recipes_of_scripts(project: Path) -> Iterator[Group]:
    """Yield what the scripts that are named after tests run."""
    tool = subtable(read_settings(project / _FILE), "tool")
    text = text_of(project / _FILE)
    for header, scripts, env in _tables(tool):
        table = _Table(header, scripts, env, text)
        for name in by_test_name(scripts):
            yield tuple(table.recipes(name))


def _tables(tool: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any], dict[str, str]]]:
    environments = subtable(tool, "hatch", "envs")
    first = ("default", "hatch-test", "test", "tests")
    ordered = dict.fromkeys([*(name for name in first if name in environments), *environments])
    for name in ordered:
        env = _texts(subtable(environments, name, "env-vars"))
        yield f"tool.hatch.envs.{name}.scripts", subtable(environments, name, "scripts"), env
    pdm = subtable(tool, "pdm", "scripts")
    yield "tool.pdm.scripts", pdm, _texts(subtable(pdm, "_", "env"))
    yield "tool.poe.tasks", subtable(tool, "poe", "tasks"), _texts(subtable(tool, "poe", "env"))
    yield "tool.taskipy.tasks", subtable(tool, "taskipy", "tasks"), {}
    yield "tool.rye.scripts", subtable(tool, "rye", "scripts"), {}


def _texts(table: Mapping[str, Any]) -> dict[str, str]:
    return {name: value for name, value in table.items() if isinstance(value, str)}


class _Table:
    """The scripts of one tool."""

    def __init__(
        self, header: str, scripts: dict[str, Any], env: dict[str, str], text: str
    ) -> None:
        self._header = header
        self._scripts = scripts
        self._env = env
        self._text = text

    def recipes(self, name: str, depth: int = 0) -> Iterator[Recipe]:
        if depth <= _DEPTH:
            yield from self._of(self._scripts.get(name), name, self._env, ".", depth)

    def _of(
        self, task: Any, name: str, env: dict[str, str], directory: str, depth: int
    ) -> Iterator[Recipe]:
        match task:
            case str(line):
                first, _, _ = line.partition(" ")
                if first in self._scripts and first != name:
                    yield from self.recipes(first, depth + 1)
                    return
                yield Recipe(
                    line=_resolved(line), where=self._where(name), env=env, directory=directory
                )
            case list(lines):
                # A list is one command in rye, and in others several.
                is_one = self._header.startswith("tool.rye")
                for line in [line_from(map(str, lines))] if is_one else lines:
                    yield from self._of(line, name, env, directory, depth)
            case dict():
                env = {**env, **_texts(subtable(task, "env"))}
                inside = task.get("cwd", task.get("working_dir", directory))
                directory = _resolved(inside) if isinstance(inside, str) else UNKNOWN
                for key in (*_COMMANDS, *_LISTS):
                    if key in task:
                        yield from self._of(task[key], name, env, directory, depth)

    def _where(self, name: str) -> str:
        line = line_of(self._text, f"[{self._header}", f"\n{name}")
        return f"{_FILE}:{line} [{self._header}] {name}"


def _resolved(line: str) -> str:
    def value(match: re.Match[str]) -> str:
        name, _, default = match[1].partition(":")
        if name in ("args", "posargs"):
            return default
        return "." if name in ("root", "POE_ROOT", "PDM_PROJECT_ROOT") else UNKNOWN

    return substitute(re.sub(r"\$\{?(POE_ROOT|PDM_PROJECT_ROOT)\}?", ".", line), _BRACES, value)
