"""Commits of a candidate in the user's repository, without touching its files or its index."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from runtrue.errors import SandboxError
from runtrue.sandbox.git import Tree
from runtrue.sandbox.git_command import run_git

_HEADS = "refs/heads/"
_IDENTITY = {"name": "NAME", "email": "EMAIL"}


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch that gets a commit: its name, the commit's parent, and where it was before."""

    name: str
    parent: str
    #: None for a new one.
    before: str | None


def tip_of(top: Path, branch: str) -> str | None:
    """Return the commit that a branch is at, if there is one of that name."""
    try:
        options = ("--verify", "--quiet", "--end-of-options")
        return run_git("rev-parse", *options, f"{_HEADS}{branch}^{{commit}}", cwd=top).strip()
    except SandboxError:
        return None


def is_branch_name(top: Path, branch: str) -> bool:
    """Return whether git takes a name for a branch."""
    try:
        # A name such as `@{-1}` stands for another one.
        return run_git("check-ref-format", "--branch", branch, cwd=top).strip() == branch
    except SandboxError:
        return False


def current_branch(top: Path) -> str | None:
    """Return the branch that is checked out; None for a detached HEAD."""
    with contextlib.suppress(SandboxError):
        ref = run_git("symbolic-ref", "--quiet", "HEAD", cwd=top).strip()
        return ref.removeprefix(_HEADS)
    return None


def place_of_branch(top: Path, branch: str) -> str | None:
    """Return the working tree in which a branch is checked out, if it is in any."""
    place = None
    for field in run_git("worktree", "list", "--porcelain", "-z", cwd=top).split("\0"):
        if field.startswith("worktree "):
            place = field.removeprefix("worktree ")
        elif field == f"branch {_HEADS}{branch}":
            return place
    return None


def changed_since_head(top: Path, files: Iterable[str]) -> list[str]:
    """Return those of some files that differ from HEAD, staged or not."""
    with _index(top, "HEAD") as index:
        options = ("-z", "--name-only", "--no-renames")
        changed = set(run_git("diff", *options, "HEAD", cwd=top, env=index).split("\0"))
        others = run_git("ls-files", "--others", "-z", cwd=top, env=index).split("\0")
    staged = run_git("diff", *options, "--cached", "HEAD", cwd=top).split("\0")
    return sorted(set(files) & (changed | set(others) | set(staged)))


def tree_at(users: Tree, top: Path, commit: str, base: str, files: Iterable[str]) -> str:
    """Return the state of a commit, with `files` as they would be in a working tree.

    Line ends may be others there than in the repository, by an attribute or a setting, or since
    the file in the state `base` was not made by git: then they are as they are there.
    """
    names = set(files)
    in_base = set(users.git("ls-tree", "-r", "-z", "--name-only", base).split("\0"))
    users.begin_with(commit)
    with TemporaryDirectory(dir=users.index.parent) as directory, _index(top, commit) as index:
        known = set(run_git("ls-files", "-z", cwd=top, env=index).split("\0")) & names
        _refuse_filtered(top, known, index)
        options = ("-z", "--stdin", f"--prefix={directory}/")
        run_git("checkout-index", *options, cwd=top, env=index, stdin="\0".join(known))
        entries = []
        for file in sorted(known):
            path = Path(directory, file)
            mode = _modes(top, file, index)
            if path.is_symlink() or not path.is_file():
                continue
            if file in in_base and _has_crlf(users.content(file, base), path, top, file, index):
                path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
            sha = users.git("hash-object", "-w", "--no-filters", str(path)).strip()
            entries.append(f"{mode} {sha}\t{file}\0")
    users.begin_with_entries("".join(entries))
    return users.git("write-tree").strip()


def _has_crlf(
    base: bytes, checked_out: Path, top: Path, file: str, index: Mapping[str, str]
) -> bool:
    """True if git stores a file without the line ends that it has in `base`, and only there."""
    lines = base.count(b"\n")
    if not lines or base.count(b"\r\n") != lines or b"\r\n" in checked_out.read_bytes():
        return False
    with TemporaryDirectory(dir=checked_out.parent) as directory:
        content = Path(directory, "content")
        content.write_bytes(base)
        forms = (("--no-filters",), (f"--path={file}",))
        as_is, stored = (
            run_git("hash-object", *form, str(content), cwd=top, env=index) for form in forms
        )
    return as_is != stored


