"""The sandbox: where the candidates of one run live, away from the user's tree."""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import msgspec

from runtrue.errors import SandboxError
from runtrue.loop import Workplace
from runtrue.process import MARK, kill_marked
from runtrue.sandbox.environment import allowed, python_path, search_path
from runtrue.sandbox.extras import Extras, bring_extras, put_extras
from runtrue.sandbox.git import Tree, make_readable, remove, run_git
from runtrue.sandbox.judges import is_judge, is_test


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """How a sandbox was made, kept beside it so that any later process finds it as it is."""

    #: The top of the user's tree that the sandbox is an image of, and its repository if any.
    top: str
    git_dir: str
    base: str
    extras: Extras
    python_path: str | None


class GitSandbox:
    """A working tree beside the project's repository, or a copy where there is no repository.

    `home` is a directory for this run alone; `project` the user's directory. `kind` forces
    `worktree` or `copy`. Nothing is done before `open`.
    """

    def __init__(
        self,
        home: Path,
        project: Path,
        *,
        kind: str | None = None,
        pass_environment: tuple[str, ...] = (),
        judges: tuple[str, ...] = (),
    ) -> None:
        self.directory = home / "tree"
        self._home = home
        self._project = project
        self._wanted_kind = kind
        self._pass_environment = pass_environment
        self._judges = judges
        self._opened: Site | None = None

    # -- making and removing ----------------------------------------------------------------

    def open(self) -> str:
        """Make the sandbox and return the id of the candidate it begins with.

        What a killed process left of an earlier try is cleared away first.
        """
        self.remove()
        self._scratch.mkdir(parents=True)
        top = repository_of(self._project)
        kind = self._wanted_kind or ("worktree" if top and _can_be_worktree(top) else "copy")
        if kind == "worktree":
            if top is None:
                raise SandboxError(f"{self._project} is not in a git repository: no worktree here")
            git_dir = _common_git_dir(top)
        else:
            top, git_dir = self._project, self._home / "git"
            run_git("init", "--quiet", "--bare", str(git_dir), cwd=self._home)
            # Bytes are bytes: no attribute of the project's may rewrite line ends in a copy.
            (git_dir / "info").mkdir(exist_ok=True)
            (git_dir / "info" / "attributes").write_text("* -text -filter -ident\n")
        users = self._users_tree(top, git_dir, "base-index")
        if kind == "worktree":
            # The user's own index tells which files count although git is told to ignore them.
            users.begin_with_entries(run_git("ls-files", "--stage", "-z", cwd=top))
        base = users.snapshot()
        commit = users.commit(base, "runtrue: the candidate as it was found")
        if kind == "worktree":
            self._clone(git_dir, commit)
        else:
            self.directory.mkdir()
        sandbox = Tree(self.directory, git_dir, self._home / "index")
        sandbox.begin_with(base)
        sandbox.git("checkout-index", "--all", "--force")
        site = Site(
            top=str(top),
            git_dir=str(git_dir),
            base=base,
            extras=bring_extras(users, self.directory, self._copies),
            python_path=python_path(top, self.directory, self._environment(top, None)),
        )
        _write(self._site_file, msgspec.json.encode(site))
        self._opened = site
        return base

    def _clone(self, git_dir: Path, commit: str) -> None:
        """A working tree with a repository of its own, that borrows the objects of the user's.

        Not `git worktree add`: that shares branches, stash and configuration with the user's
        repository, and coding agents like to use all three.
        """
        run_git("init", "--quiet", "--template=", str(self.directory), cwd=self._home)
        alternates = self.directory / ".git" / "objects" / "info" / "alternates"
        alternates.parent.mkdir(parents=True, exist_ok=True)
        alternates.write_text(f"{git_dir / 'objects'}\n", errors="surrogateescape")
        kinds = ("refs/heads", "refs/tags")
        form = "--format=create %(refname) %(objectname)"
        refs = run_git("for-each-ref", form, *kinds, cwd=git_dir)
        run_git("update-ref", "--stdin", cwd=self.directory, stdin=refs)
        run_git("update-ref", "--no-deref", "HEAD", commit, cwd=self.directory)
        run_git("read-tree", commit, cwd=self.directory)

    def take_over(self) -> None:
        """Clear away what a killed process left behind: its commands, and their locks."""
        kill_marked(f"{MARK}={self._home.name}")
        for lock in self._home.glob("*.lock"):
            lock.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the sandbox and all it holds."""
        remove(self._home)
        self._opened = None

    # -- candidates -------------------------------------------------------------------------

    def restore(self, candidate: str) -> None:
        """Make the files exactly those of a candidate, with nothing left over."""
        self._tree.restore(candidate)
        put_extras(self._site.extras, self._tree, self._copies)

    def snapshot(self) -> str:
        """Keep the files as they are now as a candidate."""
        try:
            return self._tree.snapshot()
        except SandboxError:
            # Somebody made files unreadable; they are still part of the candidate.
            make_readable(self.directory)
            return self._tree.snapshot()

    def changed(self, old: str, new: str) -> tuple[str, ...]:
        """The files in which two candidates differ."""
        return self._tree.changed(old, new)

    def put_back(self, files: tuple[str, ...], candidate: str) -> None:
        """Make some files, present or absent, those of a candidate again."""
        self._tree.restore_files(candidate, files)

    def count_lines(self, old: str, new: str) -> tuple[int, int]:
        """How many lines were added and removed between two candidates."""
        return self._tree.count_lines(old, new)

    def protected(self, files: tuple[str, ...]) -> tuple[str, ...]:
        """Those of `files` that judge the candidate."""
        # The patterns are written as seen from the project, the files as seen from the root.
        inside = self._project.relative_to(self._site.top).as_posix()
        prefix = "" if inside == "." else f"{glob.escape(inside)}/"
        patterns = [f"{prefix}{pattern}" for pattern in self._judges]
        return tuple(file for file in files if is_judge(file, patterns))

    def rooted(self, file: str) -> str:
        """A file of the project's, as seen from the root that paths are relative to."""
        return (self._project.relative_to(self._site.top) / file).as_posix()

    def content(self, file: str, candidate: str) -> bytes | None:
        """What a file of the project's holds in a candidate, if it is there."""
        file = self.rooted(file)
        if file not in self._tree.files(candidate):
            return None
        return self._tree.content(file, candidate)

    def original(self, file: str) -> bytes | None:
        """What a file, as seen from the root, held when the run began, if it was there."""
        base = self._site.base
        return self._tree.content(file, base) if file in self._tree.files(base) else None

    def content_hash(self, file: str, candidate: str) -> str | None:
        """The SHA-256 of a file of the project's in a candidate, if it is there."""
        content = self.content(file, candidate)
        return None if content is None else hashlib.sha256(content).hexdigest()

    def may_add(self, file: str, candidate: str) -> bool:
        """Whether a file is a test that a candidate has not got, so that it may be added."""
        return is_test(file) and file not in self._tree.files(candidate)

    def changed_lines(self, candidate: str) -> dict[str, frozenset[int]]:
        """The lines, by file, that a candidate has and the user's tree has not."""
        return self._tree.changed_lines(self._site.base, candidate)

    @property
    def base(self) -> str:
        """The candidate that it began with."""
        return self._site.base

    @property
    def top(self) -> Path:
        """The directory of the user's that paths in diffs are relative to."""
        return Path(self._site.top)

    def difference(self, old: str, new: str) -> str:
        """The patch from one candidate to another."""
        return self._tree.diff(old, new)

    def diff(self, candidate: str) -> str:
        """The patch from what the user has to a candidate."""
        return self._tree.diff(self._site.base, candidate)

    # -- the user's tree --------------------------------------------------------------------

    def apply(self, candidate: str) -> tuple[str, ...]:
        """Bring a candidate's changes into the user's tree; return the files that differ.

        Files that the user has changed meanwhile are a conflict, and then nothing is written.
        Applying a second time, or after a crash in the middle, does what is left to do.
        """
        site = self._site
        users = self._users_tree(Path(site.top), Path(site.git_dir), "apply-index")
        users.begin_with(site.base)
        now = users.snapshot()
        files = users.changed(site.base, candidate)
        pending = set(files) & set(users.changed(now, candidate))
        conflicts = sorted(pending & set(users.changed(site.base, now)))
        if conflicts:
            raise SandboxError(
                f"not applied: {', '.join(conflicts)} changed in {site.top} since the run began; "
                "put the changes aside or merge the patch by hand"
            )
        if pending:
            try:
                users.apply(users.diff(now, candidate, sorted(pending)))
            except SandboxError as error:
                raise SandboxError(
                    f"not all of the patch could be applied: {error}; put that right, then finish "
                    "with `runtrue runs resume`"
                ) from error
        return files

    # -- commands ---------------------------------------------------------------------------

    def workplace(self) -> Workplace:
        """Where commands on the candidate run, and what they see."""
        top = Path(self._site.top)
        return Workplace(
            directory=self._inside(top),
            root=self.directory,
            scratch=self._scratch,
            environment=self._environment(top, self._site.python_path),
        )

    def _inside(self, top: Path) -> Path:
        """The project within the sandbox, which may be the image of more than the project."""
        return self.directory / self._project.relative_to(top)

    def _environment(self, top: Path, import_from: str | None) -> dict[str, str]:
        environment = allowed(os.environ, self._pass_environment)
        path = environment.get("PATH", os.defpath)
        environment |= {
            "PATH": search_path(self._inside(top), path),
            MARK: self._home.name,
            # Byte code is trusted by time and size of its source; candidates differ in neither.
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        if import_from:
            environment["PYTHONPATH"] = import_from
        return environment

    @property
    def _scratch(self) -> Path:
        return self._home / "scratch"

    def _users_tree(self, top: Path, git_dir: Path, index: str) -> Tree:
        sandboxes = self._home.parent
        inside = sandboxes.is_relative_to(top) and sandboxes != top
        excluded = (sandboxes.relative_to(top).as_posix(),) if inside else ()
        return Tree(top, git_dir, self._home / index, excluded)

    @property
    def _copies(self) -> Path:
        return self._home / "extras"

    @property
    def _site_file(self) -> Path:
        return self._home / "site.json"

    @property
    def _site(self) -> Site:
        if self._opened is None:
            try:
                self._opened = msgspec.json.decode(self._site_file.read_bytes(), type=Site)
            except (OSError, msgspec.DecodeError) as error:
                raise SandboxError(
                    f"the sandbox {self._home} is gone or broken; start a new run"
                ) from error
        return self._opened

    @property
    def _tree(self) -> Tree:
        site = self._site
        # A command may have removed all of it; that is an edit like any other.
        self.directory.mkdir(parents=True, exist_ok=True)
        return Tree(self.directory, Path(site.git_dir), self._home / "index", site.extras.files)


def repository_of(project: Path) -> Path | None:
    """The top of the git repository that holds `project`, if it is not ignored there."""
    try:
        top = run_git("rev-parse", "--show-toplevel", cwd=project).strip()
    except SandboxError:
        if shutil.which("git") is None:
            raise
        return None
    return Path(top) if top and not _is_ignored(project, Path(top)) else None


def _is_ignored(project: Path, top: Path) -> bool:
    if project == top:
        return False
    try:
        run_git("check-ignore", "--quiet", str(project), cwd=top)
    except SandboxError:
        return False
    return True


def _can_be_worktree(top: Path) -> bool:
    """Whether a plain worktree would hold all the files: not so with submodules, or sparse."""
    if (top / ".gitmodules").exists():
        return False
    return (
        run_git("config", "--default", "false", "--get", "core.sparseCheckout", cwd=top).strip()
        != "true"
    )


def _common_git_dir(top: Path) -> Path:
    return Path(top, run_git("rev-parse", "--git-common-dir", cwd=top).strip()).resolve()


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_suffix(".new")
    temporary.write_bytes(data)
    temporary.replace(path)
