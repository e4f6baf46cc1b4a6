"""Scripts that judge: what a check's command runs, and what that runs and sources in turn."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from runtrue.sandbox.baseline_files import BaselineFiles
from runtrue.settings_file import read_settings, subtable

JUDGING_NAME = re.compile(r"test|check|verify|validate|lint|spec", re.I)
#: What a script runs that is there to judge.
_RUNS_TESTS = re.compile(
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|ava|bats|ctest|phpunit|rspec|diff -|cmp)\b"
    r"|\b(?:cargo|go|npm|yarn|pnpm|bun|deno|mvn|gradle|make|dotnet|swift|mix)\s+(?:run\s+)?test\b"
)
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_INTERPRETERS = _SHELLS | {"node", "tsx", "ts-node", "bun", "deno", "ruby", "perl", "php"}
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
#: Before the program of a command: it is run by them.
_PREFIXES = frozenset({"exec", "time", "env", "command", "nice", "npx", "xargs", "!", "then"})
#: Options whose value is a file, or a module, that is loaded before the tests.
_LOADS = frozenset(
    {
        *("--ds", "--dc", "--rulesdir", "--plugin", "--plugins", "--load-plugins", "--stub-path"),
        *("-r", "--require", "--import", "--loader", "--experimental-loader", "-c", "--config"),
        *("--config-file", "--rcfile", "-p", "--env-file", "--setup", "--setup-file", "--reporter"),
        *("--makefile", "--justfile", "--rcpath", "--settings", "--project"),
        *("--globalSetup", "--setupFiles", "--setupFilesAfterEnv", "--init-script", "-I"),
    }
)
#: Variables whose values are loaded before the tests, or are options that do so.
_VARIABLES = frozenset(
    {
        *("PYTEST_PLUGINS", "PYTEST_ADDOPTS", "PYTHONSTARTUP", "DJANGO_SETTINGS_MODULE"),
        *("NODE_OPTIONS", "BASH_ENV", "ENV", "RUBYOPT", "PERL5OPT", "COVERAGE_PROCESS_START"),
        *("COVERAGE_RCFILE", "MYPYPATH", "LD_PRELOAD", "RUSTC_WRAPPER", "MAKEFILES"),
    }
)
_ASSIGNMENT = re.compile(r"(\w+)=(.*)", re.S)
#: The directory of the script itself, however a shell finds it.
_HERE = re.compile(r"\$\((?:[^()]|\([^()]*\))*(?:dirname|pwd)(?:[^()]|\([^()]*\))*\)(?=\"?/)")
_MANAGERS = frozenset({"npm", "yarn", "pnpm", "bun", "run-s", "run-p", "npm-run-all"})
_MAKEFILES = {
    **dict.fromkeys(("make", "gmake"), ("GNUmakefile", "makefile", "Makefile")),
    "just": ("justfile", "Justfile", ".justfile"),
}
_INCLUDE = re.compile(r"^[ \t]*(?:-|s)?(?:include|import|!include)\??[ \t]+(.+)$", re.M)
_TARGET = re.compile(r"^@?([\w./%-][^:=#\n]*?)(?:\s+[\w*+=\"' ]*)?:(?!=)([^=\n]*)$")
_DEPTH = 8


def scripts_of(command: str, files: BaselineFiles) -> frozenset[str]:
    """Return the scripts and files of settings that a command runs or loads as its judges."""
    found: set[str] = set()
    _follow(command, files, found, depth=0)
    return frozenset(found)


def _follow(
    line: str, files: BaselineFiles, found: set[str], *, depth: int, near: str = ""
) -> None:
    """Add what a command line runs, and what that runs."""
    for file in [*_run_by(line, files, depth=depth, near=near)]:
        if file in found:
            continue
        found.add(file)
        if depth < _DEPTH and PurePosixPath(file).suffix in ("", ".sh", ".bash", ".zsh", ".ksh"):
            for inner in _lines(files.text(file)):
                _follow(inner, files, found, depth=depth + 1, near=file)
    if depth < _DEPTH:
        for inner, place in _scripts_in(line, files, found):
            _follow(inner, files, found, depth=depth + 1, near=place)


def _lines(text: str) -> Iterator[str]:
    joined = text.replace("\\\n", " ")
    return (line.strip() for line in joined.split("\n") if line.strip() and line.strip()[0] != "#")


def _segments(line: str) -> Iterator[list[str]]:
    line = re.sub(r"\$[({]MAKE[)}]", "make", _HERE.sub(".", line))
    for segment in re.split(r"[;&|\n]+|\$\(|`|\)", line):
        try:
            words = shlex.split(segment, comments=False)
        except ValueError:
            words = segment.split()
        yield [word.lstrip("@-") if index == 0 else word for index, word in enumerate(words)]


def _run_by(line: str, files: BaselineFiles, *, depth: int, near: str) -> Iterator[str]:
    for segment in _segments(line):
        before = (w in _PREFIXES or re.fullmatch(r"\w+=.*", w) is not None for w in segment)
        words = segment[next((at for at, is_before in enumerate(before) if not is_before), 0) :]
        for found in filter(None, map(_ASSIGNMENT.fullmatch, segment)):
            if found[1] in _VARIABLES:
                yield from _of_variable(found[2], files, near)
        if not words:
            continue
        program = PurePosixPath(words[0]).name or words[0]
        rest = [word for word in words[1:] if not word.startswith("-")]
        if program in ("source", "."):
            yield from _named(rest[:1], files, near)
        elif program in _INTERPRETERS or _PYTHON.fullmatch(program):
            for file in [*_named(rest[:1], files, near), *_main_of(words, files)]:
                if _judges(file, files, is_shell=program in _SHELLS, depth=depth):
                    yield file
        else:
            for file in _named([word for word in words[:1] if "/" in word], files, near):
                if _judges(file, files, is_shell=True, depth=depth):
                    yield file
        yield from _loaded(words, files, near)


def _judges(file: str, files: BaselineFiles, *, is_shell: bool, depth: int) -> bool:
    """True if a script judges, and is not the program: by its name, or by what it runs."""
    is_script = is_shell and PurePosixPath(file).suffix in ("", ".sh", ".bash", ".zsh", ".ksh")
    return (
        JUDGING_NAME.search(PurePosixPath(file).name) is not None
        or (depth > 0 and is_script)
        or (
            (is_script or file.endswith(".py")) and _RUNS_TESTS.search(files.text(file)) is not None
        )
    )


def _main_of(words: list[str], files: BaselineFiles) -> list[str]:
    """Return the file that `python -m NAME` runs, if it is one of the project's."""
    at = words.index("-m") + 1 if "-m" in words else len(words)
    if at >= len(words):
        return []
    found = files.module(f"{words[at]}.__main__") or files.module(words[at])
    return [found] if found else []


