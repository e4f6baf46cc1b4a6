"""Repositories: what a sandbox has to know of the one that the user's project is in."""

from __future__ import annotations

import shutil
from pathlib import Path

from runtrue.errors import SandboxError
from runtrue.sandbox.git import run_git


def borrow_objects(repository: Path, git_dir: Path) -> None:
    """Let a repository read the objects of another."""
    alternates = repository / "objects" / "info" / "alternates"
    alternates.parent.mkdir(parents=True, exist_ok=True)
    alternates.write_text(f"{git_dir / 'objects'}\n", errors="surrogateescape")


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


def can_be_worktree(top: Path) -> bool:
    """Whether a plain worktree would hold all the files: not so with submodules, or sparse."""
    if (top / ".gitmodules").exists():
        return False
    return (
        run_git("config", "--default", "false", "--get", "core.sparseCheckout", cwd=top).strip()
        != "true"
    )


def common_git_dir(top: Path) -> Path:
    """The directory of a repository that all of its working trees share."""
    return Path(top, run_git("rev-parse", "--git-common-dir", cwd=top).strip()).resolve()
