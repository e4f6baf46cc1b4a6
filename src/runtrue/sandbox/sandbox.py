"""Sandboxes away from the user's tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from runtrue.errors import SandboxError
from runtrue.process import MARK, kill_marked
from runtrue.sandbox._mover import signature
from runtrue.sandbox.apply import Applier
from runtrue.sandbox.apply_rules import RefusedFiles, candidate_violations
from runtrue.sandbox.base import DEFAULT_ISOLATION, SandboxInfo, TreeSandbox
from runtrue.sandbox.branch import (
    Branch,
    commit_change,
    is_same_commit,
    move_branch,
    tip_of,
    tree_at,
)
from runtrue.sandbox.checkout import SentProject, add_pack, is_checkout, pack_project
from runtrue.sandbox.extras import Extras, copy_extras, restore_extras
from runtrue.sandbox.git import Tree, make_readable, mark_of, remove, remove_special
from runtrue.sandbox.git_command import run_git
from runtrue.sandbox.isolation import Isolation, environment_paths, git_paths
from runtrue.sandbox.merge import MergeConflict, merge_trees, without_files
from runtrue.sandbox.repository import (
    can_be_worktree,
    common_git_dir,
    repository_of,
    unstaged_files,
)
from runtrue.sandbox.store import borrows_objects, make_clone, remove_repositories, reset_clone

T = TypeVar("T")

_AS_FOUND = "runtrue: the candidate as it was found"
#: Where the sandboxes are that were forked from one.
_FORKS = "forks"


class GitSandbox(TreeSandbox):
    """A working tree with a repository of its own, or a copy where the project has none.

    `kind` forces `worktree` or `copy`. A working tree is on the branch `branch`, if that is given.
    `staged` is the tree of the user's repository to begin with, in place of the files as they are.
    """

    def __init__(
        self,
        home: Path,
        project: Path,
        *,
        kind: str | None = None,
        branch: str | None = None,
        staged: str | None = None,
        pass_environment: tuple[str, ...] = (),
        judges: tuple[str, ...] = (),
        isolation: Isolation = DEFAULT_ISOLATION,
    ) -> None:
        super().__init__(
            home,
            project,
            pass_environment=pass_environment,
            judges=judges,
            isolation=isolation,
        )
        self._wanted_kind = kind
        self._branch = branch
        self._staged = staged
        self._applier = Applier(home)
        self._files = home / "tree"
        #: The candidate that the files are certain to be, as long as nobody has asked for them.
        self._untouched: str | None = None

    # -- making and removing ----------------------------------------------------------------

    def open(self) -> str:
        """Make the sandbox, again if it exists, and return its first candidate."""
        self.remove()
        self._scratch.mkdir(parents=True)
        kind, top = self._kind()
        users, base = self._take_base(kind, top)
        return self._make(kind, top, users, base)

    def rebuild(self, base: str, packs: Iterable[bytes]) -> None:
        """Make the sandbox of another machine again, from packs of its candidates.

        No candidate's files are there yet, as after a person has cleared them away.
        """
        self.remove()
        self._scratch.mkdir(parents=True)
        kind, top = self._kind()
        git_dir = self._make_store(top if kind == "worktree" else None)
        for pack in packs:
            add_pack(git_dir, pack)
        users = self._users_tree(top, git_dir, "base-index")
        users.begin_with(base)
        self._make(kind, top, users, base)
        self._untouched = None
        remove(self._files)

    def _make(self, kind: str, top: Path, users: Tree, base: str) -> str:
        git_dir = users.git_dir
        commit = users.commit(base, _AS_FOUND)
        if kind == "worktree":
            make_clone(self._files, top, git_dir, commit, self._branch)
        else:
            self._files.mkdir()
        sandbox = Tree(self._files, git_dir, self._home / "index")
        sandbox.begin_with(base)
        sandbox.git("checkout-index", "--all", "--force")
        extras = copy_extras(users, self._files, self._copies)
        self._untouched = base
        stores = (git_dir, common_git_dir(top)) if kind == "worktree" else ()
        shown = (*self._linked(extras), *(str(store / "objects") for store in stores))
        return self._finish_open(users, base, self._files, extras, shown)

    def fork(self, name: str, candidate: str) -> GitSandbox:
        """Make another sandbox of the same candidates, with the files of one; `remove` it.

        What is edited in one does not show in the other, and every candidate is one of both.
        """
        other = GitSandbox(
            self._home / _FORKS / name,
            self._project,
            kind=self._wanted_kind,
            pass_environment=self._pass_environment,
            judges=self._judges,
            isolation=self._isolation,
        )
        other._open_fork(self._info, candidate)
        return other

    def _open_fork(self, info: SandboxInfo, candidate: str) -> None:
        """Make the sandbox from the candidate of the one that it is forked from."""
        self.remove()
        self._scratch.mkdir(parents=True)
        top, git_dir = Path(info.top), Path(info.git_dir)
        sandbox = Tree(self._files, git_dir, self._home / "index")
        if borrows_objects(git_dir):
            commit = sandbox.commit(candidate, _AS_FOUND)
            make_clone(self._files, top, git_dir, commit, None)
        else:
            self._files.mkdir()
        sandbox.begin_with(candidate)
        sandbox.git("checkout-index", "--all", "--force")
        users = self._users_tree(top, git_dir, "base-index")
        users.begin_with(info.base)
        extras = copy_extras(users, self._files, self._copies)
        self._finish_open(users, info.base, self._files, extras, info.shown)

    def merged(self, base: str, candidate: str, other: str) -> str:
        """Return the candidate with what both have changed since `base`.

        Raises MergeConflict where they have changed the same lines.
        """
        if base == candidate:
            return other
        index = self._home / "merge-index"
        tree = replace(self._tree, index=index)
        return merge_trees(tree, base, candidate, other)

    def take_over(self) -> None:
        """Clear away what a killed process left behind, also in forks."""
        super().take_over()
        for home in (self._home / _FORKS).glob("*"):
            kill_marked(f"{MARK}={mark_of(home)}")
        remove(self._home / _FORKS)

    def users_tree(self) -> tuple[str, dict[str, str]]:
        """Return the id of what a sandbox would begin with, and the ids of what is at its top.

        No sandbox is left behind.
        """
        return self._look(lambda users, base: (base, users.top_entries(base)))

    def users_files(self) -> dict[str, str]:
        """Return the id of the content of each file that a sandbox would begin with, by name."""
        return self._look(
            lambda users, base: {name: sha for name, (_, sha) in users.entries(base).items()}
        )

    def _look(self, at: Callable[[Tree, str], T]) -> T:
        self.remove()
        self._scratch.mkdir(parents=True)
        try:
            return at(*self._take_base(*self._kind()))
        finally:
            super().remove()

    def packed_files(self, is_known: Callable[[str], bool]) -> tuple[SentProject, dict[str, bytes]]:
        """Return the user's files for another machine: what they are, and packs by name.

        Nothing is packed that is known there. No sandbox is left behind.
        """
        kind, _ = self._kind()
        return self._look(
            lambda users, base: pack_project(users, base, kind, self._project, is_known)
        )

    @property
    def is_made(self) -> bool:
        """True if the sandbox was made, and is there."""
        return self._info_file.exists()

    @property
    def candidates(self) -> Tree:
        """The store of all candidates, of a sandbox that is made."""
        return self._tree

    def _kind(self) -> tuple[str, Path]:
        """Return whether it is a `worktree` or a `copy`, and the user's directory it is of."""
        top = repository_of(self._project)
        kind = self._wanted_kind or ("worktree" if top and can_be_worktree(top) else "copy")
        if kind != "worktree":
            return kind, self._project
        if top is None:
            raise SandboxError(f"{self._project} is not in a git repository: no worktree here")
        return kind, top

    def _take_base(self, kind: str, top: Path) -> tuple[Tree, str]:
        """Store the user's files as they are, or what is staged; return the tree and its id."""
        git_dir = self._make_store(top if kind == "worktree" else None)
        users = self._users_tree(top, git_dir, "base-index")
        if self._staged is not None:
            users.begin_with(self._staged)
            return users, users.with_files(self._staged, unstaged_files(top))
        if kind == "worktree":
            # The user's own index knows which files count although git ignores them.
            users.begin_with_entries(run_git("ls-files", "--stage", "-z", cwd=top))
        return users, users.snapshot()

    def _linked(self, extras: Extras) -> Iterator[str]:
        """Return the targets of extras that are links, with the base of virtual environments."""
        for path in extras.linked:
            yield from map(str, (path, *environment_paths(Path(path))))

    def remove(self) -> None:
        """Remove the sandbox and all it contains. An interrupted apply is undone."""
        if self._applier.was_begun:
            with self._applier.locked() as lock:
                if self._applier.pending:
                    self._applier.move(lock, back=True)
        super().remove()
        self._untouched = None

    # -- candidates -------------------------------------------------------------------------

    @property
    def directory(self) -> Path:
        """The directory with the files of the present candidate."""
        self._untouched = None
        return self._files

    def restore(self, candidate: str) -> None:
        """Make the files exactly those of a candidate, with nothing left over."""
        if candidate == self._untouched:
            return
        self._untouched = None
        self._made().restore(candidate)
        restore_extras(self._info.extras, self._tree, self._copies)

    def snapshot(self) -> str:
        """Store the files as they are now as a candidate."""
        # A command may have removed all of it; that is an edit like any other.
        files = self._made()
        try:
            return files.snapshot()
        except SandboxError:
            # Unreadable files are still part of the candidate; sockets and the like are not.
            remove_special(self._files)
            make_readable(self._files)
            return files.snapshot()

    def found(self, left: str) -> str:
        """Return the candidate that a person has made of the files, left to them as another.

        A person who has cleared the sandbox away has edited nothing: the files are restored.
        """
        self._untouched = None
        if not self._files.is_dir() or not any(self._files.iterdir()):
            remove(self._files)
            self.restore(left)
        return self.snapshot()

    def not_kept(self) -> tuple[str, ...]:
        """Return the files made here that no candidate contains, since git ignores them."""
        extras = self._info.extras.files
        return tuple(
            file
            for file in self._made().ignored_files()
            if not any(file == name or file.startswith(f"{name}/") for name in extras)
        )

    def settle(self, candidate: str, patch: Path) -> str:
        """Leave a candidate as the result, and nothing that a person's git would run there."""
        diff = super().settle(candidate, patch)
        reset_clone(self._files)
        remove_repositories(self._files)
        return diff

    def put_back(self, files: tuple[str, ...], candidate: str) -> None:
        """Restore some files, present or absent, from a candidate."""
        self._untouched = None
        self._made().restore_files(candidate, files)

    # -- the user's tree --------------------------------------------------------------------

    def apply(self, candidate: str) -> tuple[str, ...]:
        """Apply a candidate's changes to the user's tree; return the files that differ.

        All of them or none: however this process ends, the tree is the old one or the new one as
        soon as what it started has ended. If the user has changed these files meanwhile, nothing is
        written. Applying again, as after a crash, does what is left to do. Raises RefusedFiles.
        """
        if is_checkout(self.top):
            raise SandboxError(
                "not applied: this worker has only a copy of your files; apply it where they are"
            )
        applier, users, base = self._applier, self._users, self.base
        files = users.changed(base, candidate)
        self.demand_leaving(candidate)
        with applier.locked() as lock:
            if begun := applier.pending:
                self._move(lock, back=begun != candidate)
            # Before the snapshot: what is changed after it was taken will not be as it was here.
            before = {file: signature(str(self.top), file) for file in files}
            users.begin_with(base)
            now = users.snapshot()
            pending = set(files) & set(users.changed(now, candidate))
            conflicts = sorted(pending & set(users.changed(base, now)))
            if conflicts:
                raise self._conflict(conflicts)
            if pending:
                wanted = {file: before[file] for file in files if file in pending}
                applier.prepare(users, candidate, wanted)
                self._move(lock)
        return files

    def patched(self, patch: Path, *, is_part: bool = False) -> str:
        """Return the candidate that a patch makes of the user's files, as they are now.

        Raises SandboxError if they are not those that the patch was made from; `is_part` if it has
        only some hunks of what was made, and so names other results.
        """
        tree, text = self._made(), patch.read_text("utf-8", "surrogateescape")
        conflict = SandboxError(
            f"not applied: files in {self.top} changed since the run; merge {patch} by hand"
        )
        try:
            tree.git("apply", "--whitespace=nowarn", str(patch))
        except SandboxError as error:
            raise conflict from error
        candidate = self.snapshot()
        ids = _without_new_ids if is_part else _without_ids
        if ids(self.diff(candidate)) != ids(text):
            raise conflict
        return candidate

    def demand_leaving(self, candidate: str) -> None:
        """Raise RefusedFiles, with a finding for each, for files that must not be applied."""
        disguised = self._tree.disguised()
        if found := candidate_violations(self._users, self.base, candidate, self._files, disguised):
            raise RefusedFiles(found)

    def renew(self, base: str, candidate: str) -> tuple[str, str] | None:
        """Merge a candidate with what the user changed since `base`.

        Return the new base and the merged candidate, or None if there is nothing to merge. New
        files that the user's repository does not track are no part of it. Raises SandboxError if
        both have changed the same lines.
        """
        if self.pending_apply():
            return None
        users = self._users
        users.begin_with(base)
        found = users.snapshot()
        own, theirs = users.changes(base, candidate), users.changes(base, found)
        untracked = self._untracked(file for file, (mode, *_) in theirs.items() if mode is None)
        now = without_files(users, found, untracked - own.keys())
        differing = set(users.changed(now, candidate))
        if all(file in own and file not in differing for file in users.changed(base, now)):
            return None
        try:
            merged = merge_trees(users, base, now, candidate)
        except MergeConflict as conflict:
            raise self._conflict([conflict.file], conflict.sides) from conflict
        self.rebase(now)
        return now, merged

    def merge_onto(self, base: str, candidate: str, commit: str) -> tuple[str, str]:
        """Merge a candidate's change since `base` into a commit of the user's repository.

        Return the state of the commit, and the merged candidate. Raises SandboxError.
        """
        users = self._users
        files = users.changed(base, candidate)
        found = tree_at(users, self.top, commit, base, files)
        try:
            merged = merge_trees(users, base, found, candidate)
        except MergeConflict as conflict:
            shown = f":\n{conflict.sides}" if conflict.sides else ""
            raise SandboxError(
                f"not applied: {conflict.file} is another in {commit[:10]}; merge the patch by "
                f"hand{shown}"
            ) from conflict
        self.rebase(found)
        return found, merged

    def commit_onto(self, branch: Branch, base: str, candidate: str, message: str) -> str:
        """Commit a candidate's change since `base` on a branch of the user's; return the commit.

        Doing it again, as after a crash, changes nothing. Raises SandboxError where the branch is
        not where it was, or RefusedFiles.
        """
        self.demand_leaving(candidate)
        states = (base, candidate)
        commit = commit_change(self._users, self.top, branch.parent, states, message)
        tip = tip_of(self.top, branch.name)
        if tip is not None and tip != branch.before and is_same_commit(self.top, tip, commit):
            return tip
        if tip != branch.before:
            raise SandboxError(
                f"not applied: the branch {branch.name} changed in the meantime; apply the "
                "plan again"
            )
        move_branch(self.top, branch.name, commit, branch.before)
        return commit

    def rebase(self, base: str) -> None:
        """Take another state for the one that the candidates are changes of."""
        self._store(replace(self._info, base=base))

    def _untracked(self, added: Iterable[str]) -> frozenset[str]:
        """Return the added files that the user's repository, if there is one, does not track."""
        if repository_of(self._project) != self.top:
            return frozenset()
        tracked = set(run_git("ls-files", "-z", cwd=self.top).split("\0"))
        return frozenset(added) - tracked

    def pending_apply(self) -> bool:
        """Return whether applying was interrupted, or goes on although its starter was killed."""
        return self._applier.pending is not None

    def _move(self, lock: int, *, back: bool = False) -> None:
        if conflicts := self._applier.move(lock, back=back):
            raise self._conflict(conflicts)

    def _conflict(self, files: list[str], sides: str = "") -> SandboxError:
        shown = f":\n{sides}" if sides else ""
        return SandboxError(
            f"not applied: {', '.join(files)} changed in {self._info.top} since the run began; "
            f"stash the changes or merge the patch by hand{shown}"
        )

    def _git_paths(self) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
        # A command that was killed with its run may have left a link in its place.
        reset_clone(self._files)
        return git_paths(self._files)

    def _after_command(self) -> None:
        reset_clone(self._files)

    @property
    def _users(self) -> Tree:
        return self._users_tree(self.top, Path(self._info.git_dir), "apply-index")

    @property
    def _copies(self) -> Path:
        return self._home / "extras"

    @property
    def _tree(self) -> Tree:
        info = self._info
        return Tree(self._files, Path(info.git_dir), self._home / "index", info.extras.files)

    def _made(self) -> Tree:
        """Return the tree, with its directory made again if it is gone."""
        tree = self._tree
        if not self._files.is_dir():
            self._files.mkdir(parents=True)
            if borrows_objects(tree.git_dir) or not tree.git_dir.is_relative_to(self._home):
                commit = tree.commit(self._info.base, _AS_FOUND)
                make_clone(self._files, self.top, tree.git_dir, commit, self._branch)
        return tree


def _without_ids(patch: str) -> str:
    """Return a patch whose ids of contents have one length: git shortens them as it likes."""
    return re.sub(r"^index (\w{7})\w*\.\.(\w{7})\w*", r"index \1..\2", patch, flags=re.MULTILINE)


def _without_new_ids(patch: str) -> str:
    """Return a patch with the ids of what was there before, and none of what is there after."""
    return re.sub(r"^index (\w{7})\w*\.\.\w+", r"index \1", patch, flags=re.MULTILINE)