def _of_variable(value: str, files: BaselineFiles, near: str) -> Iterator[str]:
    """Yield what the value of a variable names: modules, files, options that load them."""
    words = re.split(r"[\s,:]+", value)
    yield from _loaded(words, files, near)
    for word in words:
        yield from _named([word], files, near)
        if re.fullmatch(r"[A-Za-z_][\w.]*", word) and (module := files.any_module(word)):
            yield module


def _loaded(words: list[str], files: BaselineFiles, near: str) -> Iterator[str]:
    loads = _LOADS | {"-f", "--file"} if not _MAKEFILES.keys().isdisjoint(words) else _LOADS
    for index, word in enumerate(words):
        option, equals, value = word.partition("=")
        if word.startswith("-p") and len(word) > 2 and not word.startswith("--"):
            option, value = "-p", word[2:]
        elif not equals:
            value = words[index + 1] if index + 1 < len(words) else ""
        if option in loads and value:
            yield from _named([value], files, near)
            yield from files.below(value, near) if option == "--rulesdir" else ()
            if re.fullmatch(r"[\w.]+", value) and (module := files.any_module(value)):
                yield module


def _named(words: list[str], files: BaselineFiles, near: str) -> Iterator[str]:
    for word in words:
        plain = re.sub(r"^(?:\"?\$[({]?\w+[)}]?\"?/)+", "", word).removeprefix("./")
        if "*" in plain:
            pattern = posixpath.normpath(posixpath.join(posixpath.dirname(near), plain))
            yield from (name for name in files.names if fnmatchcase(name, pattern))
        elif plain and (found := files.script(plain, near)):
            yield found


