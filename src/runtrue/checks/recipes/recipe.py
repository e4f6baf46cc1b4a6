"""Recipes: command lines that a project runs, as its own files write them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: Stands in a line where a part of it cannot be known without running something.
UNKNOWN = "\ufffd"
#: Names that projects give to what runs their tests, likeliest first.
TEST_NAMES = (
    *("test", "tests", "unit", "unittest", "unittests", "unit-tests", "unit_tests", "pytest"),
    *("test-unit", "test_unit", "test:unit", "tests-unit", "test-all", "test_all", "testing"),
    *("check", "ci", "all"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A line for the shell, where it runs, and the file and line that it was found on."""

    line: str
    where: str
    env: Mapping[str, str] = field(default_factory=dict)
    #: As seen from the directory in which the file is.
    directory: str = "."


#: What one target, session or job runs. The first of a file's that runs tests is the one.
Group = tuple[Recipe, ...]


def by_test_name(names: Iterable[str]) -> list[str]:
    """Return those of some names that say that tests are run, likeliest first."""
    known = {name: rank for rank, name in enumerate(TEST_NAMES)}
    fitting = [name for name in names if name in known or name.startswith(("test", "pytest"))]
    return sorted(fitting, key=lambda name: known.get(name, len(known)))


def line_of(text: str, *marks: str) -> int:
    """Return the number of the line with the last of some marks, each sought after the former.

    A mark that begins with a line break is sought at the beginning of lines.
    """
    at = 0
    for mark in marks:
        found = text.find(mark, at)
        at = found + mark.startswith("\n") if found >= 0 else at
    return text.count("\n", 0, at) + 1


def substitute(text: str, pattern: re.Pattern[str], value: Callable[[re.Match[str]], str]) -> str:
    """Replace what a pattern finds, again and again while something changes, innermost first."""
    for _ in range(10):
        changed = pattern.sub(value, text)
        if changed == text:
            return text
        text = changed
    return pattern.sub(UNKNOWN, text)


def joined_lines(text: str) -> Iterator[str]:
    """Yield the lines that are not empty, those that end with a backslash with their next."""
    for line in re.sub(r"[ \t]*\\\r?\n[ \t]*", " ", text).splitlines():
        if line.strip() and not line.strip().startswith("#"):
            yield line.strip()


def line_from(words: Iterable[str]) -> str:
    """Return words as a line for the shell."""
    return shlex.join(words)


def text_of(file: Path) -> str:
    """Return the text of a file; an empty one if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
