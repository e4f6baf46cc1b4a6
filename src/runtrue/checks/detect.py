"""Detection: the checks that a project already has, from its own configuration."""

from __future__ import annotations

import configparser
import os
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtrue.checks.check import CommandCheck


@dataclass(frozen=True, slots=True)
class Detected:
    """A check that was found, and what gave it away."""

    check: CommandCheck
    because: str


def detect_checks(project: Path) -> list[Detected]:
    """The checks of a project: tests first, then types, then lint."""
    return [*_pytest(project), *_mypy(project), *_ruff(project)]


def _pytest(project: Path) -> Iterator[Detected]:
    files = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini")
    because = _configured(project, "pytest", files, ("pytest", "tool:pytest"))
    because = because or _first_test(project)
    if because:
        yield Detected(
            CommandCheck(name="pytest", command=f"{_python(project)} -m pytest -q"), because
        )


def _python(project: Path) -> str:
    """The project's own interpreter, else the one on PATH, which Debian calls only `python3`."""
    places = [project / name / "bin" for name in (".venv", "venv")]
    path = os.pathsep.join([*map(str, places), os.environ.get("PATH", os.defpath)])
    return (
        "python" if shutil.which("python", path=path) or not shutil.which("python3") else "python3"
    )


def _mypy(project: Path) -> Iterator[Detected]:
    because = _configured(project, "mypy", ("mypy.ini", ".mypy.ini"), ("mypy",))
    if because:
        yield Detected(CommandCheck(name="mypy", command=f"mypy{_mypy_target(project)}"), because)


def _mypy_target(project: Path) -> str:
    section = _tools(project).get("mypy")
    parser = _ini(project, "mypy.ini", ".mypy.ini", "setup.cfg")
    named = {*(section if isinstance(section, dict) else ())}
    named |= {*(parser["mypy"] if parser.has_section("mypy") else ())}
    return " ." if named.isdisjoint(("files", "packages", "modules")) else ""


def _ruff(project: Path) -> Iterator[Detected]:
    because = _configured(project, "ruff", ("ruff.toml", ".ruff.toml"), ())
    if because:
        yield Detected(CommandCheck(name="ruff", command="ruff check ."), because)


def _configured(
    project: Path, tool: str, files: tuple[str, ...], sections: tuple[str, ...]
) -> str | None:
    """Which configuration of the project's names the tool."""
    for file in files:
        if (project / file).is_file():
            return file
    if tool in _tools(project):
        return f"[tool.{tool}] in pyproject.toml"
    for file in ("setup.cfg", "tox.ini"):
        parser = _ini(project, file)
        for section in sections:
            if parser.has_section(section):
                return f"[{section}] in {file}"
    return None


def _first_test(project: Path) -> str | None:
    """A test file of pytest's kind, looked for where projects have them."""
    for pattern in ("test_*.py", "*_test.py", "tests/**/test_*.py", "test/**/test_*.py"):
        for file in sorted(project.glob(pattern)):
            return file.relative_to(project).as_posix()
    return None


def _tools(project: Path) -> dict[str, Any]:
    """The table `tool` of pyproject.toml."""
    try:
        text = (project / "pyproject.toml").read_text(encoding="utf-8")
        tools = tomllib.loads(text).get("tool")
    except (OSError, ValueError):
        return {}
    return tools if isinstance(tools, dict) else {}


def _ini(project: Path, *files: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    for file in files:
        try:
            parser.read(project / file, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue
    return parser
