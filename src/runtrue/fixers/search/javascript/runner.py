"""Runners: how a project's test command is run again and again in a process that stays warm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runtrue.checks import CommandCheck, commands_of, reach_of, scripts_of
from runtrue.fixers.search.javascript.syntax_tree import SUFFIXES

_FRAMEWORKS = ("mocha", "jest", "vitest")
#: Where mocha looks for tests if nobody says otherwise, and where people keep them.
_USUAL = ("test/*.*js", "test.js", "test/*.ts", "tests/*.*js", "spec/*.*js")
_NODE_TESTS = ("**/*[._-]test.*js", "**/test-*.*js", "**/test.*js", "**/test/*.*js")
#: Options of node that have a value of their own.
_VALUED = frozenset(("-r", "--require", "--import", "--loader", "--experimental-loader"))
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
        if reach.tool in ("tape", "tap"):
            files = tuple(_expanded(reach.words, place)) or tuple(_usual_files(place))
            return Runner(name="script", directory=place, files=files)
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
        texts = [word.text for word in words]
        if words[0].name == "node":
            files = tuple(_expanded(texts[1:], directory))
            if len(files) == 1:
                options = tuple(_node_options(texts))
                return Runner(name="script", directory=directory, files=files, options=options)
        elif words[0].name in ("npm", "yarn", "pnpm") and depth < _DEPTH:
            name = next((one for one in texts[1:] if one not in ("run", "-s", "--silent")), "")
            if script := scripts_of(directory).get({"t": "test"}.get(name, name)):
                return _named(script, directory, depth + 1)
    return None


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


def _node_tests(directory: Path) -> Iterator[str]:
    """Yield the files that node's own runner takes for tests."""
    found = {file for pattern in _NODE_TESTS for file in _files_in(directory, pattern)}
    yield from sorted(found)


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
