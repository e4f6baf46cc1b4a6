"""Extras: files that belong in a sandbox although no candidate contains them.

Generated files that git ignores, installed things, empty directories: checks may need them, and
every candidate must find them unchanged, or one could pass by what another has left.
"""

from __future__ import annotations

import filecmp
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runtrue.sandbox.git import INSTALLED, JUNK, Tree, is_junk, remove

#: Ignored files are copied up to this size in all.
_LIMIT = 50 * 1024 * 1024
_MODULES = "node_modules"
#: Where the tools of JavaScript keep their caches, in `node_modules` of all places.
_CACHES = (".cache", ".vite", ".vite-temp", ".vitest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """The names of files, links and whole directories, and of empty directories."""

    files: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    #: Installed directories outside of the sandbox that links lead to.
    linked: tuple[str, ...] = ()
    #: Directories for caches, which commands may write, and which each candidate finds empty.
    caches: tuple[str, ...] = ()


def copy_extras(users: Tree, sandbox: Path, copies: Path) -> Extras:
    """Copy what is beside the user's files, and put the copies into the sandbox."""
    home = copies.parent
    files: list[str] = []
    linked: list[str] = []
    caches: list[str] = []
    room = _LIMIT
    for name in _usable(users.ignored(), users.directory, home):
        source, copy = users.directory / name, copies / name
        if (sandbox / name).exists() or is_junk(name):
            continue
        try:
            copy.parent.mkdir(parents=True, exist_ok=True)
            if installed := installed_at(source):
                linked.append(str(installed))
                if source.name == _MODULES:
                    installed = _modules(installed, home / "modules" / name, users, sandbox)
                    caches += (str(installed / cache) for cache in _CACHES)
                    linked.append(str(installed))
                copy.symlink_to(installed, target_is_directory=True)
            elif (size := _size(source, room)) <= room:
                room -= size
                _copy(source, copy)
            else:
                continue
        except OSError:
            # A socket, say, or a file of somebody else's: not worth failing for.
            continue
        files.append(name)
    empty = [
        below
        for name in _usable(users.beside(), users.directory, home)
        for below in _empty_directories(users.directory, name)
    ]
    extras = Extras(
        files=tuple(files), empty=tuple(empty), linked=tuple(linked), caches=tuple(caches)
    )
    _put(extras, sandbox, copies)
    return extras


def restore_extras(extras: Extras, sandbox: Tree, copies: Path) -> None:
    """Make everything beside a candidate in the sandbox as it was in the beginning."""
    for name in sandbox.beside():
        _clear(name, extras, sandbox.directory)
    for cache in map(Path, extras.caches):
        remove(cache)
        cache.mkdir()
    _put(extras, sandbox.directory, copies)


def _modules(installed: Path, modules: Path, users: Tree, sandbox: Path) -> Path:
    """Make a directory of links to installed packages, with caches of its own.

    Commands may not write in the user's packages, but many tools keep their caches there. Packages
    that are links into the project, as those of a workspace, lead to the candidate's files.
    """
    modules.mkdir(parents=True)
    for entry in installed.iterdir():
        if entry.name.startswith("@") and entry.is_dir() and not entry.is_symlink():
            (modules / entry.name).mkdir()
            for package in entry.iterdir():
                _link_package(package, modules / entry.name / package.name, users, sandbox)
        elif entry.name not in _CACHES:
            _link_package(entry, modules / entry.name, users, sandbox)
    for cache in _CACHES:
        (modules / cache).mkdir()
    return modules


def _link_package(package: Path, link: Path, users: Tree, sandbox: Path) -> None:
    target = package
    if package.is_symlink():
        own = package.resolve()
        top = users.directory.resolve()
        if own.is_relative_to(top) and _MODULES not in own.relative_to(top).parts:
            target = sandbox / own.relative_to(top)
    link.symlink_to(target, target_is_directory=True)


def _put(extras: Extras, sandbox: Path, copies: Path) -> None:
    # A candidate may have a file where a directory was: then there is no room for them.
    for name in extras.files:
        copy, target = copies / name, sandbox / name
        if not _is_same(copy, target):
            with suppress(FileExistsError, NotADirectoryError):
                remove(target)
                target.parent.mkdir(parents=True, exist_ok=True)
                _copy(copy, target)
    for name in extras.empty:
        with suppress(FileExistsError, NotADirectoryError):
            (sandbox / name).mkdir(parents=True, exist_ok=True)


def _clear(name: str, extras: Extras, sandbox: Path) -> None:
    """Remove a path, unless it or something in it belongs here."""
    path = sandbox / name
    holds_some = any(file.startswith(f"{name}/") for file in extras.files)
    if holds_some and path.is_dir() and not path.is_symlink():
        for below in path.iterdir():
            _clear(f"{name}/{below.name}", extras, sandbox)
    elif name not in extras.files:
        remove(path)


def _usable(names: list[str], directory: Path, home: Path) -> list[str]:
    """Return the names that are text (they may be any bytes) and not runtrue's."""
    return [
        name
        for name in names
        if not any("\udc80" <= character <= "\udcff" for character in name)
        and not home.is_relative_to(directory / name)
        and not (directory / name).is_relative_to(home)
    ]


def installed_at(path: Path) -> Path | None:
    """Return the directory of installed things that a path is or leads to; None if it is no such.

    A link may have come with the project, and lead to anything of the user's.
    """
    if path.name not in INSTALLED:
        return None
    found = path.resolve()
    is_environment = any((found / sign).exists() for sign in ("pyvenv.cfg", "conda-meta"))
    if path.name == _MODULES:
        is_it = not path.is_symlink() or found.name == _MODULES
    else:
        # A package may be called `venv`, too.
        is_it = is_environment or (path.name != "venv" and not path.is_symlink())
    return found if is_it else None


def _empty_directories(top: Path, name: str) -> list[str]:
    """Return the directories in `name`, if it contains nothing else."""
    if (top / name).is_symlink():
        return []
    found: list[str] = []
    for directory, _, files in os.walk(top / name):
        if files:
            return []
        found.append(Path(directory).relative_to(top).as_posix())
    return found


def _size(path: Path, limit: int) -> int:
    if not path.is_dir() or path.is_symlink():
        return path.lstat().st_size
    total = 0
    for directory, _, files in os.walk(path):
        total += sum(Path(directory, file).lstat().st_size for file in files)
        if total > limit:
            break
    return total


def _copy(source: Path, target: Path) -> None:
    if source.is_dir() and not source.is_symlink():
        junk = shutil.ignore_patterns(*JUNK)
        # It is raised when all that can be copied has been.
        with suppress(shutil.Error):
            shutil.copytree(source, target, symlinks=True, ignore=junk)
    else:
        shutil.copy2(source, target, follow_symlinks=False)


def _is_same(one: Path, other: Path) -> bool:
    """Compare files, links or directories byte for byte: times can be forged."""
    try:
        mine, theirs = one.lstat(), other.lstat()
    except OSError:
        return False
    if mine.st_mode != theirs.st_mode:
        return False
    if one.is_symlink():
        return one.readlink() == other.readlink()
    if one.is_dir():
        names = {path.name for path in one.iterdir()}
        return names == {path.name for path in other.iterdir()} and all(
            _is_same(one / name, other / name) for name in names
        )
    return filecmp.cmp(one, other, shallow=False)
