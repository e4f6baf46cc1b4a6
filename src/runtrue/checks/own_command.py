"""Own commands: the test command in a line of a project's own, as a check runs it.

Of `uv run coverage run -m pytest -v --junitxml=x.xml -m "not slow"` a check runs
`python -m pytest -q -m "not slow"`: nothing is installed, measured or stored on the way. A line
that leaves something open is no command at all.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from runtrue.checks.interpreter import Interpreter, interpreter_of
from runtrue.checks.line import commands_of
from runtrue.checks.pytest_options import PytestOptions
from runtrue.checks.python_line import ASSIGNMENT, split_python, without_launchers
from runtrue.checks.recipes import UNKNOWN, Group, Recipe
from runtrue.checks.unittest_options import pytest_arguments

_INSTALL = re.compile(r"\b(pip|uv|conda|poetry|pdm) .*\b(install|sync|add)\b")
#: Words by which a line is more than a sequence of commands.
_CONTROL = frozenset({"if", "for", "while", "until", "case", "function", "then", "do", "else"})
_REDIRECTION = re.compile(r"\d?>{1,2}\s*(&\d|[^\s;&|]+)")
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?-([^}]*))?\}|(\w+)|(.?))")
_TEST_SCRIPT = re.compile(r"(run_?)?_?tests?\.py|runtests?|test_\w+\.py|\w+_tests?\.py", re.I)
#: Modules that run tests, and the names that their checks get.
_RUNNERS = {
    "pytest": "pytest",
    "unittest": "unittest",
    "django": "django",
    "twisted.trial": "trial",
    "nose2": "nose2",
    "zope.testrunner": "zope-testrunner",
    "testtools.run": "testtools",
    "doctest": "doctest",
}
#: Variables for installers, for coverage and for the terminal, and those that runtrue sets.
_NOT_FOR_TESTS = re.compile(
    r"(PIP|TOX|NOX|UV|COVERAGE|CODECOV|COVERALLS|VIRTUALENV|POETRY|PDM|HATCH|GITHUB|GIT|CI)(_\w+)?"
    r"|PATH|HOME|USER|SHELL|TMPDIR|VIRTUAL_ENV|PY_COLORS|FORCE_COLOR|NO_COLOR|TERM|CLICOLOR\w*"
    r"|PYTHONDONTWRITEBYTECODE|PYTHONUNBUFFERED|PYTEST_ADDOPTS|PRE_COMMIT\w*|MYPYPATH"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCommand:
    """A test command of the project's, its surroundings, and where it was found."""

    name: str
    command: str
    because: str
    env: dict[str, str] = field(default_factory=dict)
    #: As seen from the directory whose files were read.
    directory: str = "."
    #: False if it leaves out the tests of packages further below.
    is_whole: bool = True


def own_commands(group: Group, project: Path, directory: Path) -> list[OwnCommand]:
    """Return the test commands of one target, session or job; none if one cannot be resolved."""
    found: dict[tuple[str, str], OwnCommand] = {}
    for recipe in group:
        if found and _INSTALL.search(recipe.line):
            break  # what follows needs more than the tests before
        try:
            for one in _Reader(recipe, project, directory).read():
                found.setdefault((one.command, one.directory), one)
        except _Unresolved:
            return []
    return list(found.values())


class _Unresolved(Exception):
    """A line holds something that only running it would tell."""


