"""Detect the checks of a project from its own configuration."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runtrue.checks.check import CommandCheck
from runtrue.checks.framework import Framework, framework_of
from runtrue.checks.locations import files_below
from runtrue.checks.reach import scripts_of
from runtrue.config import CheckConfig, Config
from runtrue.settings_file import read_settings, subtable

#: The script that `npm init` writes for a project without tests.
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
    """A check that was found, and the reason for it."""

    check: CommandCheck
    because: str


def detect_checks(project: Path) -> list[Detected]:
    """Return the checks of a project: tests first, then types, then lint."""
    tests = (_pytest, _javascript, _go, _cargo, _java)
    return [
        Detected(CommandCheck(name=name, command=command), because)
        for find in (*tests, _mypy, _ruff)
        for name, command, because in find(project)
    ]


def own_checks(project: Path, config: Config) -> dict[str, CheckConfig]:
    """Return the configured checks by name; if there are none, the detected ones."""
    if config.checks:
        return dict(config.checks)
    found = [detected.check for detected in detect_checks(project)]
    return {check.name: CheckConfig(command=check.command) for check in found}


#: The name, the command and the reason for a check.
_Found = Iterator[tuple[str, str, str]]


def _pytest(project: Path) -> _Found:
    files = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini")
    because = _configured(project, "pytest", files, ("pytest", "tool:pytest"))
    because = because or _first_test(project)
    if because:
        yield "pytest", f"{_python(project)} -m pytest -q", because


def _python(project: Path) -> str:
    """Return the name of the interpreter that runs the project; Debian has only `python3`."""
    own = [str(project / name / "bin") for name in (".venv", "venv")]
    path = os.pathsep.join([*own, os.environ.get("PATH", os.defpath)])
    return (
        "python" if shutil.which("python", path=path) or not shutil.which("python3") else "python3"
    )


def _javascript(project: Path) -> _Found:
    """Find the project's own script, else a runner that it has settings for or depends on."""
    if scripts_of(project).get("test", _NO_TEST) != _NO_TEST:
        manager = next((m for lock, m in _LOCKS.items() if (project / lock).is_file()), "npm")
        command = f"{manager} test"
        framework = framework_of(command, project)
        name = f"{manager}-test" if framework is Framework.OTHER else framework.value
        yield name, command, 'the script "test" in package.json'
        return
    package = read_settings(project / "package.json")
    known = {*package, *subtable(package, "dependencies"), *subtable(package, "devDependencies")}
    for tool, (beginnings, command) in _RUNNERS.items():
        names = sorted(path.name for path in project.iterdir()) if project.is_dir() else []
        because = next((name for name in names if name.startswith(beginnings)), None)
        if because is None and tool in known:
            because = f'"{tool}" in package.json'
        if because:
            yield tool, f"npx --no-install {command}", because


def _go(project: Path) -> _Found:
    if not (project / "go.mod").is_file():
        return
    if any(file.name.endswith("_test.go") for file in files_below(project)):
        yield Framework.GO_TEST.value, "go test ./...", "go.mod"


def _cargo(project: Path) -> _Found:
    if (project / "Cargo.toml").is_file():
        yield Framework.CARGO_TEST.value, "cargo test", "Cargo.toml"


def _java(project: Path) -> _Found:
    """Find Maven or Gradle; a project's own copy comes before the one on PATH."""
    builders = (
        ("pom.xml", "mvn", "mvnw", "-B test"),
        ("build.gradle", "gradle", "gradlew", "test"),
        ("build.gradle.kts", "gradle", "gradlew", "test"),
    )
    for file, program, own, arguments in builders:
        if (project / file).is_file():
            start = f"./{own}" if (project / own).is_file() else program
            yield Framework.JUNIT.value, f"{start} {arguments}", file
            return


def _mypy(project: Path) -> _Found:
    because = _configured(project, "mypy", ("mypy.ini", ".mypy.ini"), ("mypy",))
    if because:
        yield "mypy", f"mypy{_mypy_target(project)}", because


def _mypy_target(project: Path) -> str:
    tables = [subtable(read_settings(project / "pyproject.toml"), "tool", "mypy")]
    files = ("mypy.ini", ".mypy.ini", "setup.cfg")
    tables += [subtable(read_settings(project / file), "mypy") for file in files]
    named = {key for table in tables for key in table}
    return " ." if named.isdisjoint(("files", "packages", "modules")) else ""


def _ruff(project: Path) -> _Found:
    because = _configured(project, "ruff", ("ruff.toml", ".ruff.toml"), ())
    if because:
        yield "ruff", "ruff check .", because


def _configured(
    project: Path, tool: str, files: tuple[str, ...], sections: tuple[str, ...]
) -> str | None:
    for file in files:
        if (project / file).is_file():
            return file
    if tool in subtable(read_settings(project / "pyproject.toml"), "tool"):
        return f"[tool.{tool}] in pyproject.toml"
    for file in ("setup.cfg", "tox.ini"):
        found = read_settings(project / file)
        for section in sections:
            if section in found:
                return f"[{section}] in {file}"
    return None


def _first_test(project: Path) -> str | None:
    for pattern in ("test_*.py", "*_test.py", "tests/**/test_*.py", "test/**/test_*.py"):
        for file in sorted(project.glob(pattern)):
            return file.relative_to(project).as_posix()
    return None
