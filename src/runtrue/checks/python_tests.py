"""The tests of a Python project: how it runs them itself, else what its files look like."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from runtrue.checks.interpreter import Interpreter, interpreter_of
from runtrue.checks.locations import files_below
from runtrue.checks.own_command import OwnCommand, own_commands
from runtrue.checks.pytest_options import PytestOptions
from runtrue.checks.recipes import recipes_of
from runtrue.checks.tool_settings import configured
from runtrue.settings_file import lenient_text

_PYTEST_FILES = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini")
#: By which a directory is a Python project.
MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg", "manage.py", "tox.ini", "noxfile.py")
_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py")
#: The names that Django's and unittest's runners look for, besides.
_OTHER_TEST_FILE = re.compile(r"tests?\.py")
#: Programs that projects keep at their top to run all tests.
SCRIPTS = ("runtests.py", "run_tests.py")
_SETTINGS = re.compile(r"""["']DJANGO_SETTINGS_MODULE["']\s*,\s*["']([\w.]+)["']""")
#: Where files with such names are no tests of the project's own.
_NOT_OWN = frozenset(
    {"docs", "doc", "examples", "example", "samples", "fixtures", "testdata", "templates", "build"}
)


def python_tests(project: Path, directory: Path, packages: Sequence[Path] = ()) -> list[OwnCommand]:
    """Return how the tests in a directory of a project are run; nothing if it has none.

    Tests in `packages`, which are directories below it, count only where the project itself runs
    them from here.
    """
    for group in recipes_of(directory):
        if found := own_commands(group, project, directory):
            return [_with_addopts(one, project, directory) for one in found]
    found_plain = _django(project, directory) or _plain(project, directory, packages)
    return [_with_addopts(found_plain, project, directory)] if found_plain else []


def _plain(project: Path, directory: Path, packages: Sequence[Path]) -> OwnCommand | None:
    """Find pytest by its configuration, else it or unittest by the test files."""
    interpreter = interpreter_of(project, directory)
    pytest = OwnCommand(name="pytest", command=f"{interpreter.name} -m pytest -q", because="")
    because = configured(directory, "pytest", _PYTEST_FILES, ("pytest", "tool:pytest"))
    if because:
        return replace(pytest, because=because)
    tests = own_tests(directory, packages)
    # pytest runs tests as well, and its report names each case; helpers may have such names, too.
    has_none = interpreter.lacks("pytest") or not any(map(_has_tests, tests))
    if has_none and (script := _script(interpreter, directory)) is not None:
        return script
    if not tests:
        return _other_names(pytest, directory, packages)
    because = tests[0].relative_to(directory).as_posix()
    if all(map(_is_unittest, tests)) and interpreter.lacks("pytest"):
        command = f"{interpreter.name} -m unittest discover{_start(tests, directory)}"
        because = f"{because} imports unittest; pytest is not installed"
        return OwnCommand(name="unittest", command=command, because=because)
    if not packages:
        return replace(pytest, because=because)
    folders = dict.fromkeys(test.relative_to(directory).parts[0] for test in tests)
    words = " ".join(map(shlex.quote, folders))
    return replace(pytest, command=f"{pytest.command} {words}", because=because, is_whole=False)


def _script(interpreter: Interpreter, directory: Path) -> OwnCommand | None:
    """Find the program at the top that runs all tests, by its usual names."""
    for name in SCRIPTS:
        if (directory / name).is_file():
            command = f"{interpreter.name} {name}"
            return OwnCommand(name=Path(name).stem, command=command, because=name)
    return None


def _other_names(
    pytest: OwnCommand, directory: Path, packages: Sequence[Path]
) -> OwnCommand | None:
    """Find `tests.py`, which pytest collects only if it is named."""
    files = [
        file
        for file in _python_files(directory, packages)
        if _OTHER_TEST_FILE.fullmatch(file.name) and _has_tests(file)
    ]
    if not files:
        return None
    names = [file.relative_to(directory).as_posix() for file in files]
    words = " ".join(map(shlex.quote, names))
    return replace(pytest, command=f"{pytest.command} {words}", because=names[0], is_whole=False)


def own_tests(directory: Path, packages: Sequence[Path] = ()) -> list[Path]:
    """Return the test files of a directory that pytest collects by itself, nearest first."""
    return [file for file in _python_files(directory, packages) if _TEST_FILE.fullmatch(file.name)]


def _python_files(directory: Path, packages: Sequence[Path]) -> Iterator[Path]:
    top = len(directory.parts)
    files = [
        file
        for file in files_below(directory)
        if file.suffix == ".py" and not any(file.is_relative_to(place) for place in packages)
    ]
    for file in sorted(files, key=lambda file: (len(file.parts), file)):
        parts = file.parts[top:-1]
        is_hidden = any(part.startswith(".") for part in parts)
        if not is_hidden and _NOT_OWN.isdisjoint(parts):
            yield file


def _imports(file: Path) -> set[str]:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return {"pytest"}  # what cannot be read is left to pytest, which reports it
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def _is_unittest(file: Path) -> bool:
    imported = _imports(file)
    return "unittest" in imported and "pytest" not in imported


def _has_tests(file: Path) -> bool:
    text = lenient_text(file)
    return re.search(r"^\s*(async )?def test|^class \w*Test|TestCase\)", text, re.M) is not None


def _start(tests: list[Path], directory: Path) -> str:
    """Return unittest's options for where the tests are."""
    folders = {test.relative_to(directory).parts[0] for test in tests}
    pattern = "" if all(t.name.startswith("test") for t in tests) else " -p '*test*.py'"
    if len(folders) != 1 or (directory / next(iter(folders))).is_file():
        return pattern
    folder = next(iter(folders))
    is_package = (directory / folder / "__init__.py").is_file()
    return f" -s {shlex.quote(folder)}{' -t .' if is_package else ''}{pattern}"


def _django(project: Path, directory: Path) -> OwnCommand | None:
    """Find a Django project: pytest with its plugin where both are set up, else its own command."""
    text = lenient_text(directory / "manage.py")
    if "django" not in text or configured(
        directory, "pytest", _PYTEST_FILES, ("pytest", "tool:pytest")
    ):
        return None
    interpreter = interpreter_of(project, directory)
    settings = _SETTINGS.search(text)
    line = text.count("\n", 0, settings.start()) + 1 if settings else 1
    because = f"manage.py:{line}"
    if settings and interpreter.has("pytest") and interpreter.has("pytest_django"):
        return OwnCommand(
            name="pytest",
            command=f"{interpreter.name} -m pytest -q -o 'python_files=test*.py *_test.py'",
            because=f"{because}; pytest-django is installed",
            env={"DJANGO_SETTINGS_MODULE": settings[1]},
        )
    command = f"{interpreter.name} manage.py test"
    return OwnCommand(name="django", command=command, because=because)


def _with_addopts(found: OwnCommand, project: Path, directory: Path) -> OwnCommand:
    """Return the command with the configured options that work, where some would not."""
    if found.name != "pytest":
        return found
    place = directory / found.directory
    known = PytestOptions(place, interpreter_of(project, place)).addopts()
    if known is None:
        return found
    rest, missing = known
    return replace(
        found,
        command=f"{found.command} -o {shlex.quote(f'addopts={rest}')}",
        because=f"{found.because}; without {', '.join(missing)} of addopts: not installed",
    )
