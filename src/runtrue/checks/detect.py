"""Detect the checks of a project from its own files.

How a project runs its tests itself comes first (`recipes`), then what its files look like. A
repository of several packages has the checks of each, in the package's directory.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from runtrue.checks.check import CommandCheck
from runtrue.checks.framework import Framework, Language, language_of
from runtrue.checks.javascript_tests import delegates, javascript_tests
from runtrue.checks.locations import files_below
from runtrue.checks.own_command import OwnCommand
from runtrue.checks.packages import nested_packages, workspace_members
from runtrue.checks.python_tests import MANIFESTS, SCRIPTS, own_tests, python_tests
from runtrue.checks.tool_settings import configured
from runtrue.config import CheckConfig, Config
from runtrue.settings_file import read_settings, subtable

#: The directories in which tests are kept, beside what they test.
_TEST_DIRECTORIES = ("tests", "test")
#: Names of code that says how tests are run.
_DEFINING = re.compile(
    "|".join(map(re.escape, (*MANIFESTS, *SCRIPTS))) + r"|.+\.config\.\w+|\.\w+rc\.\w+"
)


@dataclass(frozen=True, slots=True)
class Detected:
    """A check that was found, and the file and line that it was found by."""

    check: CommandCheck
    because: str

    @property
    def config(self) -> CheckConfig:
        """The check as `[checks.NAME]` would configure it."""
        check = self.check
        return CheckConfig(command=check.command, env=check.env, directory=check.directory)


def detect_checks(project: Path) -> list[Detected]:
    """Return the checks of a project: tests first, then types, then lint."""
    tests = [*_python(project)]
    for language in (_javascript, _go, _cargo, _java):
        tests += language(project, bool(tests))
    names: dict[str, int] = {}
    detected = []
    for found in (*tests, *_static(project)):
        where = re.sub(r"[^\w.]+", "-", found.directory).strip("-.")
        name = f"{found.name}-{where}" if where else found.name
        number = names[name] = names.get(name, 0) + 1
        check = CommandCheck(
            name=name if number == 1 else f"{name}-{number}",
            command=found.command,
            env=found.env,
            directory=found.directory,
        )
        detected.append(Detected(check, found.because))
    return detected


def own_checks(project: Path, config: Config) -> dict[str, CheckConfig]:
    """Return the configured checks by name; if there are none, the detected ones."""
    if config.checks:
        return dict(config.checks)
    return {detected.check.name: detected.config for detected in detect_checks(project)}


def may_define_checks(file: str) -> bool:
    """True if a file may say how tests are run: any but code, unless that is named after it."""
    name = PurePosixPath(file).name
    return language_of(file) is Language.OTHER or _DEFINING.fullmatch(name) is not None


def _in(
    project: Path, places: Iterable[Path], find: Callable[[Path], Sequence[OwnCommand]]
) -> Iterator[OwnCommand]:
    """Yield what is found in some directories, as seen from the project."""
    for place in places:
        where = place.relative_to(project)
        for found in find(place):
            file = "" if place == project else f"{where.as_posix()}/"
            yield replace(
                found,
                directory=(where / found.directory).as_posix(),
                because=f"{file}{found.because}",
            )


# -- tests --------------------------------------------------------------------------------------


def _python(project: Path) -> Iterator[OwnCommand]:
    packages = nested_packages(project, MANIFESTS)
    if not packages and not any((project / name).is_file() for name in MANIFESTS):
        packages = _loose_packages(project)
    root = python_tests(project, project, packages)
    yield from root
    if not any(found.is_whole for found in root):
        yield from _in(project, packages, lambda place: python_tests(project, place))


def _loose_packages(project: Path) -> list[Path]:
    """Return the directories below the root that have tests, where no file says what a package is.

    Tests import what is beside them, or beside their directory.
    """
    places: dict[Path, None] = {}
    for test in own_tests(project):
        parts = test.relative_to(project).parts[:-1]
        depth = next((n for n, part in enumerate(parts) if part in _TEST_DIRECTORIES), len(parts))
        if depth:
            places[project.joinpath(*parts[:depth])] = None
    return [place for place in places if not any(p in places for p in place.parents)]


def _javascript(project: Path, has_others: bool) -> Iterator[OwnCommand]:
    root = javascript_tests(project)
    if root and not delegates(root[0], project):
        yield from root
        return
    # A script that calls that of each package: one check for each can be read.
    members = workspace_members(project) if (project / "package.json").is_file() else []
    inner = [*_in(project, members, javascript_tests)]
    yield from inner or root
    if inner or root:
        return
    nested = nested_packages(project, ("package.json",))
    usable = [place for place in nested if not has_others or _is_installed(place, project)]
    yield from _in(project, usable, javascript_tests)


def _is_installed(package: Path, project: Path) -> bool:
    """True if what a package depends on is there, or it depends on nothing."""
    settings = read_settings(package / "package.json")
    needed = {**subtable(settings, "dependencies"), **subtable(settings, "devDependencies")}
    places = [place for place in (package, *package.parents) if place.is_relative_to(project)]
    return not needed or any((place / "node_modules").is_dir() for place in places)


def _go(project: Path, has_others: bool) -> Iterator[OwnCommand]:
    yield from _at_root_or_below(project, ("go.mod",), "go", _go_tests, has_others)


def _go_tests(directory: Path) -> list[OwnCommand]:
    has_tests = any(file.name.endswith("_test.go") for file in files_below(directory))
    name = Framework.GO_TEST.value
    found = OwnCommand(name=name, command="go test ./...", because="go.mod")
    return [found] if has_tests and (directory / "go.mod").is_file() else []


def _cargo(project: Path, has_others: bool) -> Iterator[OwnCommand]:
    yield from _at_root_or_below(project, ("Cargo.toml",), "cargo", _cargo_tests, has_others)


def _cargo_tests(directory: Path) -> list[OwnCommand]:
    if not (directory / "Cargo.toml").is_file():
        return []
    is_workspace = "workspace" in read_settings(directory / "Cargo.toml")
    command = f"cargo test{' --workspace' if is_workspace else ''}"
    return [OwnCommand(name=Framework.CARGO_TEST.value, command=command, because="Cargo.toml")]


def _java(project: Path, has_others: bool) -> Iterator[OwnCommand]:
    files = ("pom.xml", "build.gradle", "build.gradle.kts")
    yield from _at_root_or_below(project, files, "java", _java_tests, has_others)


def _java_tests(directory: Path) -> list[OwnCommand]:
    """Find Maven or Gradle; a project's own copy comes before the one on PATH."""
    builders = (
        ("pom.xml", "mvn", "mvnw", "-B test"),
        ("build.gradle", "gradle", "gradlew", "test"),
        ("build.gradle.kts", "gradle", "gradlew", "test"),
    )
    for file, program, own, arguments in builders:
        if (directory / file).is_file():
            start = f"./{own}" if (directory / own).is_file() else program
            command = f"{start} {arguments}"
            return [OwnCommand(name=Framework.JUNIT.value, command=command, because=file)]
    return []


