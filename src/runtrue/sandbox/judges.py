"""Judges: the files that decide about a candidate, which it must not change."""

from __future__ import annotations

import glob
import re
import shlex
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from runtrue.sandbox.baseline_files import BaselineFiles
from runtrue.sandbox.configured_tests import configured_tests
from runtrue.sandbox.judge_closure import judge_closure
from runtrue.sandbox.judge_names import (
    AROUND,
    AT_THE_TOP,
    JAVASCRIPT,
    TEST_DIRECTORIES,
    TESTS,
    is_judge_by_name,
)
from runtrue.sandbox.judge_scripts import JUDGING_NAME, included_patterns
from runtrue.sandbox.judged_parts import DOCTESTS
from runtrue.settings_file import read_settings, subtable

#: Suffixes of code below a directory of tests, and names of files that only prepare tests.
_CODE = frozenset({".py", ".go", ".rs", ".java", *(f".{end}" for end in JAVASCRIPT)})
_PREPARES = re.compile(
    r"(__init__|set_?up(tests)?|tear_?down|helpers?|fixtures?|mod)[._-].*", re.IGNORECASE
)

#: What a runner reads to find out what to run.
_RUNNER_FILES = {
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "just": ("justfile", "Justfile", ".justfile", "*.just"),
    **dict.fromkeys(("npm", "npx", "yarn", "pnpm", "bun"), ("package.json",)),
    "cargo": ("Cargo.toml", "Cargo.lock"),
    "go": ("go.mod", "go.sum", "vendor/*"),
    **dict.fromkeys(("mvn", "mvnw"), ("pom.xml",)),
    **dict.fromkeys(("gradle", "gradlew"), ("gradle/*", "*.gradle", "*.gradle.kts")),
    **dict.fromkeys(("invoke", "inv"), ("tasks.py", "tasks/*", "invoke.y*ml")),
    **dict.fromkeys(("fab", "paver", "waf"), ("fabfile.py", "pavement.py", "wscript")),
    **dict.fromkeys(("scons", "setup.py"), ("SConstruct", "SConscript", "setup.py")),
    **dict.fromkeys(("bazel", "bazelisk"), ("BUILD", "BUILD.bazel", "*.bzl", "WORKSPACE*")),
    **dict.fromkeys(("buck", "buck2", "pants"), ("BUCK", "TARGETS", "pants*.toml", "BUILD")),
    **dict.fromkeys(("uv", "poetry"), ("uv.lock", "poetry.lock", "poetry.toml")),
    **dict.fromkeys(("pdm", "pipenv", "pixi"), ("pdm.lock", "Pipfile", "Pipfile.lock", "pixi.*")),
    **dict.fromkeys(("bundle", "rspec", "rails"), ("Gemfile", "Gemfile.lock", "Rakefile")),
    **dict.fromkeys(("composer", "phpunit", "pest"), ("composer.json", "composer.lock")),
    **dict.fromkeys(("dotnet", "msbuild"), ("*.csproj", "*.fsproj", "*.sln", "*.props")),
    **dict.fromkeys(("mix", "iex"), ("mix.exs", "mix.lock", "test_helper.exs")),
    **dict.fromkeys(("dart", "flutter"), ("pubspec.yaml", "pubspec.lock")),
    **dict.fromkeys(("swift", "xcodebuild"), ("Package.swift", "Package.resolved")),
    **dict.fromkeys(("sbt", "mill"), ("build.sbt", "build.sc", "project/*.sbt")),
    **dict.fromkeys(("stack", "cabal"), ("stack.yaml", "package.yaml", "*.cabal")),
    **dict.fromkeys(("lein", "clj", "clojure"), ("project.clj", "deps.edn", "tests.edn")),
    **dict.fromkeys(("prove", "busted"), ("*.t", "*_spec.lua")),
    **dict.fromkeys(("task", "go-task"), ("Taskfile*.y*ml", "taskfile*.y*ml")),
    **dict.fromkeys(("rake", "doit", "manage.py"), ("Rakefile", "dodo.py", "manage.py")),
    **dict.fromkeys(("cmake", "ctest"), ("CMakeLists.txt", "*.cmake")),
    "meson": ("meson.build", "meson_options.txt"),
}
#: Programs whose files of rules include others.
_RULES = re.compile(r"\b(?:g?make|just)\b")
#: Files that configure the names of pytest's test files, and the tables to look in.
_PYTEST_FILES = {
    **dict.fromkeys(("pytest.toml", ".pytest.toml"), ("pytest",)),
    **dict.fromkeys(("pytest.ini", ".pytest.ini", "tox.ini"), ("pytest",)),
    "pyproject.toml": ("tool", "pytest", "ini_options"),
    "setup.cfg": ("tool:pytest",),
}


