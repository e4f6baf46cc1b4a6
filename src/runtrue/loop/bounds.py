"""Bounds: what a strategy allows to be changed and run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The bounds of a strategy or of one step of it. What is not said is not bounded.

    `paths` are patterns for files, as seen from the root: `*` stays within a directory, `**` does
    not, a directory stands for all that is below it, and `[*]` for the character itself. `commands`
    are patterns for command lines, in which `*` stands for anything that starts no other command.
    """

    paths: tuple[str, ...] | None = None
    commands: tuple[str, ...] | None = None
    #: How many files, and lines of them, may differ from what the user has.
    max_files: int | None = None
    max_lines: int | None = None
    #: Whether files may be deleted, and those that may be although others may not.
    deletes: bool = True
    deletable: tuple[str, ...] = ()

    def outside(self, files: Iterable[str]) -> tuple[str, ...]:
        """Return those of some changed files that may not be changed."""
        if self.paths is None:
            return ()
        return tuple(file for file in files if not any(matches(file, p) for p in self.paths))

    def allows(self, command: str) -> bool:
        """True if a command line may be run."""
        if self.commands is None:
            return True
        return any(_line(pattern).fullmatch(command.strip()) for pattern in self.commands)

    def within(self, outer: Bounds) -> Bounds:
        """These bounds, and where they say nothing, those around them."""
        return Bounds(
            paths=outer.paths if self.paths is None else self.paths,
            commands=outer.commands if self.commands is None else self.commands,
            max_files=outer.max_files if self.max_files is None else self.max_files,
            max_lines=outer.max_lines if self.max_lines is None else self.max_lines,
            deletes=self.deletes and outer.deletes,
            deletable=(*outer.deletable, *self.deletable),
        )

    def widened(self, paths: Iterable[str]) -> Bounds:
        """These bounds with some more patterns for paths."""
        if self.paths is None:
            return self
        return replace(self, paths=tuple(dict.fromkeys((*self.paths, *paths))))


def matches(file: str, pattern: str) -> bool:
    """True if a file, relative and with slashes, is meant by a pattern."""
    return _path(pattern).fullmatch(file) is not None


def as_pattern(file: str) -> str:
    """The pattern that means exactly this file, whatever it is called."""
    return re.sub(r"[*?\[]", r"[\g<0>]", file)


@cache
def _path(pattern: str) -> re.Pattern[str]:
    pattern = pattern.removeprefix("./").rstrip("/")
    if pattern in ("", "."):
        return re.compile(r".*", re.DOTALL)
    parts: list[str] = []
    for token in re.findall(r"\[[*?\[]\]|\*\*/|\*\*|\*|\?|\[|[^*?\[]+", pattern):
        match token:
            case "**/":
                parts.append(r"(?:.*/)?")
            case "**":
                parts.append(r".*")
            case "*":
                parts.append(r"[^/]*")
            case "?":
                parts.append(r"[^/]")
            case "[*]" | "[?]" | "[[]":
                parts.append(re.escape(token[1]))
            case _:
                parts.append(re.escape(token))
    # What is named may be a directory.
    return re.compile("".join(parts) + r"(?:/.*)?", re.DOTALL)


@cache
def _line(pattern: str) -> re.Pattern[str]:
    return re.compile(r"[^;&|<>`$\n]*".join(map(re.escape, pattern.strip().split("*"))))
