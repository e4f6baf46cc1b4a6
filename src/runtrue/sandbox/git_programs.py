"""What the user's git runs or obeys in a working tree, which a candidate must not change."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from runtrue.sandbox.git_command import configured

#: Settings whose value is a program, as git writes their names: with the last part in lower case.
_PROGRAM = re.compile(
    r"filter\..*\.(clean|smudge|process)|diff\..*\.(textconv|command)|merge\..*\.driver"
    r"|(credential|credential\..*)\.helper|(hook|trailer)\..*\.(command|cmd)|gpg\..*program"
    r"|core\.(fsmonitor|sshcommand|gitproxy|editor|pager|askpass|alternaterefscommand)"
    r"|(diff\.external|sequence\.editor|uploadpack\.packobjectshook|interactive\.difffilter)"
    r"|(alias|pager)\..*|(difftool|mergetool|browser|man)\..*\.(cmd|path)|remote\..*\.uploadpack",
    re.DOTALL,
)
_INCLUDED = re.compile(r"include(if\..*)?\.path", re.DOTALL)
_DRIVER = re.compile(
    r"(filter)\.(.*)\.(?:clean|smudge|process)|(diff)\.(.*)\.(?:textconv|command)"
    r"|(merge)\.(.*)\.driver",
    re.DOTALL,
)
_MACRO = "[attr]"


@dataclass(frozen=True, slots=True, kw_only=True)
class GitPrograms:
    """Names from the top of a working tree that the user's git runs, or reads settings from."""

    hooks: frozenset[str] = frozenset()
    #: Programs and files with settings, with the setting that names each.
    files: tuple[tuple[str, str], ...] = ()
    #: Attributes, such as `filter=lfs`, that have git run a program.
    drivers: frozenset[str] = frozenset()

    @classmethod
    def of(cls, top: Path) -> GitPrograms:
        """Read the settings that the user's git has in a directory."""
        hooks: set[str] = set()
        files: dict[str, str] = {}
        drivers: set[str] = set()
        for key, value, origin in configured(top):
            if key == "core.hookspath":
                hooks = set(_inside(top, top, value))
            elif _INCLUDED.fullmatch(key):
                start = top if origin is None else (top / origin).parent
                files |= dict.fromkeys(_inside(top, start, value), key)
            elif key == "core.attributesfile":
                files |= dict.fromkeys(_inside(top, top, value), key)
            elif _PROGRAM.fullmatch(key):
                for word in _words(value.removeprefix("!")):
                    files |= dict.fromkeys(_inside(top, top, word), key)
            if value and (named := _DRIVER.fullmatch(key)):
                kind, name = (part for part in named.groups() if part is not None)
                drivers.add(f"{kind}={name}")
        return cls(hooks=frozenset(hooks), files=tuple(files.items()), drivers=frozenset(drivers))

    def problem(self, path: str) -> tuple[str, str] | None:
        """Return why a file must not be written, as a kind and a message."""
        if any(PurePosixPath(path).is_relative_to(place) for place in self.hooks):
            return "hook", "is a hook that git would run with your rights"
        setting = dict(self.files).get(path)
        if setting is not None:
            return "git", f"is run or obeyed by your git, whose setting {setting} names it"
        return None

    def new_driver(self, before: str, after: str, macros: str) -> str | None:
        """Return an attribute that new lines of attributes have, and that runs a program.

        `macros` are the attributes at the top, which may give names to others.
        """
        wanted = set(self.drivers)
        for line in macros.splitlines():
            name, *attributes = line.split() or [""]
            if name.startswith(_MACRO) and not wanted.isdisjoint(attributes):
                wanted.add(name.removeprefix(_MACRO))
        new = set(after.splitlines()) - set(before.splitlines())
        found = (word for line in sorted(new) for word in line.split() if word in wanted)
        return next(found, None)


def repositories_made(changed: Iterable[str], files: Iterable[str], top: Path) -> dict[str, str]:
    """Return the changed files in what git takes for a repository, with its directory.

    That is one with HEAD, objects and refs, or with HEAD and the name of another, in the candidate
    or in what the user's tree has already.
    """
    known = {name.casefold() for path in files for name in prefixes(path)}

    def has(directory: str, name: str) -> bool:
        path = f"{directory}/{name}".lstrip("/")
        return path.casefold() in known or os.path.lexists(top / path)

    verdicts: dict[str, bool] = {}
    found = {}
    for path in changed:
        for directory in ("", *prefixes(path)):
            if directory not in verdicts:
                verdicts[directory] = has(directory, "HEAD") and (
                    has(directory, "commondir")
                    or (has(directory, "objects") and has(directory, "refs"))
                )
            if verdicts[directory] and directory != path:
                found[path] = directory or "."
    return found


def prefixes(path: str) -> Iterator[str]:
    """Return the path and the directories that it is in, the outermost first."""
    parts = path.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts) + 1))


def _inside(top: Path, start: Path, value: str) -> Iterator[str]:
    """Yield a path as seen from the top, with and without its links, if it is in the tree."""
    if not value:
        return
    # One that names no user's home is left as it is, where `Path.expanduser` would raise.
    path = os.path.normpath(start / os.path.expanduser(value))  # noqa: PTH111
    for one, base in ((path, top), (os.path.realpath(path), os.path.realpath(top))):
        inside = os.path.relpath(one, base)
        if inside != "." and not inside.startswith(".."):
            yield PurePosixPath(inside).as_posix()


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()
