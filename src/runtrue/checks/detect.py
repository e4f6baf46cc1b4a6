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
from runtrue.checks.framework import Framework, framework_of
from runtrue.checks.package import Package
from runtrue.checks.places import files_below

#: What `npm init` writes where there is no test yet.
_NO_TEST = 'echo "Error: no test specified" && exit 1'
#: The lock file of each package manager other than npm.
_LOCKS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn"}
#: JavaScript's runners: the beginnings of their configuration files, and how they are run once.
_RUNNERS = {
    "vitest": (("vitest.config.", "vitest.workspace."), "vitest run"),
    "jest": (("jest.config.",), "jest"),
    "mocha": ((".mocharc.",), "mocha"),
}


@dataclass(frozen=True, slots=True)
class Detected:
    """A check that was found, and what gave it away."""

    check: CommandCheck
    because: str


def detect_checks(project: Path) -> list[Detected]:
    """The checks of a project: tests first, then types, then lint."""
    tests = (_pytest, _javascript, _go, _cargo, _java)
    return [found for find in (*tests, _mypy, _ruff) for found in find(project)]


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


def _javascript(project: Path) -> Iterator[Detected]:
    """The project's own script, else a runner that it has settings for or depends on."""
    package = Package.read(project)
    if package.scripts.get("test", _NO_TEST) != _NO_TEST:
        manager = next((m for lock, m in _LOCKS.items() if (project / lock).is_file()), "npm")
        command = f"{manager} test"
        framework = framework_of(command, project)
        name = f"{manager}-test" if framework is Framework.OTHER else framework.value
        yield Detected(
            CommandCheck(name=name, command=command), 'the script "test" in package.json'
        )
        return
    for tool, (beginnings, command) in _RUNNERS.items():
        names = sorted(path.name for path in project.iterdir()) if project.is_dir() else []
        because = next((name for name in names if name.startswith(beginnings)), None)
        if because is None and tool in package.settings | package.dependencies:
            because = f'"{tool}" in package.json'
        if because:
            yield Detected(CommandCheck(name=tool, command=f"npx --no-install {command}"), because)


def _go(project: Path) -> Iterator[Detected]:
    if not (project / "go.mod").is_file():
        return
    if any(file.name.endswith("_test.go") for file in files_below(project)):
        yield Detected(
            CommandCheck(name=Framework.GO_TEST.value, command="go test ./..."), "go.mod"
        )


def _cargo(project: Path) -> Iterator[Detected]:
    if (project / "Cargo.toml").is_file():
        check = CommandCheck(name=Framework.CARGO_TEST.value, command="cargo test")
        yield Detected(check, "Cargo.toml")


def _java(project: Path) -> Iterator[Detected]:
    """Maven or Gradle; a project's own copy of it comes before the one on PATH."""
    builders = (
        ("pom.xml", "mvn", "mvnw", "-B test"),
        ("build.gradle", "gradle", "gradlew", "test"),
        ("build.gradle.kts", "gradle", "gradlew", "test"),
    )
    for file, program, own, arguments in builders:
        if (project / file).is_file():
            start = f"./{own}" if (project / own).is_file() else program
            check = CommandCheck(name=Framework.JUNIT.value, command=f"{start} {arguments}")
            yield Detected(check, file)
            return


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
