"""Applying: a candidate's changes are brought into the user's tree, all of them or none.

The new files are written to a stage first, then an intent, and then a process of its own, the
mover, renames them into their places: it goes on when this process is killed. What a crash of the
machine left half done is finished, or undone, by the intent.
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
from runtrue.sandbox._mover import DIRECTORY, Change, Intent, Report, reason, signature, sync
from runtrue.sandbox.git import STAGE, Tree, remove
from runtrue.sandbox.leaving import LINK, REPOSITORY, Leaving, Refusal, refused, seen_in

_MOVER = Path(_mover.__file__)
#: How it ends when it could not do it and has undone what it did.
_UNDONE = 1


@dataclass(frozen=True, slots=True)
class Applying:
    """The applying of one sandbox, whose home it is given."""

    home: Path

    @contextlib.contextmanager
    def alone(self) -> Iterator[int]:
        """Wait until no other process applies, a mover that was left running included.

        Gives the descriptor that a mover inherits, to keep others waiting. What is left over of a
        stage is cleared away in the beginning and in the end.
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
        """Whether anything was ever applied from here, to the end or not."""
        return (self.home / "applying").exists()

    @property
    def pending(self) -> str | None:
        """The candidate that is being applied, or was when a process or the machine stopped."""
        try:
            return str(json.loads(self._intent.read_text())["candidate"])
        except FileNotFoundError:
            return None

    def prepare(self, users: Tree, candidate: str, before: Mapping[str, str | None]) -> None:
        """Stage some files of a candidate and write down what is to be done with them.

        `before` has their signatures in the user's tree, which must be the same when it is done.
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
            raise _refused(reason(error)) from error

    def _stage(
        self, stage: Path, users: Tree, candidate: str, before: Mapping[str, str | None]
    ) -> list[Change]:
        """Write the new files, by the numbers of their changes, and have them on the disk."""
        self._stage_file.write_bytes(os.fsencode(stage))
        remove(stage)
        files, new, old = (stage / name for name in ("files", "new", "old"))
        for place in (files, new, old):
            place.mkdir(parents=True)
        # Git, and whatever asks it, looks no further.
        (stage / ".gitignore").write_text("*\n")
        written = users.write_files(candidate, before, into=files)
        changes: list[Change] = []
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
            changes.append(Change(path=path, before=present, after=wanted))
        remove(files)
        for place in (new, old, stage, stage.parent):
            sync(str(place))
        return changes

    def move(self, lock: int, *, back: bool = False) -> list[str]:
        """Have the mover do what the intent says, or undo what was done of it.

        Returns the files that were changed meanwhile; if there are any, everything is as it was.
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
        report: Report = json.loads(printed) if printed else {}
        if mover.returncode not in (0, _UNDONE):
            ended = f"the process that moves files ended ({mover.returncode})"
            raise _stuck(report.get("error", ended), back=back)
        if "error" in report:
            raise _refused(report["error"])
        return report.get("conflicts", [])

    def _clear(self) -> None:
        """Remove a stage that no intent needs any more, and an intent whose stage is gone."""
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


def refusals(users: Tree, base: str, candidate: str, sandbox: Path) -> tuple[Refusal, ...]:
    """What a candidate changes and may not: see `leaving`. `sandbox` is where its files are."""
    changes = users.changes(base, candidate)
    if not changes:
        return ()
    entries = users.entries(candidate)
    modes = {mode for _, mode, _ in changes.values()}
    # Where the others lead matters only to one that may lead there.
    linked = {name: sha for name, (mode, sha) in entries.items() if mode == LINK in modes}
    links = {name: users.blob(sha) for name, sha in linked.items()}
    sizes = users.sizes(sha for _, mode, sha in changes.values() if mode not in (None, REPOSITORY))
    leaving = []
    for path, (before, mode, sha) in changes.items():
        seen, names = seen_in(sandbox, path)
        leaving.append(
            Leaving(
                path=path,
                before=before,
                mode=mode,
                size=sizes.get(sha, 0),
                target=links.get(path, "") if mode == LINK else "",
                seen=seen,
                names=names,
            )
        )
    return refused(leaving, files=entries, links=links, hooks=_hooks(users))


def _hooks(users: Tree) -> str | None:
    """The directory of the user's hooks, as seen from the top, where it lies in the tree."""
    try:
        # Not by way of the settings that keep hooks from being run.
        place = users.git("config", "--local", "--get", "--type=path", "core.hooksPath").strip()
    except SandboxError:
        return None  # it is not set
    path = os.path.normpath(users.directory / place)
    inside = os.path.relpath(path, users.directory)
    return None if inside.startswith("..") or inside == "." else PurePosixPath(inside).as_posix()


def _refused(reason: str) -> SandboxError:
    return SandboxError(
        f"not applied, and nothing is changed: {reason}; put that right, then finish with "
        "`runtrue runs resume`"
    )


def _stuck(reason: str, *, back: bool) -> SandboxError:
    if back:
        return SandboxError(
            f"what was applied of the patch could not be undone: {reason}; put that right, then "
            "try again"
        )
    return SandboxError(
        f"not all of the patch could be applied: {reason}; put that right, then finish with "
        "`runtrue runs resume`"
    )


def _directories(top: Path, files: Iterable[str]) -> dict[str, int]:
    """The directories that some files are in, or take the place of, with their modes."""
    found: dict[str, int] = {}
    for file in files:
        for path in (PurePosixPath(file), *PurePosixPath(file).parents[:-1]):
            if str(path) not in found:
                with contextlib.suppress(OSError):
                    mode = (top / path).lstat().st_mode
                    if stat.S_ISDIR(mode):
                        found[str(path)] = stat.S_IMODE(mode)
    return found
