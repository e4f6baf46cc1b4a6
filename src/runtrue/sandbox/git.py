"""Git as a store of directory contents: each state of a directory is a tree with an id.

Works on any directory with an index of its own, so neither the user's index, nor branches, nor
stash are ever touched; at most unreachable objects are added to the user's repository.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from runtrue.errors import SandboxError
from runtrue.process import MARK

#: Never part of a candidate, even where nobody wrote a .gitignore: made by running things.
JUNK = (
    *("__pycache__", "*.pyc", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"),
    *(".coverage", ".coverage.*", ".tox", ".nox", ".runtrue", ".DS_Store"),
)
#: Installed things that commands need and that are too big to copy: linked into a sandbox.
INSTALLED = (".venv", "venv", "node_modules")

_QUIET = {
    # Hooks, signing, fsmonitor daemons and pagers are the user's; none may act on our behalf.
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "commit.gpgSign": "false",
    "gc.auto": "0",
    "safe.directory": "*",
    "advice.addEmbeddedRepo": "false",
    "core.quotePath": "false",
}


@dataclass(frozen=True, slots=True)
class Tree:
    """A directory whose states are kept in the object store of `git_dir`."""

    directory: Path
    git_dir: Path
    index: Path

    def snapshot(self) -> str:
        """Keep the files as they are now; return the id of that state."""
        names = (*JUNK, *INSTALLED)
        excluded = [f":(exclude,glob)**/{name}{rest}" for name in names for rest in ("", "/**")]
        self.git("add", "--all", "--", ".", *excluded)
        return self.git("write-tree").strip()

    def begin_with(self, tree: str) -> None:
        """Let the index know the files of `tree`, so that those git ignores count as well."""
        self.git("read-tree", tree)

    def restore(self, tree: str) -> None:
        """Make the files those of `tree`: what differs is rewritten, what is not in it removed."""
        # The index must know the present files first, or `read-tree` would not remove them.
        self.snapshot()
        self.git("read-tree", "--reset", "-u", tree)

    def restore_files(self, tree: str, files: Iterable[str]) -> None:
        """Make some files, present or absent, those of `tree`."""
        known = set(self.files(tree))
        for file in files:
            if file in known:
                self.git("--literal-pathspecs", "checkout", tree, "--", file)
            else:
                remove(self.directory / file)

    def files(self, tree: str) -> list[str]:
        """All files of `tree`."""
        return _names(self.git("ls-tree", "-r", "-z", "--name-only", tree))

    def changed(self, old: str, new: str) -> tuple[str, ...]:
        """The files that differ between two states."""
        options = ("-r", "-z", "--name-only", "--no-renames")
        return tuple(_names(self.git("diff-tree", *options, old, new)))

    def diff(self, old: str, new: str, files: Iterable[str] = ()) -> str:
        """A patch from one state to another that `git apply` understands."""
        paths = ["--", *files] if files else []
        options = ("--no-color", "--no-ext-diff", "--no-textconv", "--binary", "--no-renames")
        return self.git("--literal-pathspecs", "diff", *options, old, new, *paths)

    def count_lines(self, old: str, new: str) -> tuple[int, int]:
        """How many lines were added and removed; binary files count as none."""
        rows = self.git("diff", "--numstat", "--no-renames", old, new).splitlines()
        counts = [row.split("\t")[:2] for row in rows]
        added = sum(int(plus) for plus, _ in counts if plus != "-")
        return added, sum(int(minus) for _, minus in counts if minus != "-")

    def apply(self, patch: str) -> None:
        """Apply a patch to the files; all of it or nothing."""
        self.git("apply", "--whitespace=nowarn", "-", stdin=patch)

    def commit(self, tree: str, message: str) -> str:
        """A commit of `tree` that no branch knows of."""
        return self.git("commit-tree", tree, "-m", message).strip()

    def ignored(self) -> list[str]:
        """What lies in the directory and is no part of its state, directories as one name."""
        options = ["--others", "--ignored", "--exclude-standard", "--directory", "-z"]
        options += [f"--exclude={name}" for name in (*JUNK, *INSTALLED)]
        return [name.rstrip("/") for name in _names(self.git("ls-files", *options))]

    def git(self, *args: str, stdin: str | None = None) -> str:
        """Run git on this directory, with this store and index."""
        env = {
            "GIT_DIR": str(self.git_dir),
            "GIT_WORK_TREE": str(self.directory),
            "GIT_INDEX_FILE": str(self.index),
            # So that what a killed process left running is found, like every other command.
            MARK: self.index.parent.name,
        }
        return run_git(*args, cwd=self.directory, env=env, stdin=stdin)


def run_git(
    *args: str, cwd: Path, env: dict[str, str] | None = None, stdin: str | None = None
) -> str:
    """Run git and return what it printed; raise SandboxError with its complaint."""
    settings = [part for key, value in _QUIET.items() for part in ("-c", f"{key}={value}")]
    # Our own GIT_* variables only: a hook or an outer git may have set others.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    identity = {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        for part, value in (("NAME", "runtrue"), ("EMAIL", "runtrue@localhost"))
    }
    try:
        done = subprocess.run(
            ["git", *settings, *args],
            cwd=cwd,
            env={**clean, **identity, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **(env or {})},
            input=None if stdin is None else stdin.encode("utf-8", "surrogateescape"),
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise SandboxError(
            f"git cannot be run ({error.strerror}); runtrue keeps candidates with it: install git"
        ) from error
    if done.returncode:
        complaint = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        verb = next((arg for arg in args if not arg.startswith("-")), "git")
        raise SandboxError(f"git {verb} failed in {cwd}: {complaint[-1]}")
    return done.stdout.decode("utf-8", "surrogateescape")


def is_junk(name: str) -> bool:
    """Whether a path is something that running things made."""
    return any(fnmatchcase(Path(name).name, pattern) for pattern in JUNK)


def remove(path: Path) -> None:
    """Remove a file, a link or a whole directory, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _names(output: str) -> list[str]:
    return [name for name in output.split("\0") if name]