def is_judge(file: str, patterns: Iterable[str] = ()) -> bool:
    """Return whether `file` (relative, with slashes) is a judge by its name or a pattern."""
    return is_judge_by_name(file) or any(fnmatchcase(file, pattern) for pattern in patterns)


def is_test(file: str) -> bool:
    """Return whether `file` contains tests, by its name; not those that only prepare tests."""
    path = PurePosixPath(file)
    if any(fnmatchcase(path.name, name) for name in AROUND):
        return False
    if any(fnmatchcase(path.name, name) for name in TESTS) or AT_THE_TOP.fullmatch(file):
        return True
    below = not TEST_DIRECTORIES.isdisjoint(path.parts[:-1])
    return below and path.suffix in _CODE and not _PREPARES.fullmatch(path.name)


class JudgeSearch:
    """Finds the judges of commands; each directory is looked through once."""

    def __init__(self) -> None:
        self._files: dict[Path, BaselineFiles] = {}

    def of_command(self, command: str, directory: Path) -> tuple[str, ...]:
        """Return patterns for the project's files that a check's command is judged by.

        `make test` is judged by the Makefile and by what its recipe runs, `sh verify.sh` by
        verify.sh, whereas `python app.py` runs what is to be fixed.
        """
        files = self._files.setdefault(directory, BaselineFiles(directory))
        closure = map(glob.escape, judge_closure(command, files))
        included = included_patterns(files) if _RULES.search(command) else ()
        doctests = (DOCTESTS,) if _runs_doctests(command, directory) else ()
        return tuple(sorted({*_by_words(command, directory), *closure, *included, *doctests}))


def _by_words(command: str, directory: Path) -> set[str]:
    """Return patterns for what the words of a command, and the settings of runners, name."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    runner_files = {file for word in words for file in _RUNNER_FILES.get(Path(word).name, ())}
    named = {
        PurePosixPath(word).name
        for word in words
        if JUDGING_NAME.search(PurePosixPath(word).name) and _is_there(word, directory)
    }
    tests = set(_pytest_names(directory)) if "pytest" in command else set()
    # Wherever they are, and whether they are there yet: `make -C part test` reads part/Makefile,
    # and a GNUmakefile is read before the Makefile that was there.
    files = named | runner_files | tests
    anywhere = (f"{place}{file}" for file in files for place in ("", "*/"))
    at_the_top = (f.name for f in directory.iterdir() if AT_THE_TOP.fullmatch(f.name))
    return {*anywhere, *at_the_top, *configured_tests(command, directory)}


def _runs_doctests(command: str, directory: Path) -> bool:
    if "doctest" in command:
        return True
    names = (*_PYTEST_FILES, "conftest.py", "noxfile.py", *_RUNNER_FILES["make"])
    for name in names:
        try:
            if b"doctest" in (directory / name).read_bytes():
                return True
        except OSError:
            continue
    return False


def _pytest_names(directory: Path) -> Iterator[str]:
    """Return the patterns for test files in a project's configuration of pytest."""
    for file, tables in _PYTEST_FILES.items():
        settings = subtable(read_settings(directory / file), *tables)
        # A pattern for every module, as `*.py`, does not tell tests from the program.
        names = _words(settings.get("python_files"))
        yield from (name for name in names if not fnmatchcase("a.py", name))
        # Doctests of the program may be among the paths.
        paths = (PurePosixPath(path) for path in _words(settings.get("testpaths")))
        yield from (f"{path}/*" for path in paths if JUDGING_NAME.search(path.name))


def _words(value: object) -> list[str]:
    words = value.split() if isinstance(value, str) else value
    return [word for word in words if isinstance(word, str)] if isinstance(words, list) else []


def _is_there(word: str, directory: Path) -> bool:
    """Return whether a word names a file, from here or from a directory not far below."""
    if (directory / word).is_file():
        return True
    name = PurePosixPath(word).name
    return any(
        True for depth in ("*", "*/*") for _ in directory.glob(f"{depth}/{glob.escape(name)}")
    )