class _Reader:
    """Reads one recipe, command by command."""

    def __init__(self, recipe: Recipe, project: Path, directory: Path) -> None:
        self._recipe = recipe
        self._project = project
        self._top = directory
        self._place = directory
        self._env = dict(recipe.env)
        self._is_lost = not self._go(recipe.directory)

    def read(self) -> Iterator[OwnCommand]:
        line = _REDIRECTION.sub(" ", self._recipe.line).replace("`", UNKNOWN)
        for raw in commands_of(line):
            words = [word.text for word in raw]
            if words[0] in _CONTROL:
                raise _Unresolved
            if words[0] == "cd" and len(words) == 2:
                self._is_lost = not self._go(self._expanded(words[1]))
            elif words[0] == "export":
                self._set(words[1:])
            elif found := self._test_command(words):
                yield found

    def _go(self, place: str) -> bool:
        """Go to a directory; False if it is not known, outside, or not there."""
        if UNKNOWN in place:
            return False
        self._place = Path(os.path.normpath(self._place / place))
        return self._place.is_dir() and self._place.is_relative_to(self._top)

    def _set(self, words: Sequence[str]) -> None:
        for word in words:
            if set_ := ASSIGNMENT.fullmatch(word):
                self._env[set_[1]] = self._expanded(set_[2])

    def _expanded(self, word: str) -> str:
        def value(match: re.Match[str]) -> str:
            name = match[1] or match[3]
            if not name:
                return "" if match[4] in ("@", "*") else UNKNOWN
            if name in self._env:
                return self._env[name]
            return UNKNOWN if match[2] is None else match[2]

        return _VARIABLE.sub(value, word)

    def _test_command(self, raw: Sequence[str]) -> OwnCommand | None:
        own = dict(self._env)
        words = without_launchers([word for word in map(self._expanded, raw) if word], own)
        if not words:
            return None
        options, target, arguments = split_python(words)
        if target is None or not _runs_tests(target, arguments):
            return None
        if self._is_lost:
            raise _Unresolved
        interpreter = interpreter_of(self._project, self._place)
        module = target.removeprefix("-m ") if target.startswith("-m ") else None
        if module and not self._is_importable(module, interpreter):
            raise _Unresolved
        found = OwnCommand(
            name=_RUNNERS.get(module or "", PurePosixPath(target).stem),
            command="",
            because=self._recipe.where,
            env=self._variables(own),
            directory=Path(os.path.relpath(self._place, self._top)).as_posix(),
        )
        if module == "pytest":
            return self._pytest(found, options, arguments, interpreter)
        if module == "unittest" and interpreter.has("pytest"):
            by_pytest = pytest_arguments(arguments, self._place)
            if by_pytest is not None:
                because = f"{found.because}; run by pytest, whose report names each test"
                found = replace(found, name="pytest", because=because)
                return self._pytest(found, options, by_pytest, interpreter)
        if module is None and not (self._place / target).is_file():
            raise _Unresolved
        arguments = [word for word in arguments if not _stops_or_shows(word)]
        return self._with(found, [interpreter.name, *options, *target.split(), *arguments])

    def _is_importable(self, module: str, interpreter: Interpreter) -> bool:
        own = [self._top / place / module.partition(".")[0] for place in ("", "src")]
        is_standard = module in ("pytest", "unittest", "doctest")
        return is_standard or any(map(Path.is_dir, own)) or not interpreter.lacks(module)

    def _pytest(
        self,
        found: OwnCommand,
        options: Sequence[str],
        arguments: Sequence[str],
        interpreter: Interpreter,
    ) -> OwnCommand:
        words, notes = [interpreter.name, *options, "-m", "pytest", "-q"], []
        known = PytestOptions(self._place, interpreter)
        all_kept = [*known.kept(arguments)]
        by_name = any("--pyargs" in option.words for option in all_kept)
        paths = [option.words[0] for option in all_kept if option.is_path]
        lacking = {path: self._lacking(path, interpreter) for path in paths}
        for option in all_kept:
            if (
                option.is_path
                and (module := lacking[option.words[0]])
                and not all(lacking.values())
            ):
                notes.append(f"without {option.words[0]}: its conftest.py needs {module}")
            elif option.left_out:
                notes.append(f"without {option.words[0]}: {option.left_out}")
            elif option.is_path and not by_name and not self._is_there(option.words[0]):
                raise _Unresolved
            else:
                words += option.words
        noted = replace(found, because="; ".join([found.because, *notes]))
        return self._with(noted, words)

    def _lacking(self, path: str, interpreter: Interpreter) -> str | None:
        """Return a module without which nothing runs where pytest is given this folder."""
        conftest = self._place / path / "conftest.py"
        places = [
            conftest.parent,
            *(top / at for top in (self._place, self._top) for at in (".", "src")),
        ]
        for module in _imported_first(conftest):
            near = (place / name for place in places for name in (module, f"{module}.py"))
            is_own = module in sys.stdlib_module_names or any(one.exists() for one in near)
            if not is_own and interpreter.lacks(module):
                return module
        return None

    def _is_there(self, word: str) -> bool:
        path = word.partition("::")[0]
        return UNKNOWN not in word and any(True for _ in _globbed(self._place, path))

    def _with(self, found: OwnCommand, words: Sequence[str]) -> OwnCommand:
        if any(UNKNOWN in text for text in (*words, *found.env, *found.env.values())):
            raise _Unresolved
        return replace(found, command=" ".join(map(_quoted, words)))

    def _variables(self, own: Mapping[str, str]) -> dict[str, str]:
        return {
            name: self._expanded(value)
            for name, value in own.items()
            if not _NOT_FOR_TESTS.fullmatch(name)
        }


def _imported_first(file: Path) -> Iterator[str]:
    """Yield the modules that a file imports at its top, come what may."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _globbed(place: Path, path: str) -> Iterator[Path]:
    if not re.search(r"[*?\[]", path):
        yield from [place / path] if (place / path).exists() else []
    elif not path.startswith("/"):
        yield from place.glob(path)


def _quoted(word: str) -> str:
    """Return a word for the shell, which expands patterns for files."""
    is_pattern = re.fullmatch(r"[\w./*?-]+", word) and not word.startswith("-")
    return word if is_pattern else shlex.quote(word)


def _runs_tests(target: str, arguments: Sequence[str]) -> bool:
    if target.startswith("-m "):
        module = target.removeprefix("-m ")
        return module in _RUNNERS and (module != "django" or "test" in arguments[:1])
    name = PurePosixPath(target).name
    if name == "manage.py":
        return "test" in arguments[:1]
    return _TEST_SCRIPT.fullmatch(name) is not None


def _stops_or_shows(word: str) -> bool:
    return word in ("-v", "--verbose", "-f", "--failfast", "-vv", "-v2", "--pdb")
