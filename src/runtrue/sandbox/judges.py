"""Judges: the files that decide about a candidate, which it must not change."""

from __future__ import annotations

import glob
import re
import shlex
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase, translate
from pathlib import Path, PurePosixPath

from runtrue.sandbox.configured_tests import configured_tests
from runtrue.settings_file import read_settings, subtable

_JAVASCRIPT = ("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts")

#: Tests, by file name.
TESTS = (
    *("test_*.py", "*_test.py", "tests.py"),
    *(f"*.{word}.{end}" for word in ("test", "spec") for end in _JAVASCRIPT),
    *(f"*{join}{word}.{end}" for join in "-_" for word in ("test", "spec") for end in _JAVASCRIPT),
    *("*_test.go", "*Test.java", "*Tests.java", "*IT.java"),
)
#: Tests, if they lie at the top of a project: below, they may be a part of the program.
_AT_THE_TOP = re.compile(rf"(?:tests?|specs?)\.(?:{'|'.join((*_JAVASCRIPT, 'py'))})")
#: Suffixes of code below a directory of tests, and names of files that only prepare tests.
_CODE = frozenset({".py", ".go", ".rs", ".java", *(f".{end}" for end in _JAVASCRIPT)})
_PREPARES = re.compile(
    r"(__init__|set_?up(tests)?|tear_?down|helpers?|fixtures?|mod)[._-].*", re.IGNORECASE
)

#: What runs before and around tests, and the configuration of checks, by file name.
_AROUND = (
    *("conftest.py", "pytest.ini", ".pytest.ini"),
    *("pytest.toml", ".pytest.toml", ".flake8", ".pylintrc", "pylintrc", ".bandit"),
    *("tox.ini", "setup.cfg", "pyproject.toml", "noxfile.py", ".coveragerc"),
    *("ruff.toml", ".ruff.toml", "mypy.ini", ".mypy.ini", "runtrue.toml"),
    *(".eslintrc*", "eslint.config.*", ".prettierrc*", "jest.config.*", ".mocharc.*"),
    *("ava.config.*", ".taprc", "jasmine.json", ".c8rc*", ".nycrc*"),
    *("vitest.config.*", "vitest.workspace.*", "vite.config.*"),
    *("build.gradle*", "settings.gradle*"),
    # Imported by every Python interpreter that starts, before anything else.
    *("sitecustomize.py", "usercustomize.py", "*.pth"),
    # Would be imported in place of pytest, or of what runtrue reads its verdict from.
    *("pytest.py", "_pytest.py", "runtrue_report.py", "entry_points.txt"),
    # Tools such as ruff leave out what they name.
    *(".gitignore", ".ignore", ".eslintignore", ".prettierignore"),
    *(".gitattributes",),
)
NAMES = (*TESTS, *_AROUND)
# One expression: it is asked of every file of a project, again and again.
_NAMED = re.compile("|".join(map(translate, NAMES)))
#: Imported by every Python from the first place that has it, before any hook.
_LOADED_FIRST = re.compile(r"(?:.*/)?encodings(?:/__init__)?\.[^/]+")
_TEST_DIRECTORIES = frozenset({"tests", "test", "__tests__", "spec"})
#: Everything below a directory of these names.
DIRECTORIES = _TEST_DIRECTORIES | {"pytest", "_pytest"}

#: What a runner reads to find out what to run.
_RUNNER_FILES = {
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "just": ("justfile", "Justfile"),
    **dict.fromkeys(("npm", "npx", "yarn", "pnpm", "bun"), ("package.json",)),
    "cargo": ("Cargo.toml",),
    "go": ("go.mod",),
    "mvn": ("pom.xml",),
}
#: Files that configure the names of pytest's test files, and the tables to look in.
_PYTEST_FILES = {
    **dict.fromkeys(("pytest.toml", ".pytest.toml"), ("pytest",)),
    **dict.fromkeys(("pytest.ini", ".pytest.ini", "tox.ini"), ("pytest",)),
    "pyproject.toml": ("tool", "pytest", "ini_options"),
    "setup.cfg": ("tool:pytest",),
}
_JUDGING_NAME = re.compile(r"test|check|verify|validate|lint|spec", re.I)


def is_judge(file: str, patterns: Iterable[str] = ()) -> bool:
    """Return whether `file` (relative, with slashes) is a judge by its name or a pattern."""
    path = PurePosixPath(file)
    return (
        _NAMED.match(path.name) is not None
        or _AT_THE_TOP.fullmatch(file) is not None
        or not DIRECTORIES.isdisjoint(path.parts[:-1])
        or _LOADED_FIRST.fullmatch(file) is not None
        or any(fnmatchcase(file, pattern) for pattern in patterns)
    )


def is_test(file: str) -> bool:
    """Return whether `file` contains tests, by its name; not those that only prepare tests."""
    path = PurePosixPath(file)
    if any(fnmatchcase(path.name, name) for name in _AROUND):
        return False
    if any(fnmatchcase(path.name, name) for name in TESTS) or _AT_THE_TOP.fullmatch(file):
        return True
    below = not _TEST_DIRECTORIES.isdisjoint(path.parts[:-1])
    return below and path.suffix in _CODE and not _PREPARES.fullmatch(path.name)


def judges_of_command(command: str, directory: Path) -> tuple[str, ...]:
    """Return the project's files that a check's command runs as its judge.

    `make test` is judged by the Makefile and `sh verify.sh` by verify.sh, whereas `python app.py`
    runs what is to be fixed.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    runner_files = {file for word in words for file in _RUNNER_FILES.get(Path(word).name, ())}
    named = {
        PurePosixPath(word).name
        for word in words
        if _JUDGING_NAME.search(PurePosixPath(word).name) and _is_there(word, directory)
    }
    tests = set(_pytest_names(directory)) if "pytest" in command else set()
    # Wherever they are, and whether they are there yet: `make -C part test` reads part/Makefile,
    # and a GNUmakefile is read before the Makefile that was there.
    files = named | runner_files | tests
    anywhere = (f"{place}{file}" for file in files for place in ("", "*/"))
    at_the_top = (f.name for f in directory.iterdir() if _AT_THE_TOP.fullmatch(f.name))
    return tuple(sorted({*anywhere, *at_the_top, *configured_tests(command, directory)}))


def _pytest_names(directory: Path) -> Iterator[str]:
    """Return the patterns for test files in a project's configuration of pytest."""
    for file, tables in _PYTEST_FILES.items():
        settings = subtable(read_settings(directory / file), *tables)
        # A pattern for every module, as `*.py`, does not tell tests from the program.
        names = _words(settings.get("python_files"))
        yield from (name for name in names if not fnmatchcase("a.py", name))
        # Doctests of the program may be among the paths.
        paths = (PurePosixPath(path) for path in _words(settings.get("testpaths")))
        yield from (f"{path}/*" for path in paths if _JUDGING_NAME.search(path.name))


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
