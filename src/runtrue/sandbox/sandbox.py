"""The sandbox: where the candidates of one run live, away from the user's tree."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from runtrue.errors import SandboxError
from runtrue.loop import Workplace
from runtrue.process import MARK, kill_marked
from runtrue.sandbox.environment import allowed, python_path, search_path
from runtrue.sandbox.git import INSTALLED, JUNK, Tree, is_junk, remove, run_git
from runtrue.sandbox.judges import is_judge

#: Ignored files are copied into a sandbox (a generated version file, say) up to this size in all.
_EXTRAS_LIMIT = 50 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """How a sandbox was made, kept beside it so that any later process finds it as it is."""

    kind: str
    #: The top of the user's tree that the sandbox is an image of, and its repository if any.
    top: str
    git_dir: str
    base: str
    #: Ignored files and links that belong in the sandbox although no candidate holds them.
    extras: tuple[str, ...]
    python_path: str | None


class GitSandbox:
    """A worktree of the project's repository, or a copy of the project where there is none.

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
        users = Tree(top, git_dir, self._home / "base-index")
        if kind == "worktree" and _has_commits(top):
            users.begin_with("HEAD")
        base = users.snapshot()
        commit = users.commit(base, "runtrue: the candidate as it was found")
        if kind == "worktree":
            # Forced twice: a killed git may have left a locked entry for this directory.
            options = ("--detach", "--force", "--force", "--quiet")
            self._worktree("add", *options, str(self.directory), commit, top=top)
        else:
            self.directory.mkdir()
        sandbox = Tree(self.directory, git_dir, self._home / "index")
        sandbox.begin_with(base)
        sandbox.git("checkout-index", "--all", "--force")
        site = Site(
            kind=kind,
            top=str(top),
            git_dir=str(git_dir),
            base=base,
            extras=self._bring_extras(users),
            python_path=python_path(top, self.directory, self._environment(top, None)),
        )
        _write(self._site_file, msgspec.json.encode(site))
        self._opened = site
        return base

    def _bring_extras(self, users: Tree) -> tuple[str, ...]:
        brought: list[str] = []
        room = _EXTRAS_LIMIT
        for name in users.ignored():
            source, target = users.directory / name, self.directory / name
            if target.exists() or is_junk(name) or self._home.is_relative_to(source):
                continue
            if Path(name).name in INSTALLED:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(source.resolve(), target_is_directory=True)
                brought.append(name)
                continue
            size = _size(source, room)
            if size > room:
                continue
            room -= size
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir() and not source.is_symlink():
                shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns(*JUNK))
            else:
                shutil.copy2(source, target, follow_symlinks=False)
            brought.append(name)
        return tuple(brought)

    def take_over(self) -> None:
        """Clear away what a killed process left behind: its commands, and their locks."""
        kill_marked(f"{MARK}={self._home.name}")
        for lock in self._home.glob("*.lock"):
            lock.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the sandbox and all it holds, if it is there."""
        if not self._home.exists():
            return
        top = Path(self._site.top) if self._site_file.exists() else repository_of(self._project)
        shutil.rmtree(self._home)
        self._opened = None
        if top is not None and repository_of(top):
            with suppress(SandboxError):
                self._worktree("unlock", str(self.directory), top=top)
            self._worktree("prune", top=top)

    def _worktree(self, *args: str, top: Path) -> None:
        run_git("worktree", *args, cwd=top, env={MARK: self._home.name})

    # -- candidates -------------------------------------------------------------------------

    def restore(self, candidate: str) -> None:
        """Make the files exactly those of a candidate, with nothing left over."""
        self._tree.restore(candidate)
        keep = set(self._site.extras)
        for name in self._tree.ignored():
            # A directory is one name here, so what belongs may also lie deeper inside.
            if name not in keep and not any(k.startswith(f"{name}/") for k in keep):
                remove(self.directory / name)

    def snapshot(self) -> str:
        """Keep the files as they are now as a candidate."""
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
        return tuple(file for file in files if is_judge(file, self._judges))

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
        users = Tree(Path(site.top), Path(site.git_dir), self._home / "apply-index")
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
            users.apply(users.diff(now, candidate, sorted(pending)))
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
        return Tree(self.directory, Path(self._site.git_dir), self._home / "index")


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


def _has_commits(top: Path) -> bool:
    try:
        run_git("rev-parse", "--verify", "--quiet", "HEAD", cwd=top)
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


def _size(path: Path, limit: int) -> int:
    if not path.is_dir() or path.is_symlink():
        return path.lstat().st_size
    total = 0
    for directory, _, files in os.walk(path):
        total += sum(Path(directory, file).lstat().st_size for file in files)
        if total > limit:
            break
    return total


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_suffix(".new")
    temporary.write_bytes(data)
    temporary.replace(path)
