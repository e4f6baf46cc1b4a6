"""What the tests of sandboxes need: real repositories, and a look at all that must not change."""

from __future__ import annotations

import hashlib
import os
import subprocess
import uuid
from pathlib import Path

from runtrue.sandbox import GitSandbox

#: A repository's own settings, whoever runs the tests.
GIT_ENV = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def git(directory: Path, *args: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(directory), *args],
        env=GIT_ENV,
        capture_output=True,
        check=True,
    )
    return done.stdout.decode(errors="surrogateescape")


def make_repository(directory: Path, files: dict[str, str | bytes]) -> Path:
    """A repository with one commit of these files."""
    directory.mkdir(parents=True, exist_ok=True)
    git(directory, "init", "--quiet", "--initial-branch=main")
    write_files(directory, files)
    git(directory, "add", "--all")
    git(directory, "commit", "--quiet", "--allow-empty", "-m", "first")
    return directory


def write_files(directory: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def contents(directory: Path) -> dict[str, str]:
    """Every file and link below a directory, with what it holds and its mode."""
    found = {}
    for place, names, files in os.walk(directory):
        # A worktree's `.git` is a file, a repository's a directory; neither is the user's.
        names[:] = [name for name in names if name != ".git"]
        for name in [*files, *names]:
            path = Path(place, name)
            key = str(path.relative_to(directory))
            if path.is_symlink():
                found[key] = f"-> {path.readlink()}"
            elif path.is_file() and name != ".git":
                mode = "x" if os.access(path, os.X_OK) and path.stat().st_mode & 0o100 else "-"
                found[key] = f"{mode} {path.read_bytes()!r}"
    return found


def state(repository: Path) -> dict[str, object]:
    """All of a repository that a user would notice a change of."""
    # First, since `git status` may itself freshen the index.
    index = git(repository, "rev-parse", "--git-path", "index").strip()
    index_file = repository / index
    return {
        "index": hashlib.sha256(index_file.read_bytes()).hexdigest() if index_file.exists() else "",
        "status": git(repository, "--no-optional-locks", "status", "--porcelain", "-uall"),
        "head": (
            repository / git(repository, "rev-parse", "--git-path", "HEAD").strip()
        ).read_text(),
        "refs": git(repository, "for-each-ref"),
        "stash": git(repository, "stash", "list"),
        "config": git(repository, "config", "--local", "--list"),
        "worktrees": git(repository, "worktree", "list", "--porcelain"),
        "files": contents(repository),
    }


def make_sandbox(
    project: Path,
    *,
    kind: str | None = None,
    home: Path | None = None,
    branch: str | None = None,
    pass_environment: tuple[str, ...] = (),
    judges: tuple[str, ...] = (),
) -> GitSandbox:
    """A sandbox that is not open yet. Its home has a name of its own, which marks its processes."""
    home = home or project.parent / "home" / f"run-{uuid.uuid4().hex}"
    return GitSandbox(
        home,
        project,
        kind=kind,
        branch=branch,
        pass_environment=pass_environment,
        judges=judges,
    )
