"""Configured tests: the files that the settings and scripts of a JavaScript project name as tests.

They judge a candidate like those that are called so. What also matches the program itself, such as
its entry points, is left out: a fix must be able to change that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from runtrue.settings_file import read_settings, subtable

_ENDS = ("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts")
_MANAGERS = frozenset({"npm", "yarn", "pnpm", "bun", "run-s", "run-p", "npm-run-all"})
#: Runners whose arguments are files, globs or directories of tests; others take words to filter by.
_RUNNERS = frozenset(
    {"mocha", "_mocha", "ava", "tap", "tape", "uvu", "jasmine", "qunit", "lab", "borp"}
)
_FILTERED = frozenset({"jest", "vitest"})
#: Programs that run one file.
_INTERPRETERS = frozenset({"node", "tsx", "ts-node", "bun", "deno", "sh", "bash"})
#: Options whose value is code that is loaded before the tests.
_LOADS = frozenset({"-r", "--require", "--import", "--loader", "--config", "-c"})
_TESTING = re.compile(r"test|spec|check|verify", re.IGNORECASE)
#: Directories that are the program itself.
_PROGRAM = frozenset({"", ".", "src", "lib", "dist", "build", "packages", "app", "source"})
#: Names that no pattern for tests may match.
_ORDINARY = tuple(f"{at}a.{end}" for at in ("", "src/", "lib/", "src/b/") for end in _ENDS)
#: Settings, by the table in package.json or by file, and the keys that name tests.
_TABLES = {
    "ava": ("files",),
    "mocha": ("spec",),
    "jest": ("testMatch",),
    "tap": ("files", "include", "test-files"),
}
_FILES = {
    ".mocharc.json": _TABLES["mocha"],
    ".mocharc.yml": _TABLES["mocha"],
    ".mocharc.yaml": _TABLES["mocha"],
    ".taprc": _TABLES["tap"],
    "jest.config.json": _TABLES["jest"],
}
_PROGRAMMED = ("jest.config.*", "ava.config.*", "vitest.config.*", "vite.config.*", ".mocharc.*")
_ASSIGNED = re.compile(
    r"""\b(?:testMatch|include|files|spec)\b["']?\s*:\s*(\[[^\]]*\]|"[^"\n]*"|'[^'\n]*')"""
)
_QUOTED = re.compile(r"""["'`]([^"'`\n]+)["'`]""")
_DEPTH = 8


def configured_tests(command: str, directory: Path) -> tuple[str, ...]:
    """Return patterns for the tests that a command, through the project's settings, runs."""
    package = read_settings(directory / "package.json")
    names = {PurePosixPath(word).name for word in re.findall(r"[^\s;&|]+", command)}
    known = _MANAGERS | _RUNNERS | _FILTERED | {"npx", "node", "tsx"}
    if names.isdisjoint(known):
        return ()
    wanted = [*_named(command, package, directory, is_script=False), *_settings(package, directory)]
    entries = [*entry_points(package), *_ORDINARY]
    return tuple(
        dict.fromkeys(
            pattern
            for word in wanted
            for pattern in _patterns(word, directory)
            if not any(fnmatchcase(entry, pattern) for entry in entries)
        )
    )


def _named(
    line: str, package: dict[str, Any], directory: Path, *, is_script: bool, depth: int = 0
) -> Iterator[str]:
    """Yield the arguments of the test runners in a line, and in the scripts that it runs."""
    scripts = subtable(package, "scripts")
    for command in re.split(r"[;&|]+", line):
        words = [word.strip("\"'") for word in command.split()]
        names = [PurePosixPath(word).name for word in words]
        if depth < _DEPTH and not _MANAGERS.isdisjoint(names):
            for name in ("test" if word == "t" else word for word in words):
                if isinstance(script := scripts.get(name), str):
                    yield from _named(script, package, directory, is_script=True, depth=depth + 1)
        at = next((i for i, name in enumerate(names) if name in _RUNNERS | _INTERPRETERS), None)
        if at is None:
            continue
        arguments = _arguments(words[at + 1 :])
        if names[at] in _RUNNERS or "--test" in words:
            yield from arguments
        elif is_script:
            # What a script called `test` has an interpreter run is the test.
            yield from arguments[:1]


def _arguments(words: list[str]) -> list[str]:
    before = ["", *words]
    return [
        word
        for last, word in zip(before, words, strict=False)
        if not word.startswith(("-", "!")) and last not in _LOADS
    ]


def _settings(package: dict[str, Any], directory: Path) -> Iterator[str]:
    for table, keys in _TABLES.items():
        yield from _values(subtable(package, table), keys)
    for name, keys in _FILES.items():
        yield from _values(_loaded(directory / name), keys)
    for name in _PROGRAMMED:
        for file in directory.glob(name):
            try:
                text = file.read_text(encoding="utf-8")
            except (OSError, ValueError):
                continue
            for found in _ASSIGNED.finditer(text):
                # Of a program only what looks like it: `include` may be that of something else.
                yield from (word for word in _QUOTED.findall(found[1]) if _TESTING.search(word))


def _loaded(file: Path) -> dict[str, Any]:
    if file.suffix == ".json":
        return read_settings(file)
    import yaml

    try:
        value = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return value if isinstance(value, dict) else {}


def _values(table: dict[str, Any], keys: tuple[str, ...]) -> Iterator[str]:
    for key in keys:
        value = table.get(key)
        words = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        yield from (w for w in words if isinstance(w, str) and not w.startswith("!"))


def entry_points(package: dict[str, Any]) -> Iterator[str]:
    """Yield the files that other programs use of a package."""
    found: list[Any] = [package.get(key) for key in ("main", "module", "browser", "bin", "exports")]
    found += ["index.js"] if not package.get("main") else []
    while found:
        value = found.pop()
        if isinstance(value, dict):
            found += value.values()
        elif isinstance(value, list):
            found += value
        elif isinstance(value, str):
            yield value.removeprefix("./")


def _patterns(word: str, directory: Path) -> Iterator[str]:
    """Yield what a glob, a file or a directory of tests is for `fnmatch`."""
    word = word.removeprefix("<rootDir>/").removeprefix("./").rstrip("/")
    if brace := re.search(r"\{([^{}]*)\}", word):
        for choice in brace[1].split(","):
            yield from _patterns(f"{word[: brace.start()]}{choice}{word[brace.end() :]}", directory)
        return
    word = word.replace("?(x)", "*")
    if re.search(r"[?*+@!]\(", word) or word in _PROGRAM or word.startswith(("/", "..", "$")):
        return
    if (directory / word).is_dir():
        yield f"{word}/*"
    elif re.search(r"\.\w+\*?$|\*$", word):
        # `**/` is any number of directories, none among them.
        yield word.replace("**/", "")
        if "**/" in word:
            yield word.replace("**/", "*/")
