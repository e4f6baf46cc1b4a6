"""No sandbox: a run works in the user's own tree, and nothing can be undone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from runtrue.confinement import Confinement
from runtrue.errors import SandboxError
from runtrue.sandbox.base import TreeSandbox
from runtrue.sandbox.extras import Extras, installed_at
from runtrue.sandbox.git import INSTALLED, Tree
from runtrue.sandbox.git_command import run_git
from runtrue.sandbox.isolation import environment_paths, git_paths
from runtrue.sandbox.repository import repository_of

_SUBMODULE = "160000 "


class UsersTree(TreeSandbox):
    """The user's own tree in place of a sandbox.

    Candidates are stored to compare them, but never restored: that raises SandboxError.
    """

    def open(self) -> str:
        """Store the user's files as the first candidate, and return it."""
        self.remove()
        self._scratch.mkdir(parents=True)
        repository = repository_of(self._project)
        git_dir = self._make_store(repository)
        top = repository or self._project
        users = self._users_tree(top, git_dir, "index")
        if repository:
            # As in a working tree, files count that are tracked although they are ignored.
            entries = run_git("ls-files", "--stage", "-z", cwd=repository).split("\0")
            known = [entry for entry in entries if not entry.startswith(_SUBMODULE)]
            users.begin_with_entries("\0".join(known))
        base = users.snapshot()
        return self._finish_open(users, base, top, Extras(), self._environments())

    def _environments(self) -> Iterator[str]:
        """Return the targets of the project's virtual environments, while they are the user's."""
        for name in INSTALLED:
            if (place := self._project / name).is_dir() and (found := installed_at(place)):
                yield from map(str, (found, *environment_paths(found)))

    @property
    def directory(self) -> Path:
        """The user's directory."""
        return self.top

    def restore(self, candidate: str) -> None:
        """Do nothing if the files are the candidate's, else raise SandboxError."""
        self._require_unchanged(self.changed(self.snapshot(), candidate))

    def put_back(self, files: tuple[str, ...], candidate: str) -> None:
        """Do nothing if these files are the candidate's, else raise SandboxError."""
        changed = self.changed(self.snapshot(), candidate)
        self._require_unchanged(tuple(file for file in changed if file in files))

    def apply(self, candidate: str) -> tuple[str, ...]:
        """Return the files that differ from the first candidate: they are applied already.

        Raises SandboxError if the user has changed them since.
        """
        files = self.changed(self.base, candidate)
        changed = set(files) & set(self.changed(self.snapshot(), candidate))
        if changed:
            raise SandboxError(
                f"not applied: {', '.join(sorted(changed))} changed in {self.top} since it was "
                "checked; check it again"
            )
        return files

    def rebase(self, base: str) -> None:
        """Do nothing: candidates are the user's own files here, so there is nothing to merge."""

    def pending_apply(self) -> bool:
        """Return False: applying takes no time here."""
        return False

    def _require_unchanged(self, changed: tuple[str, ...]) -> None:
        if changed:
            raise SandboxError(
                f"there is no sandbox to roll back in: the files in {self.top} are as the last "
                f"actor left them; restore {', '.join(changed)} by hand, or use a sandbox "
                "(`worktree` or `copy`)"
            )

    def _inside(self, top: Path) -> Path:
        return self._project

    def _box(self) -> Confinement:
        # What the user's own git and editor run must not be changed here, nor what is recorded.
        git, read_only = git_paths(self.top)
        return self._isolation.box(
            write=(self.top, *git, self._scratch),
            read=map(Path, self._info.shown),
            read_only=read_only,
            hidden=(self._home.parent.parent,) if self._home.is_relative_to(self.top) else (),
            private=self._private,
        )

    @property
    def _tree(self) -> Tree:
        return self._users_tree(self.top, Path(self._info.git_dir), "index")