def _at_root_or_below(
    project: Path,
    manifests: tuple[str, ...],
    program: str,
    find: Callable[[Path], Sequence[OwnCommand]],
    has_others: bool,
) -> Iterator[OwnCommand]:
    """Yield what is at the root; else what is in packages, if other tests do not suffice."""
    if root := find(project):
        yield from root
    elif not has_others or shutil.which(program):
        yield from _in(project, nested_packages(project, manifests), find)


# -- types and lint -----------------------------------------------------------------------------


def _static(project: Path) -> Iterator[OwnCommand]:
    for find in (_mypy, _ruff):
        found = [*find(project)]
        yield from found or _in(project, nested_packages(project, MANIFESTS), find)


def _mypy(directory: Path) -> list[OwnCommand]:
    because = configured(directory, "mypy", ("mypy.ini", ".mypy.ini"), ("mypy",))
    command = f"mypy{_mypy_target(directory)}"
    return [OwnCommand(name="mypy", command=command, because=because)] if because else []


def _mypy_target(directory: Path) -> str:
    tables = [subtable(read_settings(directory / "pyproject.toml"), "tool", "mypy")]
    files = ("mypy.ini", ".mypy.ini", "setup.cfg")
    tables += [subtable(read_settings(directory / file), "mypy") for file in files]
    named = {key for table in tables for key in table}
    return " ." if named.isdisjoint(("files", "packages", "modules")) else ""


def _ruff(directory: Path) -> list[OwnCommand]:
    because = configured(directory, "ruff", ("ruff.toml", ".ruff.toml"), ())
    found = OwnCommand(name="ruff", command="ruff check .", because=because or "")
    return [found] if because else []
