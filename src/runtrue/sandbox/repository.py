"""The repository of the user's project: its revisions, and what changed since one."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from runtrue.errors import SandboxError, UsageError
from runtrue.sandbox.git import INSTALLED, LINE_OPTIONS, changed_lines_in
from runtrue.sandbox.git_command import ForeignRepository, run_git

#: A file with more lines was not written by hand.
_LONGEST = 100_000


def repository_of(project: Path) -> Path | None:
    """Return the top of the repository that contains `project`, unless it ignores it.

    Raises SandboxError if git refuses it, or if it claims files outside of where it is.
    """
    try:
        top = run_git("rev-parse", "--show-toplevel", cwd=project).removesuffix("\n")
    except ForeignRepository:
        raise
    except SandboxError:
        if shutil.which("git") is None:
            raise
        return None
    if top and not os.path.lexists(Path(top, ".git")):
        raise SandboxError(
            f"the repository of {project} says that its files are in {top} (core.worktree), where "
            "there is no .git; remove that setting, or run in a repository of its own"
        )
    return Path(top) if top and not _is_ignored(project, Path(top)) else None


def _is_ignored(project: Path, top: Path) -> bool:
    if project == top:
        return False
    try:
        run_git("check-ignore", "--quiet", str(project), cwd=top)
    except SandboxError:
        return False
    return True


def can_be_worktree(top: Path) -> bool:
    """Return whether a worktree would contain all files: not with submodules, or sparse."""
    if (top / ".gitmodules").exists():
        return False
    is_sparse = run_git("config", "--default", "false", "--get", "core.sparseCheckout", cwd=top)
    return is_sparse.strip() != "true"


def object_format(repository: Path) -> str:
    """Return how a repository names its objects: `sha1` or `sha256`."""
    return run_git("rev-parse", "--show-object-format", cwd=repository).strip()


def common_git_dir(top: Path) -> Path:
    """Return the git directory that all working trees of a repository share."""
    return Path(top, run_git("rev-parse", "--git-common-dir", cwd=top).strip()).resolve()


def ask_staged(top: Path, *args: str) -> str:
    """Return what git prints about what is staged, in the index that a hook of git is given.

    That may be another than the repository's: the one of `git commit FILE`, say.
    """
    index = os.environ.get("GIT_INDEX_FILE")
    return run_git(*args, cwd=top, env={"GIT_INDEX_FILE": str(top / index)} if index else None)


def unstaged_files(top: Path) -> frozenset[str]:
    """Return the files that differ from what is staged."""
    options = ("-z", "--name-only", "--ignore-submodules=all")
    return frozenset(filter(None, ask_staged(top, "diff-files", *options).split("\0")))


def origin_of(project: Path) -> str | None:
    """Return the address of the remote `origin` of a project's repository, if there is one."""
    try:
        return run_git("remote", "get-url", "origin", cwd=project).strip()
    except SandboxError:
        return None


def resolve(project: Path, revision: str) -> str:
    """Return the id of a commit; raise UsageError if there is none."""
    try:
        options = ("--verify", "--quiet", "--end-of-options")
        return run_git("rev-parse", *options, f"{revision}^{{commit}}", cwd=project).strip()
    except SandboxError as error:
        raise UsageError(
            f"there is no commit {revision!r} in {project}; name one with --base, such as HEAD~1"
        ) from error


def fork_point(project: Path, revision: str) -> str:
    """Return the merge base of `revision` and HEAD, so that only our side counts.

    The revision itself if there is none, as in a shallow clone.
    """
    commit = resolve(project, revision)
    try:
        return run_git("merge-base", commit, "HEAD", cwd=project).strip()
    except SandboxError:
        return commit


def head_of(project: Path, revision: str = "HEAD") -> str:
    """Return the commit of HEAD or another revision; before the first, git's empty tree."""
    try:
        return resolve(project, revision)
    except UsageError:
        return run_git("hash-object", "-w", "-t", "tree", "--stdin", cwd=project, stdin="").strip()


def changes_since(top: Path, commit: str, staged: str | None = None) -> dict[str, tuple[int, ...]]:
    """Return the lines by file, from the top, that are new or changed since a commit.

    Compared are the files as they are, those that git does not know included; or a `staged` tree.
    """
    sides = (commit,) if staged is None else (commit, staged)
    names = run_git("diff", "--name-only", "-z", "--no-renames", *sides, cwd=top)
    changed: dict[str, tuple[int, ...]] = {}
    for file in filter(None, names.split("\0")):
        if staged is None and not (top / file).is_file():
            changed[file] = ()
            continue
        patch = run_git("--literal-pathspecs", "diff", *LINE_OPTIONS, *sides, "--", file, cwd=top)
        changed[file] = tuple(sorted(changed_lines_in(patch)))
    if staged is not None:
        return changed
    new = run_git("ls-files", "--others", "--exclude-standard", "-z", cwd=top)
    for file in filter(None, new.split("\0")):
        changed[file] = tuple(range(1, min(_count(top / file), _LONGEST) + 1))
    return changed


def content_at(top: Path, commit: str, file: str) -> bytes | None:
    """Return the content of a file at a commit, if it was there."""
    try:
        text = run_git("cat-file", "blob", f"{commit}:{file}", cwd=top)
    except SandboxError:
        return None
    return text.encode("utf-8", "surrogateescape")


def export_tree(top: Path, commit: str, directory: Path) -> None:
    """Write the files of a commit into a directory, and link the environments of `top` there."""
    with TemporaryDirectory() as name:
        # Not `git archive`, which leaves out what is not to be published: tests, as a rule.
        index = {"GIT_INDEX_FILE": str(Path(name, "index"))}
        run_git("read-tree", commit, cwd=top, env=index)
        run_git("checkout-index", "--all", f"--prefix={directory}/", cwd=top, env=index)
    for parent, directories, _ in os.walk(directory):
        inside = Path(parent).relative_to(directory)
        for name in INSTALLED:
            if (top / inside / name).is_dir() and name not in directories:
                Path(parent, name).symlink_to(top / inside / name)


def _count(path: Path) -> int:
    try:
        return len(re.findall(rb"\n", path.read_bytes())) + 1
    except OSError:
        return 0
