"""Own commands: the test command in a line of a project's own, as a check runs it.

Of `uv run coverage run -m pytest -v --junitxml=x.xml -m "not slow"` a check runs
`python -m pytest -q -m "not slow"`: nothing is installed, measured or stored on the way. A line
that leaves something open is no command at all.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from runtrue.checks.interpreter import Interpreter, interpreter_of
from runtrue.checks.line import commands_of
from runtrue.checks.pytest_options import PytestOptions
from runtrue.checks.recipes import UNKNOWN, Group, Recipe

#: Words by which a line is more than a sequence of commands.
_CONTROL = frozenset({"if", "for", "while", "until", "case", "function", "then", "do", "else"})
_REDIRECTION = re.compile(r"\d?>{1,2}\s*(&\d|[^\s;&|]+)")
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?-([^}]*))?\}|(\w+)|(.?))")
_ASSIGNMENT = re.compile(r"(\w+)=(.*)", re.DOTALL)
_PYTHON = re.compile(r"python[\d.]*|pypy[\d.]*|py")
_TEST_SCRIPT = re.compile(r"(run_?)?_?tests?\.py|runtests?|test_\w+\.py|\w+_tests?\.py", re.I)
#: Programs that run what follows them, after options of which some have a value.
_RUNS = {
    **dict.fromkeys(("uv", "poetry", "pdm", "pipenv", "rye", "hatch"), "run"),
    **dict.fromkeys(("env", "time", "nice", "command", "exec", "xvfb-run", "cross-env"), ""),
}
_VALUED = frozenset(
    {
        *("--with", "--extra", "--group", "--python", "-p", "--package", "--only-group", "--env"),
        *(
            "--env-file",
            "--directory",
            "--project",
            "--with-requirements",
            "-e",
            "-n",
            "--no-group",
        ),
    }
)
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
_PROGRAMS = {"pytest": "pytest", "py.test": "pytest", "trial": "twisted.trial", "nose2": "nose2"}
_PROGRAMS |= {"zope-testrunner": "zope.testrunner", "django-admin": "django"}
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
            if set_ := _ASSIGNMENT.fullmatch(word):
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
        words = _without_launchers([word for word in map(self._expanded, raw) if word], own)
        if not words:
            return None
        options, target, arguments = _split(words)
        if target is None or not _runs_tests(target, arguments):
            return None
        if self._is_lost:
            raise _Unresolved
        interpreter = interpreter_of(self._project, self._place)
        module = target.removeprefix("-m ") if target.startswith("-m ") else None
        if module not in (None, "pytest", "unittest", "doctest") and interpreter.lacks(module):
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
        if module is None and not (self._place / target).is_file():
            raise _Unresolved
        arguments = [word for word in arguments if not _stops_or_shows(word)]
        return self._with(found, [interpreter.name, *options, *target.split(), *arguments])

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
        for option in all_kept:
            if option.left_out:
                notes.append(f"without {option.words[0]}: {option.left_out}")
            elif option.is_path and not by_name and not self._is_there(option.words[0]):
                raise _Unresolved
            else:
                words += option.words
        noted = replace(found, because="; ".join([found.because, *notes]))
        return self._with(noted, words)

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


def _globbed(place: Path, path: str) -> Iterator[Path]:
    if not re.search(r"[*?\[]", path):
        yield from [place / path] if (place / path).exists() else []
    elif not path.startswith("/"):
        yield from place.glob(path)


def _quoted(word: str) -> str:
    """Return a word for the shell, which expands patterns for files."""
    is_pattern = re.fullmatch(r"[\w./*?-]+", word) and not word.startswith("-")
    return word if is_pattern else shlex.quote(word)


def _without_launchers(words: list[str], env: dict[str, str]) -> list[str]:
    """Return the words without what only starts them; variables set on the way go into `env`."""
    while words:
        first = PurePosixPath(words[0]).name
        if set_ := _ASSIGNMENT.fullmatch(words[0]):
            env[set_[1]] = set_[2]
            words = words[1:]
        elif first in ("timeout", "gtimeout"):
            words = _without_options(words[1:])[1:]
        elif first in _RUNS:
            verb = _RUNS[first]
            rest = _without_options(words[1:])
            if verb and rest[:1] != [verb]:
                return ["pytest", *rest[1:]] if [first, *rest[:1]] == ["hatch", "test"] else []
            words = _without_options(rest[1:] if verb else rest)
            if first == "hatch" and words:
                # `hatch run test:pytest` runs it in the environment `test`.
                words = [words[0].rpartition(":")[2], *words[1:]]
        else:
            return words
    return []


def _without_options(words: list[str]) -> list[str]:
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in _VALUED else words[1:]
    return words


def _split(words: list[str]) -> tuple[list[str], str | None, list[str]]:
    """Return the interpreter's options, what it runs (`-m MODULE` or a script), its arguments."""
    first, rest = PurePosixPath(words[0]).name, words[1:]
    if first in _PROGRAMS:
        return [], f"-m {_PROGRAMS[first]}", rest
    if first == "coverage":
        return _covered([], rest)
    if not _PYTHON.fullmatch(first):
        is_script = first.endswith(".py") and (words[0].startswith("./") or "/" in words[0])
        return [], words[0] if is_script else None, rest
    options: list[str] = []
    while rest and rest[0].startswith("-") and rest[0] != "-m":
        count = 2 if rest[0] in ("-W", "-X") else 1
        if re.match(r"-[WXbO]", rest[0]):
            options += rest[:count]
        rest = rest[count:]
    if rest[:2] in (["-m", "coverage"], ["-m", "slipcover"]):
        return _covered(options, rest[2:])
    if rest[:1] == ["-m"] and len(rest) > 1:
        return options, f"-m {_PROGRAMS.get(rest[1], rest[1])}", rest[2:]
    return options, rest[0] if rest else None, rest[1:]


def _covered(options: list[str], words: list[str]) -> tuple[list[str], str | None, list[str]]:
    """Return what `coverage run` runs."""
    if words[:1] == ["run"]:
        words = words[1:]
    while words and words[0].startswith("-") and words[0] != "-m":
        takes_value = words[0] in ("--source", "--rcfile", "--omit", "--include", "--data-file")
        words = words[2:] if takes_value else words[1:]
    if words[:1] == ["-m"] and len(words) > 1:
        return options, f"-m {_PROGRAMS.get(words[1], words[1])}", words[2:]
    is_script = bool(words) and words[0].endswith(".py")
    return options, words[0] if is_script else None, words[1:]


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
