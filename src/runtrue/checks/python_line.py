"""Lines that run Python: what starts it, its options, and what it runs."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

ASSIGNMENT = re.compile(r"(\w+)=(.*)", re.DOTALL)
_PYTHON = re.compile(r"python[\d.]*|pypy[\d.]*|py")
#: Programs that run what follows them, after options of which some have a value.
_RUNS = {
    **dict.fromkeys(("uv", "poetry", "pdm", "pipenv", "rye", "hatch"), "run"),
    **dict.fromkeys(("env", "time", "nice", "command", "exec", "xvfb-run", "cross-env"), ""),
}
_VALUED = frozenset(
    {
        *("--with", "--extra", "--group", "--python", "-p", "--package", "--only-group", "--env"),
        *("--env-file", "--project", "--with-requirements", "--with-editable", "--no-group"),
        *("-e", "-n"),
    }
)
#: Programs that are modules as well.
_PROGRAMS = {"pytest": "pytest", "py.test": "pytest", "trial": "twisted.trial", "nose2": "nose2"}
_PROGRAMS |= {"zope-testrunner": "zope.testrunner", "django-admin": "django"}


def without_launchers(words: list[str], env: dict[str, str]) -> list[str]:
    """Return the words without what only starts them; variables set on the way go into `env`."""
    while words:
        first = PurePosixPath(words[0]).name
        if set_ := ASSIGNMENT.fullmatch(words[0]):
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
        if words[0] == "-m":
            return ["python", *words]
        if words[0].startswith("--directory"):
            return []  # elsewhere
        words = words[2:] if words[0] in _VALUED else words[1:]
    return words


def split_python(words: list[str]) -> tuple[list[str], str | None, list[str]]:
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
