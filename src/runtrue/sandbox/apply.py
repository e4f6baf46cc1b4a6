"""Apply a candidate to the user's tree, all of its changes or none.

The new files are written to a stage first, then an intent, and then a separate process, the mover,
renames them: it goes on when this process is killed. With the intent, what a crash of the machine
interrupted is finished or undone.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from runtrue.errors import SandboxError
from runtrue.sandbox import _mover
from runtrue.sandbox._mover import DIRECTORY, FileMove, Intent, MoveReport, reason, signature, sync
from runtrue.sandbox.git import STAGE, Tree, remove

_MOVER = Path(_mover.__file__)
#: The mover's exit code when it failed and has undone what it did.
_UNDONE = 1
_UNCHANGED = "not applied, and nothing is changed"


@dataclass(frozen=True, slots=True)
class Applier:
    """Applies the candidates of the sandbox that is in `home`."""

    home: Path

    @contextlib.contextmanager
    def locked(self) -> Iterator[int]:
        """Wait until no other process applies, nor a mover that was left running.

        Yields the descriptor that a mover inherits, to keep others waiting.
        """
        # Not called `.lock`: those are git's, and are cleared away after a kill.
        with (self.home / "applying").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self._clear()
            try:
                yield file.fileno()
            finally:
                self._clear()

    @property
    def was_begun(self) -> bool:
        """True if this sandbox ever began to apply anything."""
        return (self.home / "applying").exists()

    @property
    def pending(self) -> str | None:
        """The candidate that is being applied, or was when that was interrupted."""
        try:
            return str(json.loads(self._intent.read_text())["candidate"])
        except FileNotFoundError:
            return None

    def prepare(self, users: Tree, candidate: str, before: Mapping[str, str | None]) -> None:
        """Stage some files of a candidate and write the intent.

        `before` has their signatures in the user's tree, which must still be the same when they
        are moved.
        """
        stage = users.directory / f"{STAGE}{self.home.name}"
        try:
            changes = self._stage(stage, users, candidate, before)
            intent = Intent(
                candidate=candidate,
                top=str(users.directory),
                stage=str(stage),
                changes=changes,
                directories=_directories(users.directory, before),
            )
            temporary = self._intent.with_suffix(".new")
            temporary.write_text(json.dumps(intent))
            sync(str(temporary))
            temporary.replace(self._intent)
            sync(str(self.home))
        except (OSError, SandboxError) as error:
            raise _error(_UNCHANGED, reason(error)) from error

    def _stage(
        self, stage: Path, users: Tree, candidate: str, before: Mapping[str, str | None]
    ) -> list[FileMove]:
        """Write the new files to disk, named by the numbers of their moves."""
        self._stage_file.write_bytes(os.fsencode(stage))
        remove(stage)
        files, new, old = (stage / name for name in ("files", "new", "old"))
        for directory in (files, new, old):
            directory.mkdir(parents=True)
        # Git, and whatever asks it, looks no further.
        (stage / ".gitignore").write_text("*\n")
        written = users.write_files(candidate, before, into=files)
        changes: list[FileMove] = []
        for path, present in before.items():
            wanted = signature(str(files), path) if path in written else None
            if (wanted or present) == DIRECTORY:
                # A repository within this one: what is in it is its own.
                continue
            if wanted is not None:
                staged = new / str(len(changes))
                (files / path).rename(staged)
                if not staged.is_symlink():
                    sync(str(staged))
            changes.append(FileMove(path=path, before=present, after=wanted))
        remove(files)
        for directory in (new, old, stage, stage.parent):
            sync(str(directory))
        return changes

    def move(self, lock: int, *, back: bool = False) -> list[str]:
        """Have the mover carry out the intent, or undo it.

        Return the files that the user changed meanwhile; if there are any, nothing is changed.
        """
        direction = "back" if back else "forward"
        # Not `subprocess.run`: that would kill it when this process is interrupted.
        with subprocess.Popen(
            [sys.executable, *("-I", "-S", "-X", "utf8"), _MOVER, self._intent, direction],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=(lock,),
            env={},
        ) as mover:
            printed, _ = mover.communicate()
        report: MoveReport = json.loads(printed) if printed else {}
        if mover.returncode not in (0, _UNDONE):
            why = report.get("error", f"the process that moves files ended ({mover.returncode})")
            if back:
                raise _error(
                    "the part of the patch that was applied could not be undone", why, "try again"
                )
            raise _error("only part of the patch could be applied", why)
        if "error" in report:
            raise _error(_UNCHANGED, report["error"])
        return report.get("conflicts", [])

    def _clear(self) -> None:
        """Remove a stage without an intent, or an intent without its stage."""
        with contextlib.suppress(FileNotFoundError):
            stage = Path(os.fsdecode(self._stage_file.read_bytes()))
            if self.pending is None or not stage.exists():
                remove(stage)
                self._intent.unlink(missing_ok=True)
                self._stage_file.unlink()

    @property
    def _intent(self) -> Path:
        return self.home / "intent.json"

    @property
    def _stage_file(self) -> Path:
        return self.home / "stage"


def _error(what: str, why: str, then: str = "finish with `runtrue runs resume`") -> SandboxError:
    return SandboxError(f"{what}: {why}; fix that, then {then}")


def _directories(top: Path, files: Iterable[str]) -> dict[str, int]:
    """Return the directories that some files are in or replace, with their modes."""
    found: dict[str, int] = {}
    for file in files:
        for path in (PurePosixPath(file), *PurePosixPath(file).parents[:-1]):
            if str(path) not in found:
                with contextlib.suppress(OSError):
                    mode = (top / path).lstat().st_mode
                    if stat.S_ISDIR(mode):
                        found[str(path)] = stat.S_IMODE(mode)
    return found