def _scripts_in(line: str, files: BaselineFiles, found: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the command lines that runners such as npm, make, just and tox start for a line."""
    for words in _segments(line):
        names = {PurePosixPath(word).name for word in words}
        if not _MANAGERS.isdisjoint(names):
            for key, text in _npm_scripts(words, files):
                if key.startswith(("pre", "post")):
                    found.update(_first_files(text, files))
                yield text, ""
        if not names.isdisjoint(_MAKEFILES):
            yield from _recipes(words, files, found)
        if "tox" in names:
            for table in read_settings(files.directory / "tox.ini").values():
                yield from ((text, "") for text in _lines(str(table.get("commands", ""))))


def _first_files(line: str, files: BaselineFiles) -> Iterator[str]:
    """Yield what interpreters run in a line."""
    for words in _segments(line):
        if words and PurePosixPath(words[0]).name in _INTERPRETERS:
            yield from _named([w for w in words[1:] if w[:1] != "-"][:1], files, "")


def _npm_scripts(words: list[str], files: BaselineFiles) -> Iterator[tuple[str, str]]:
    scripts = subtable(read_settings(files.directory / "package.json"), "scripts")
    wanted = ["test" if word in ("t", "tst") else word for word in words]
    for name in wanted:
        # Before and after each script, npm runs those that are called so.
        for key in (f"pre{name}", name, f"post{name}"):
            if isinstance(text := scripts.get(key), str):
                yield key, text


def _recipes(words: list[str], files: BaselineFiles, found: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines of the recipes that a command needs; all files of rules are judges."""
    rules: dict[str, tuple[list[str], list[tuple[str, str]]]] = {}
    first = ""
    own = {file for word in words for file in _MAKEFILES.get(PurePosixPath(word).name, ())}
    pending = [name for name in files.names if PurePosixPath(name).name in own]
    pending += [file for file in _loaded(words, files, "") if file in files.names]
    seen: set[str] = set()
    while pending:
        file = pending.pop()
        if file in seen:
            continue
        seen.add(file)
        text = files.text(file)
        for names in _INCLUDE.findall(text):
            pending += _named(_included(names), files, file)
        target = ""
        for line in text.replace("\\\n", " ").split("\n"):
            if line[:1] in ("\t", " ") and target:
                rules[target][1].append((line.strip(), file))
            elif heading := _TARGET.match(line):
                for target in heading[1].split():
                    rules.setdefault(target, ([], []))[0].extend(heading[2].split())
                    first = first or target
    found |= seen
    wanted = [word for word in words if word in rules] or [first]
    done: set[str] = set()
    while wanted:
        target = wanted.pop()
        if target in rules and target not in done:
            done.add(target)
            wanted += rules[target][0]
            yield from rules[target][1]


def _included(names: str) -> list[str]:
    words = re.findall(r"[^\s\"']+", names.replace("$(wildcard ", ""))
    # The parenthesis of `wildcard`, not one of a variable.
    return [word[:-1] if word.count(")") > word.count("(") else word for word in words]


def included_patterns(files: BaselineFiles) -> Iterator[str]:
    """Yield patterns for what files of rules include, whether it is there yet or not."""
    names = {name for several in _MAKEFILES.values() for name in several}
    for file in files.names:
        path = PurePosixPath(file)
        if path.name in names or path.suffix in (".mk", ".just"):
            for word in (
                one for found in _INCLUDE.findall(files.text(file)) for one in _included(found)
            ):
                plain = re.sub(r"^(?:\$[({]?\w+[)}]?/)+", "*", word)
                if "$" not in plain:
                    yield posixpath.normpath(plain)
                    yield posixpath.normpath(posixpath.join(path.parent, plain))
