"""Scripts that judge: what a check's command runs, and what that runs and sources in turn."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
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
        *("-r", "--require", "--import", "--loader", "--experimental-loader", "-c", "--config"),
        *("--config-file", "--rcfile", "-p", "--env-file", "--setup", "--setup-file", "--reporter"),
        *("--makefile", "--justfile", "--rcpath", "--settings", "--project"),
        *("--globalSetup", "--setupFiles", "--setupFilesAfterEnv", "--init-script", "-I"),
    }
)
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
        if not words:
            continue
        program = PurePosixPath(words[0]).name or words[0]
        rest = [word for word in words[1:] if not word.startswith("-")]
        if program in ("source", "."):
            yield from _named(rest[:1], files, near)
        elif program in _INTERPRETERS or _PYTHON.fullmatch(program):
            for file in _named(rest[:1], files, near):
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
        or (is_script and _RUNS_TESTS.search(files.text(file)) is not None)
    )


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
            if (module := files.module(value)) and re.fullmatch(r"[\w.]+", value):
                yield module


def _named(words: list[str], files: BaselineFiles, near: str) -> Iterator[str]:
    for word in words:
        plain = re.sub(r"^(?:\"?\$\{?\w+\}?\"?/)+", "", word).removeprefix("./")
        if plain and (found := files.script(plain, near)):
            yield found


def _scripts_in(line: str, files: BaselineFiles, found: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the command lines that runners such as npm, make, just and tox start for a line."""
    for words in _segments(line):
        names = {PurePosixPath(word).name for word in words}
        if not _MANAGERS.isdisjoint(names):
            yield from ((text, "") for text in _npm_scripts(words, files))
        if not names.isdisjoint(_MAKEFILES):
            yield from _recipes(words, files, found)
        if "tox" in names:
            for table in read_settings(files.directory / "tox.ini").values():
                yield from ((text, "") for text in _lines(str(table.get("commands", ""))))


def _npm_scripts(words: list[str], files: BaselineFiles) -> Iterator[str]:
    scripts = subtable(read_settings(files.directory / "package.json"), "scripts")
    wanted = ["test" if word in ("t", "tst") else word for word in words]
    for name in wanted:
        # Before and after each script, npm runs those that are called so.
        for key in (f"pre{name}", name, f"post{name}"):
            if isinstance(text := scripts.get(key), str):
                yield text


def _recipes(words: list[str], files: BaselineFiles, found: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines of the recipes that a command needs; all files of rules are judges."""
    rules: dict[str, tuple[list[str], list[str]]] = {}
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
            pending += _named(re.findall(r"[^\s\"']+", names), files, file)
        target = ""
        for line in text.replace("\\\n", " ").split("\n"):
            if line[:1] in ("\t", " ") and target:
                rules[target][1].append(line.strip())
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
            yield from ((line, "") for line in rules[target][1])
