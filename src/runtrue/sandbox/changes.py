"""Changes: what differs between a revision of a repository and its files as they are now."""

from __future__ import annotations

import re
from pathlib import Path

from runtrue.errors import SandboxError, UsageError
from runtrue.sandbox.git import changed_lines_in, run_git

#: A file with more lines was not written by hand.
_LONGEST = 100_000


def resolve(project: Path, revision: str) -> str:
    """The id of a commit; refused where there is no such one."""
    try:
        found = run_git(
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            f"{revision}^{{commit}}",
            cwd=project,
        )
    except SandboxError as error:
        raise UsageError(
            f"there is no commit {revision!r} in {project}; name one with --base, such as HEAD~1"
        ) from error
    return found.strip()


def fork_point(project: Path, revision: str) -> str:
    """The commit that `revision` and HEAD have in common, so that only our side counts.

    The revision itself where none is known, as in a shallow clone.
    """
    commit = resolve(project, revision)
    try:
        return run_git("merge-base", commit, "HEAD", cwd=project).strip()
    except SandboxError:
        return commit


def head_of(project: Path, revision: str = "HEAD") -> str:
    """The commit that the files are based on, or another; before the first, git's empty tree."""
    try:
        return resolve(project, revision)
    except UsageError:
        return run_git("hash-object", "-w", "-t", "tree", "--stdin", cwd=project, stdin="").strip()


def changes_since(top: Path, commit: str) -> dict[str, tuple[int, ...]]:
    """The lines that are new or changed since a commit, by file, as seen from the top."""
    options = (
        *("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"),
        *("--unified=0", "--inter-hunk-context=0", "--text"),
    )
    names = run_git("diff", "--name-only", "-z", "--no-renames", commit, cwd=top)
    changed: dict[str, tuple[int, ...]] = {}
    for file in filter(None, names.split("\0")):
        if not (top / file).is_file():
            changed[file] = ()
            continue
        patch = run_git("--literal-pathspecs", "diff", *options, commit, "--", file, cwd=top)
        changed[file] = tuple(sorted(changed_lines_in(patch)))
    new = run_git("ls-files", "--others", "--exclude-standard", "-z", cwd=top)
    for file in filter(None, new.split("\0")):
        changed[file] = tuple(range(1, min(_count(top / file), _LONGEST) + 1))
    return changed


def content_at(top: Path, commit: str, file: str) -> bytes | None:
    """What a file held at a commit, if it was there."""
    try:
        text = run_git("cat-file", "blob", f"{commit}:{file}", cwd=top)
    except SandboxError:
        return None
    return text.encode("utf-8", "surrogateescape")


def _count(path: Path) -> int:
    try:
        return len(re.findall(rb"\n", path.read_bytes())) + 1
    except OSError:
        return 0
