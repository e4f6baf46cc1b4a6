"""Repositories of our own: the store of all candidates, and the one that a sandbox has inside."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from pathlib import Path

from runtrue.sandbox.git import remove
from runtrue.sandbox.git_command import OURS, configured, run_git
from runtrue.sandbox.repository import common_git_dir, object_format

#: No attribute of a project may have git rewrite what is in a file.
AS_BYTES = b"* -text -filter -ident -working-tree-encoding\n"
#: Settings that say how files are named and seen, and which of them do not count.
_ABOUT_FILES = ("filemode", "ignorecase", "precomposeunicode", "symlinks", "excludesfile")
#: What commits need of a repository; all else is of no use, or may be run by git.
_NEEDED = frozenset(
    {
        *("HEAD", "ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE"),
        *("AUTO_MERGE", "COMMIT_EDITMSG", "config", "description", "index", "info", "logs"),
        *("objects", "packed-refs", "refs", "shallow"),
    }
)
_NEEDED_INFO = frozenset({"attributes", "exclude"})
#: Beside a sandbox: the settings of its repository.
_CONFIG = "clone-config"


def make_store(git_dir: Path, project: Path, repository: Path | None) -> Path:
    """Make a repository of our own that stores the bytes of files, and return it.

    It borrows the objects of the user's `repository`, if there is one, and ignores what that does.
    """
    settings = {key: value for key, value, _ in configured(project)}
    form = () if repository is None else (f"--object-format={object_format(repository)}",)
    options = ("--quiet", "--bare", "--template=", *form)
    run_git("init", *options, str(git_dir), cwd=git_dir.parent, env=OURS)
    for name in _ABOUT_FILES:
        if value := settings.get(f"core.{name}"):
            if name == "excludesfile":
                value = str((repository or project) / os.path.expanduser(value))  # noqa: PTH111
            run_git("config", f"core.{name}", value, cwd=git_dir, env={**OURS, **_at(git_dir)})
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info" / "attributes").write_bytes(AS_BYTES)
    if repository is not None:
        common = common_git_dir(repository)
        _borrow_objects(git_dir, common)
        with contextlib.suppress(OSError):
            shutil.copyfile(common / "info" / "exclude", git_dir / "info" / "exclude")
    return git_dir


def make_clone(directory: Path, top: Path, store: Path, commit: str, branch: str | None) -> None:
    """Make a working tree whose repository has the user's branches and the objects of the store.

    Not `git worktree add`: that shares branches, stash and configuration with the user's
    repository, and coding agents like to use all three.
    """
    form = f"--object-format={object_format(top)}"
    options = ("--quiet", "--template=", form)
    run_git("init", *options, str(directory), cwd=directory.parent, env=OURS)
    own = directory / ".git"
    _borrow_objects(own, store)
    (directory.parent / _CONFIG).write_bytes((own / "config").read_bytes())
    reset_clone(directory)
    refs = _references(common_git_dir(top))
    head: tuple[str, ...] = ("--no-deref", "HEAD")
    if branch:
        name = f"refs/heads/{branch}"
        # Git keeps no branch whose name is the beginning of another's.
        refs = {other: sha for other, sha in refs.items() if not _is_in_the_way(other, name)}
        run_git("symbolic-ref", "HEAD", name, cwd=directory, env=OURS)
        head = ("HEAD",)
    lines = "".join(f"create {name} {sha}\n" for name, sha in refs.items())
    run_git("update-ref", "--stdin", cwd=directory, env=OURS, stdin=lines)
    run_git("update-ref", *head, commit, cwd=directory, env=OURS)
    run_git("read-tree", commit, cwd=directory, env=OURS)


def reset_clone(directory: Path) -> None:
    """Remove all from the repository of a sandbox but what commits need; restore its settings.

    What commands leave there is nothing for the git of a person who looks into the sandbox.
    """
    config, git = directory.parent / _CONFIG, directory / ".git"
    if not config.exists() or not os.path.lexists(git):
        return
    if git.is_symlink() or not git.is_dir():
        git.unlink()
        return
    git.chmod(0o700)
    for place, needed in ((git, _NEEDED), (git / "info", _NEEDED_INFO)):
        if place.is_dir():
            place.chmod(0o700)
            for path in list(place.iterdir()):
                # A lock belongs to a git that may be running.
                if path.is_symlink() or (path.name not in needed and path.suffix != ".lock"):
                    remove(path)
    # Only what exists can be mounted read-only for the next command.
    for name in ("hooks", "info"):
        (git / name).mkdir(exist_ok=True)
    for path, content in (
        (git / "config", config.read_bytes()),
        (git / "info" / "attributes", AS_BYTES),
    ):
        if not _has(path, content):
            remove(path)
            path.write_bytes(content)


def remove_repositories(directory: Path) -> None:
    """Remove the repositories below a sandbox, which commands have left."""
    for place, names, files in os.walk(directory):
        for name in [name for name in (*names, *files) if name.casefold() == ".git"]:
            if Path(place) != directory or not borrows_objects(directory / name):
                remove(Path(place, name))
        names[:] = [name for name in names if name.casefold() != ".git"]


def borrows_objects(git_dir: Path) -> bool:
    """Return whether a repository reads the objects of another."""
    return (git_dir / "objects" / "info" / "alternates").exists()


def _borrow_objects(git_dir: Path, other: Path) -> None:
    alternates = git_dir / "objects" / "info" / "alternates"
    alternates.parent.mkdir(parents=True, exist_ok=True)
    alternates.write_text(f"{other / 'objects'}\n", errors="surrogateescape")


def _references(git_dir: Path) -> dict[str, str]:
    """Return the commits of the branches and tags of a repository by their names."""
    form = "--format=%(refname) %(objectname)"
    rows = run_git("for-each-ref", form, "refs/heads", "refs/tags", cwd=git_dir, env=_at(git_dir))
    return dict(row.split(" ") for row in rows.splitlines())


def _is_in_the_way(name: str, own: str) -> bool:
    """Return whether a reference excludes the branch `own`."""
    return f"{name}/".startswith(f"{own}/") or f"{own}/".startswith(f"{name}/")


def _has(path: Path, content: bytes) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode) and path.read_bytes() == content
    except OSError:
        return False


def _at(git_dir: Path) -> dict[str, str]:
    """Name a repository, which git takes for one only then."""
    return {"GIT_DIR": str(git_dir)}
