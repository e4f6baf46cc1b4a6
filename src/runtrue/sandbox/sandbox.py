"""The sandbox: where the candidates of one run live, away from the user's tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from runtrue.errors import SandboxError
from runtrue.sandbox._mover import signature
from runtrue.sandbox.applying import Applying, refusals
from runtrue.sandbox.base import DEFAULT_ISOLATION, Site, TreeSandbox
from runtrue.sandbox.environment import find_behind_shims, imports
from runtrue.sandbox.extras import Extras, bring_extras, put_extras
from runtrue.sandbox.git import Tree, make_readable, remove, remove_special, run_git
from runtrue.sandbox.isolation import Isolation, environment_places
from runtrue.sandbox.leaving import Refusal, RefusedFiles
from runtrue.sandbox.repository import (
    borrow_objects,
    can_be_worktree,
    common_git_dir,
    repository_of,
)

_AS_FOUND = "runtrue: the candidate as it was found"


class GitSandbox(TreeSandbox):
    """A working tree beside the project's repository, or a copy where there is no repository.

    `home` is a directory for this run alone; `project` the user's directory. `kind` forces
    `worktree` or `copy`. A working tree is on the branch `branch` of its own repository, if that is
    given. Nothing is done before `open`.
    """

    def __init__(
        self,
        home: Path,
        project: Path,
        *,
        kind: str | None = None,
        branch: str | None = None,
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
        self._applying = Applying(home)
        self._place = home / "tree"
        #: The candidate that the files are certain to be, as long as nobody knows where they are.
        self._untouched: str | None = None

    # -- making and removing ----------------------------------------------------------------

    def open(self) -> str:
        """Make the sandbox and return the id of the candidate it begins with.

        What a killed process left of an earlier try is cleared away first.
        """
        self.remove()
        self._scratch.mkdir(parents=True)
        top = repository_of(self._project)
        kind = self._wanted_kind or ("worktree" if top and can_be_worktree(top) else "copy")
        if kind == "worktree":
            if top is None:
                raise SandboxError(f"{self._project} is not in a git repository: no worktree here")
            git_dir = common_git_dir(top)
        else:
            top, git_dir = self._project, self._make_store()
        users = self._users_tree(top, git_dir, "base-index")
        if kind == "worktree":
            # The user's own index tells which files count although git is told to ignore them.
            users.begin_with_entries(run_git("ls-files", "--stage", "-z", cwd=top))
        base = users.snapshot()
        commit = users.commit(base, _AS_FOUND)
        if kind == "worktree":
            self._clone(git_dir, commit)
        else:
            self._place.mkdir()
        sandbox = Tree(self._place, git_dir, self._home / "index")
        sandbox.begin_with(base)
        sandbox.git("checkout-index", "--all", "--force")
        extras = bring_extras(users, self._place, self._copies)
        behind_shims = find_behind_shims(self._project, self._environment(top))
        found = imports(top, self._place, self._environment(top, behind_shims))
        site = Site(
            top=str(top),
            git_dir=str(git_dir),
            base=base,
            extras=extras,
            python_path=found.path,
            behind_shims=behind_shims,
            shown=(*found.outside, *self._linked(extras), str(git_dir / "objects")),
        )
        self._keep(site)
        self._untouched = base
        return base

    def _linked(self, extras: Extras) -> Iterator[str]:
        """What extras that are links lead to, with what a virtual environment is made of."""
        for name in extras.files:
            copy = self._copies / name
            if copy.is_symlink() and copy.is_dir():
                yield from map(str, environment_places(copy.resolve()))

    def _clone(self, git_dir: Path, commit: str) -> None:
        """A working tree with a repository of its own, that borrows the objects of the user's.

        Not `git worktree add`: that shares branches, stash and configuration with the user's
        repository, and coding agents like to use all three.
        """
        run_git("init", "--quiet", "--template=", str(self._place), cwd=self._home)
        borrow_objects(self._place / ".git", git_dir)
        form = "--format=create %(refname) %(objectname)"
        refs = run_git("for-each-ref", form, "refs/heads", "refs/tags", cwd=git_dir).split("\n")
        head: tuple[str, ...] = ("--no-deref", "HEAD")
        if self._branch:
            own = f"refs/heads/{self._branch}"
            # Git keeps no branch whose name is the beginning of another's.
            refs = [line for line in refs if not _is_in_the_way(line, own)]
            run_git("symbolic-ref", "HEAD", own, cwd=self._place)
            head = ("HEAD",)
        run_git("update-ref", "--stdin", cwd=self._place, stdin="\n".join(refs))
        run_git("update-ref", *head, commit, cwd=self._place)
        run_git("read-tree", commit, cwd=self._place)

    def remove(self) -> None:
        """Remove the sandbox and all it holds. An apply that was cut short is undone."""
        if self._applying.was_begun:
            with self._applying.alone() as lock:
                if self._applying.pending:
                    self._applying.move(lock, back=True)
        super().remove()
        self._untouched = None

    # -- candidates -------------------------------------------------------------------------

    @property
    def directory(self) -> Path:
        """Where the files of the present candidate are."""
        self._untouched = None
        return self._place

    def restore(self, candidate: str) -> None:
        """Make the files exactly those of a candidate, with nothing left over."""
        if candidate == self._untouched:
            return
        self._untouched = None
        self._made().restore(candidate)
        put_extras(self._site.extras, self._tree, self._copies)

    def snapshot(self) -> str:
        """Keep the files as they are now as a candidate."""
        # A command may have removed all of it; that is an edit like any other.
        files = self._made()
        try:
            return files.snapshot()
        except SandboxError:
            # Somebody made files unreadable; they are still part of the candidate. What is no file,
            # in the place of one, is not.
            remove_special(self._place)
            make_readable(self._place)
            return files.snapshot()

    def found(self, left: str) -> str:
        """The candidate that the files are now, which were left as another to be looked at.

        Who has cleared the sandbox away has edited nothing: then the files are put back.
        """
        self._untouched = None
        if not self._place.is_dir() or not any(self._place.iterdir()):
            remove(self._place)
            self.restore(left)
        return self.snapshot()

    def not_kept(self) -> tuple[str, ...]:
        """Files that were made here and are no part of a candidate, since git ignores them."""
        extras = self._site.extras.files
        return tuple(
            file
            for file in self._made().ignored_files()
            if not any(file == name or file.startswith(f"{name}/") for name in extras)
        )

    def put_back(self, files: tuple[str, ...], candidate: str) -> None:
        """Make some files, present or absent, those of a candidate again."""
        self._untouched = None
        self._made().restore_files(candidate, files)

    # -- the user's tree --------------------------------------------------------------------

    def apply(self, candidate: str) -> tuple[str, ...]:
        """Bring a candidate's changes into the user's tree; return the files that differ.

        All of them or none: however this process ends, the tree is the old one or the new one as
        soon as what it started has ended. Files that the user has changed meanwhile are a conflict,
        and then nothing is written. Applying a second time, or after a crash in the middle, does
        what is left to do. Raises RefusedFiles, with a finding for each, when there are files that
        may not leave the sandbox.
        """
        site, applying = self._site, self._applying
        users = self._users_tree(Path(site.top), Path(site.git_dir), "apply-index")
        files = users.changed(site.base, candidate)
        self.demand_leaving(candidate)
        with applying.alone() as lock:
            if begun := applying.pending:
                self._move(lock, back=begun != candidate)
            # Before the snapshot: what is changed after it was taken will not be as it was here.
            before = {file: signature(site.top, file) for file in files}
            users.begin_with(site.base)
            now = users.snapshot()
            pending = set(files) & set(users.changed(now, candidate))
            conflicts = sorted(pending & set(users.changed(site.base, now)))
            if conflicts:
                raise self._conflict(conflicts)
            if pending:
                wanted = {file: before[file] for file in files if file in pending}
                applying.prepare(users, candidate, wanted)
                self._move(lock)
        return files

    def demand_leaving(self, candidate: str) -> None:
        """Raise RefusedFiles, with a finding for each, for files that may not leave the sandbox."""
        site = self._site
        users = self._users_tree(Path(site.top), Path(site.git_dir), "apply-index")
        disguised = (Refusal.of_git(file) for file in self._tree.disguised())
        if found := (*refusals(users, site.base, candidate, self._place), *disguised):
            raise RefusedFiles(found)

    def renew(self, base: str, candidate: str) -> tuple[str, str] | None:
        """Begin with what the user has now, where that differs from `base` beside the candidate.

        The new base, and the candidate on top of it; nothing where there is nothing to renew.
        Raises SandboxError when the user has changed files of the candidate's.
        """
        if self.pending_apply():
            return None
        site = self._site
        users = self._users_tree(Path(site.top), Path(site.git_dir), "apply-index")
        users.begin_with(base)
        now = users.snapshot()
        own, theirs = users.changes(base, candidate), set(users.changed(base, now))
        if conflicts := sorted(theirs & set(own) & set(users.changed(now, candidate))):
            raise self._conflict(conflicts)
        if theirs <= set(own):
            return None
        gone = f"0 {'0' * len(now)}"
        lines = [
            f"{gone if mode is None else f'{mode:o} {sha}'}\t{file}"
            for file, (_, mode, sha) in own.items()
        ]
        users.begin_with(now)
        users.begin_with_entries("".join(f"{line}\0" for line in lines))
        merged = users.git("write-tree").strip()
        self._keep(replace(site, base=now))
        return now, merged

    def pending_apply(self) -> bool:
        """Whether applying was cut short, so that it has to be done again to be finished.

        Or whether it is being done: by a process that goes on although its starter was killed.
        """
        return self._applying.pending is not None

    def _move(self, lock: int, *, back: bool = False) -> None:
        if conflicts := self._applying.move(lock, back=back):
            raise self._conflict(conflicts)

    def _conflict(self, files: list[str]) -> SandboxError:
        return SandboxError(
            f"not applied: {', '.join(files)} changed in {self._site.top} since the run began; "
            "put the changes aside or merge the patch by hand"
        )

    @property
    def _copies(self) -> Path:
        return self._home / "extras"

    @property
    def _tree(self) -> Tree:
        site = self._site
        return Tree(self._place, Path(site.git_dir), self._home / "index", site.extras.files)

    def _made(self) -> Tree:
        """The same, with the directory made anew where it is gone."""
        tree = self._tree
        if not self._place.is_dir():
            self._place.mkdir(parents=True)
            if not tree.git_dir.is_relative_to(self._home):
                self._clone(tree.git_dir, tree.commit(self._site.base, _AS_FOUND))
        return tree


def _is_in_the_way(line: str, own: str) -> bool:
    """Whether a line that creates a reference creates one beside which `own` cannot be."""
    _, _, rest = line.partition(" ")
    name = rest.partition(" ")[0]
    return f"{name}/".startswith(f"{own}/") or f"{own}/".startswith(f"{name}/")
