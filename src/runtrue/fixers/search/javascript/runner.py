"""Runners: how a project's test command is run again and again in a process that stays warm."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from runtrue.checks import CommandCheck, commands_of, reach_of, scripts_of
from runtrue.fixers.search.javascript.syntax_tree import SUFFIXES
from runtrue.settings_file import read_settings, subtable

_FRAMEWORKS = ("mocha", "jest", "vitest")
#: Where mocha looks for tests if nobody says otherwise, and where people keep them.
_USUAL = ("test/*.*js", "test.js", "test/*.ts", "tests/*.*js", "spec/*.*js")
#: Programs whose test files are scripts that node runs alone, and those that run other commands.
_SCRIPTED = frozenset(("uvu", "brittle", "zora", "tape", "tap"))
_AROUND = frozenset(("nyc", "c8", "npx", "cross-env", "env"))
_CHAINS = frozenset(("run-s", "run-p", "npm-run-all", "npm-run-all2"))
#: Where ava looks for tests, besides those that node's own runner finds.
_AVA_TESTS = ("**/*.spec.*js", "**/tests/**/*.*js", "**/__tests__/**/*.*js", "**/test/**/*.*js")
_NODE_TESTS = ("**/*[._-]test.*js", "**/test-*.*js", "**/test.*js", "**/test/*.*js")
#: Options of node that have a value of their own.
_VALUED = frozenset(("-r", "--require", "--import", "--loader", "--experimental-loader"))
#: Files beside tests that are none.
_HELPERS = re.compile(r"(?:^|/)(?:helpers?|fixtures?)/|(?:^|/)_|\.d\.ts$")
#: Scripts that call scripts: further down than this is a circle.
_DEPTH = 4


@dataclass(frozen=True, kw_only=True)
class Runner:
    """A kind of test runner, the words that the command gives it, and where it runs.

    `files` are the test files, from the directory, where the command names them. `options` are for
    node itself.
    """

    name: str
    directory: Path
    words: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    is_node_test: bool = False


def runners_of(check: CommandCheck, directory: Path) -> list[Runner]:
    """Return the ways to run a check's tests warm, the one that its command names first."""
    where = directory / check.directory
    found = _named(check.command, where)
    return [found] if found else [*_guessed(where)]


def _named(command: str, directory: Path, depth: int = 0) -> Runner | None:
    reach = reach_of(command, directory)
    if reach is not None:
        place = reach.directory or directory
        if reach.tool in _FRAMEWORKS:
            files = tuple(_expanded(reach.words, place)) if reach.tool == "mocha" else ()
            files = files or tuple(_usual_files(place)) if reach.tool == "mocha" else files
            return Runner(name=reach.tool, directory=place, words=reach.words, files=files)
        if reach.tool in _SCRIPTED:
            files = tuple(_expanded(reach.words, place)) or tuple(_usual_files(place))
            return Runner(name="script", directory=place, files=files)
        if reach.tool == "ava":
            return _ava(place, reach.words)
        if reach.tool == "node_test":
            options = [*_node_options(reach.words)]
            if reach.words[0].endswith("tsx"):
                options += ["--import", "tsx"]
            files = tuple(_expanded(reach.words[1:], place)) or tuple(_node_tests(place))
            return Runner(
                name="script",
                directory=place,
                files=files,
                options=tuple(options),
                is_node_test=True,
            )
    return _script(command, directory, depth)