def commit_change(tree: Tree, top: Path, parent: str, states: tuple[str, str], message: str) -> str:
    """Make a commit on `parent` of what differs between two states; it is on no branch yet."""
    with _index(top, parent) as index, TemporaryDirectory(dir=tree.index.parent) as directory:
        content = Path(directory) / "content"
        rows = []
        for file, (_, mode, _) in tree.changes(*states).items():
            if mode is None:
                rows.append(f"0 {'0' * len(parent)}\t{file}\0")
                continue
            content.write_bytes(tree.content(file, states[1]))
            # With the attributes of its path, as `git add` would store it; links are their bytes.
            form = ("--no-filters",) if mode == 0o120000 else (f"--path={file}",)
            sha = run_git("hash-object", "-w", *form, str(content), cwd=top, env=index).strip()
            rows.append(f"{mode:o} {sha}\t{file}\0")
        run_git("update-index", "-z", "--index-info", cwd=top, env=index, stdin="".join(rows))
        new = run_git("write-tree", cwd=top, env=index).strip()
    words = ("commit-tree", new, "-p", parent, "-m", message)
    return run_git(*words, cwd=top, env=_identity(top)).strip()


def is_same_commit(top: Path, one: str, other: str) -> bool:
    """Return whether two commits differ in nothing but their dates."""
    return _facts(top, one) == _facts(top, other)


def move_branch(top: Path, branch: str, commit: str, before: str | None) -> None:
    """Let a branch be at a commit, unless it is not where it was; None: it must be new."""
    old = before or "0" * len(commit)
    run_git("update-ref", "-m", "runtrue plan apply", f"{_HEADS}{branch}", commit, old, cwd=top)


def stage_as_committed(top: Path, commit: str, files: Iterable[str]) -> None:
    """Let the user's index have some files as a commit has them."""
    names = "\0".join(files)
    options = ("--pathspec-from-file=-", "--pathspec-file-nul", "--quiet")
    run_git("--literal-pathspecs", "reset", *options, commit, cwd=top, stdin=names)


def _refuse_filtered(top: Path, files: set[str], index: Mapping[str, str]) -> None:
    """Raise SandboxError for files that a program of the repository's settings would change."""
    options = ("-z", "--stdin", "filter")
    said = run_git("check-attr", *options, cwd=top, env=index, stdin="\0".join(files)).split("\0")
    filtered = [
        file for file, value in zip(said[::3], said[2::3], strict=False) if value != "unspecified"
    ]
    if filtered:
        raise SandboxError(
            f"not applied: {', '.join(filtered)} goes through a filter of git (.gitattributes), "
            "which is not run here; apply the plan to your files and commit them yourself"
        )


def _modes(top: Path, file: str, index: Mapping[str, str]) -> str:
    row = run_git(
        "--literal-pathspecs", "ls-files", "--stage", "-z", "--", file, cwd=top, env=index
    )
    return row.split(" ", 1)[0]


def _facts(top: Path, commit: str) -> tuple[str, ...]:
    lines = run_git("cat-file", "commit", commit, cwd=top).splitlines()
    return tuple(line for line in lines if not line.startswith(("author ", "committer ")))


def _identity(top: Path) -> dict[str, str]:
    """Return who the user is, for a commit, as far as git knows."""
    found: dict[str, str] = {}
    for key, part in _IDENTITY.items():
        with contextlib.suppress(SandboxError):
            value = run_git("config", "--get", f"user.{key}", cwd=top).strip()
            found |= {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER")}
    return found


@contextlib.contextmanager
def _index(top: Path, commit: str) -> Iterator[dict[str, str]]:
    """An index of the user's repository with a commit in it, apart from the user's own."""
    with TemporaryDirectory() as name:
        env = {"GIT_INDEX_FILE": str(Path(name, "index"))}
        run_git("read-tree", commit, cwd=top, env=env)
        yield env
