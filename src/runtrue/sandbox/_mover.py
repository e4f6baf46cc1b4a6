"""The mover: a small process that brings staged files into a directory, all of them or none.

It is run as a script, by itself, in a session of its own, and imports nothing of runtrue, so that
it goes on when the process that started it is killed. It is given the file of an intent and a
direction, `forward` or `back`. How far an earlier one came before a crash is seen from the files:
the stage holds in `new` what is still to be brought in, and in `old` what has made room for it.

It ends with 0 when that is done, with 1 when it could not be done and everything is as it was
before, and with 2 when neither could be reached: then the intent is still there. What was in the
way is printed, as JSON: the files that are not as the intent says, or an error.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import stat
import sys
from typing import TypedDict

#: The signature of any directory.
DIRECTORY = "directory"


class FileMove(TypedDict):
    """A file with its signatures before and after; None where there is none."""

    path: str
    before: str | None
    after: str | None


class Intent(TypedDict):
    """The moves to make in `top`, with the files in `stage`, named by the numbers of the moves."""

    candidate: str
    top: str
    stage: str
    changes: list[FileMove]
    #: The directories that were there before, with their modes.
    directories: dict[str, int]


class MoveReport(TypedDict, total=False):
    """The obstacles that kept an intent from being carried out."""

    conflicts: list[str]
    error: str


class Conflict(Exception):
    """Some files are not what they were when the intent was written."""

    def __init__(self, paths: list[str]) -> None:
        super().__init__(", ".join(paths))
        self.paths = paths


def signature(top: str, path: str) -> str | None:
    """Return a digest of a path below `top`; None if there is nothing, or a link on the way."""
    above = os.path.dirname(path)
    while above:
        if not is_directory(os.path.join(top, above)):
            return None
        above = os.path.dirname(above)
    full = os.path.join(top, path)
    try:
        mode = os.lstat(full).st_mode
        if stat.S_ISDIR(mode):
            return DIRECTORY
        if stat.S_ISLNK(mode):
            content = hashlib.sha256(os.fsencode(os.readlink(full)))
        elif stat.S_ISREG(mode):
            with open(full, "rb") as file:
                content = hashlib.file_digest(file, "sha256")
        else:
            return "neither a file, nor a link, nor a directory"
    except FileNotFoundError:
        return None
    except PermissionError:
        return "not readable"
    return f"{mode:o} {content.hexdigest()}"


def is_directory(path: str) -> bool:
    """Return whether a path is a directory, and not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def sync(path: str) -> None:
    """Flush a file, or the names in a directory, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems cannot do that with directories.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


class Mover:
    """Carries out an intent, or undoes it, from wherever the last mover stopped."""

    def __init__(self, intent: Intent) -> None:
        self._top = intent["top"]
        self._stage = intent["stage"]
        self._directories = intent["directories"]
        self._changes = list(enumerate(intent["changes"]))

    def forward(self) -> None:
        """Take out what is not wanted any more, and bring in what is new."""
        changed = [c["path"] for number, c in self._changes if self._is_conflict(number, c)]
        if changed:
            raise Conflict(changed)
        # What is removed goes first: a file may come where a directory was, or the reverse.
        for number, change in self._changes:
            if change["after"] is None:
                self._take_out(number, change)
                self._remove_empty(os.path.dirname(change["path"]))
        for number, change in self._changes:
            if change["after"] is not None:
                self._take_out(number, change)
                self._bring_in(number, change)

    def back(self) -> None:
        """Undo everything, except in files that somebody has changed since."""
        for number, change in self._changes:
            path, new = change["path"], self._new(number)
            is_in = change["after"] is not None and not os.path.lexists(new)
            if is_in and signature(self._top, path) == change["after"]:
                os.rename(self._full(path), new)
            if change["after"] is not None:
                # Also where it had only been made ready for what was to come.
                self._remove_empty(os.path.dirname(path), spare=self._directories)
        for number, change in self._changes:
            path, old = change["path"], self._old(number)
            if os.path.lexists(self._full(path)):
                continue
            if change["before"] == DIRECTORY:
                self._make(path)
            elif os.path.lexists(old):
                self._make(os.path.dirname(path))
                os.rename(old, self._full(path))

    def sync(self) -> None:
        """Flush all of it to disk."""
        places = {self._nearest(os.path.dirname(change["path"])) for _, change in self._changes}
        for place in (*places, *(os.path.join(self._stage, name) for name in ("new", "old"))):
            sync(place)

    def _is_conflict(self, number: int, change: FileMove) -> bool:
        if os.path.lexists(self._old(number)):
            return self._is_other(number, change)
        if self._is_begun(number, change):
            return False
        present, before = signature(self._top, change["path"]), change["before"]
        # A directory may be gone already, with the last that was in it.
        return present != before and (present is not None or before != DIRECTORY)

    def _is_begun(self, number: int, change: FileMove) -> bool:
        if os.path.lexists(self._old(number)):
            return True
        return change["after"] is not None and not os.path.lexists(self._new(number))

    def _take_out(self, number: int, change: FileMove) -> None:
        before = change["before"]
        # A directory goes, if it is empty, when something comes in its place.
        if before in (None, DIRECTORY) or self._is_begun(number, change):
            return
        os.rename(self._full(change["path"]), self._old(number))
        # Somebody may have written it since it was looked at.
        if self._is_other(number, change):
            raise Conflict([change["path"]])

    def _is_other(self, number: int, change: FileMove) -> bool:
        return signature(os.path.join(self._stage, "old"), str(number)) != change["before"]

    def _bring_in(self, number: int, change: FileMove) -> None:
        new, full = self._new(number), self._full(change["path"])
        if not os.path.lexists(new):
            return
        self._make(os.path.dirname(change["path"]))
        if is_directory(full):
            os.rmdir(full)
        if os.path.lexists(full):
            raise Conflict([change["path"]])
        os.rename(new, full)

    def _make(self, path: str) -> None:
        """Make a directory and its parents, with the modes that they had before."""
        full = self._full(path)
        if not path or is_directory(full):
            return
        self._make(os.path.dirname(path))
        if os.path.lexists(full):
            raise Conflict([path])
        os.mkdir(full)
        if path in self._directories:
            os.chmod(full, self._directories[path])

    def _remove_empty(self, path: str, spare: dict[str, int] | None = None) -> None:
        """Remove a directory and its parents as long as they are empty, as git does."""
        while path and path not in (spare or {}):
            try:
                os.rmdir(self._full(path))
            except OSError:
                return
            path = os.path.dirname(path)

    def _nearest(self, path: str) -> str:
        while not is_directory(self._full(path)):
            path = os.path.dirname(path)
        return self._full(path)

    def _full(self, path: str) -> str:
        return os.path.join(self._top, path)

    def _new(self, number: int) -> str:
        return os.path.join(self._stage, "new", str(number))

    def _old(self, number: int) -> str:
        return os.path.join(self._stage, "old", str(number))


def move(intent_file: str, direction: str) -> tuple[int, MoveReport]:
    """Carry out an intent, or undo it; return the exit code and the report."""
    with open(intent_file, encoding="utf-8") as file:
        intent: Intent = json.load(file)
    mover = Mover(intent)
    report = MoveReport()
    try:
        if direction == "forward":
            try:
                mover.forward()
            except Conflict as conflict:
                report["conflicts"] = conflict.paths
            except OSError as error:
                report["error"] = reason(error)
        if direction == "back" or report:
            mover.back()
        mover.sync()
    except (Conflict, OSError) as error:
        in_the_way = " is in the way" if isinstance(error, Conflict) else ""
        return 2, {"error": f"{reason(error)}{in_the_way}"}
    # It is over with the intent; what is left is only to be cleared away.
    os.unlink(intent_file)
    sync(os.path.dirname(intent_file))
    shutil.rmtree(intent["stage"], ignore_errors=True)
    return (1 if report else 0), report


def reason(error: Exception) -> str:
    """Return what went wrong, and with which file."""
    if not isinstance(error, OSError):
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


if __name__ == "__main__":
    code, said = move(*sys.argv[1:])
    try:
        os.write(1, json.dumps(said).encode())
    except OSError:
        pass  # nobody is left to read it
    sys.exit(code)