def _script(command: str, directory: Path, depth: int) -> Runner | None:
    """Find `node test.js`, in the command or in the script of package.json that it runs."""
    for words in commands_of(command):
        texts = _unwrapped([word.text for word in words])
        if not texts:
            continue
        program = PurePosixPath(texts[0]).name
        if program == "node":
            files = tuple(_scripts(texts[1:], directory))
            if len(files) == 1:
                options = tuple(_node_options(texts))
                return Runner(name="script", directory=directory, files=files, options=options)
        elif program in ("npm", "yarn", "pnpm") and depth < _DEPTH:
            name = next((one for one in texts[1:] if one not in ("run", "-s", "--silent")), "")
            if script := scripts_of(directory).get({"t": "test"}.get(name, name)):
                return _named(script, directory, depth + 1)
        elif program in _SCRIPTED:
            files = tuple(_expanded(texts[1:], directory)) or tuple(_node_tests(directory))
            options = tuple(_node_options(texts))
            return Runner(name="script", directory=directory, files=files, options=options)
        elif program in _CHAINS and depth < _DEPTH:
            scripts = [one for name in texts[1:] if (one := scripts_of(directory).get(name))]
            found = (_named(script, directory, depth + 1) for script in scripts)
            if runner := next(filter(None, found), None):
                return runner
    return None


def _unwrapped(words: list[str]) -> list[str]:
    """Return a command without the programs that only start it."""
    while words and (PurePosixPath(words[0]).name in _AROUND or re.match(r"-|\w+=", words[0])):
        words = words[1:]
    return words


def _ava(directory: Path, words: Sequence[str]) -> Runner:
    """Return how ava's files are run, from its settings in package.json."""
    settings = subtable(read_settings(directory / "package.json"), "ava")
    listed = [one for one in settings.get("files") or () if isinstance(one, str)]
    given = [*_expanded(words, directory)] or [*_expanded(listed, directory)]
    options = [one for one in settings.get("nodeArguments") or () if isinstance(one, str)]
    return Runner(
        name="ava",
        directory=directory,
        files=tuple(given or _node_tests(directory, (*_NODE_TESTS, *_AVA_TESTS))),
        options=tuple(options),
    )


def _scripts(words: Sequence[str], directory: Path) -> Iterator[str]:
    """Yield the files that words of a command of node name: of a directory, its index."""
    for word in words:
        index = f"{word.rstrip('/')}/index.js"
        is_index = not word.startswith("-") and (directory / index).is_file()
        yield from _expanded([index if is_index else word], directory)


def _guessed(directory: Path) -> Iterator[Runner]:
    """Yield the runners that are installed, where the command says nothing."""
    for name in _FRAMEWORKS:
        if (directory / "node_modules" / name).is_dir():
            files = tuple(_usual_files(directory))
            yield Runner(name=name, directory=directory, files=files if name == "mocha" else ())


def _expanded(words: Sequence[str], directory: Path) -> Iterator[str]:
    """Yield the files that words of a command name, patterns and directories included."""
    for word in words:
        if word.startswith("-"):
            continue
        path = directory / word
        if path.is_dir():
            yield from _files_in(directory, f"{word.rstrip('/')}/*")
        elif path.is_file():
            yield Path(word).as_posix()
        elif any(sign in word for sign in "*?["):
            yield from _files_in(directory, word)
        elif path.with_suffix(".js").is_file():
            yield Path(word).with_suffix(".js").as_posix()


def _usual_files(directory: Path) -> Iterator[str]:
    for pattern in _USUAL:
        found = [*_files_in(directory, pattern)]
        if found:
            yield from found
            return


def _node_tests(directory: Path, patterns: Sequence[str] = _NODE_TESTS) -> Iterator[str]:
    """Yield the files that node's own runner, or another one, takes for tests."""
    found = {file for pattern in patterns for file in _files_in(directory, pattern)}
    yield from sorted(one for one in found if not _HELPERS.search(one))


def _files_in(directory: Path, pattern: str) -> Iterator[str]:
    try:
        paths = sorted(directory.glob(pattern.removeprefix("./")))
    except (ValueError, NotImplementedError):
        return
    for path in paths:
        if path.is_file() and path.suffix in SUFFIXES and "node_modules" not in path.parts:
            yield path.relative_to(directory).as_posix()


def _node_options(words: Sequence[str]) -> Iterator[str]:
    """Yield the options of node that load something before the tests."""
    waiting = iter(words)
    for word in waiting:
        if word in _VALUED:
            yield from (word, next(waiting, ""))
        elif word.partition("=")[0] in _VALUED:
            yield word
