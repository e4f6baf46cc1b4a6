"""Git as a store of directories: each state of a directory is a tree with an id.

It works with an index and a store of its own, which borrows the objects of the user's repository:
nothing of that is changed, and its settings and filters, like those that a candidate's attributes
name, do not matter. A file is its bytes in the working tree.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from runtrue.errors import SandboxError
from runtrue.process import MARK
from runtrue.sandbox.git_command import OURS, run_git

#: The prefix of directories in which files wait to be moved into the user's tree.
STAGE = ".runtrue-apply-"
#: Made by running things; never part of a candidate, even without a .gitignore.
JUNK = (
    *("__pycache__", "*.pyc", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"),
    *(".coverage", ".coverage.*", ".tox", ".nox", ".runtrue", ".aider*", ".DS_Store"),
    f"{STAGE}*",
)
#: Installed things that commands need, linked into a sandbox since they are too big to copy.
INSTALLED = (".venv", "venv", "node_modules")

_KEPT_KINDS = (stat.S_IFREG, stat.S_IFLNK)

#: Where a hunk of a patch begins, and its lines in the new file.
_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)

#: Options for a patch from which lines are counted.
LINE_OPTIONS = (
    *("--no-color", "--no-renames", "--no-relative"),
    # Neither may a setting join hunks, nor an attribute call a program binary.
    *("--unified=0", "--inter-hunk-context=0", "--text"),
)


@dataclass(frozen=True, slots=True)
class Tree:
    """A directory whose states are stored in the objects of `git_dir`."""

    directory: Path
    git_dir: Path
    index: Path
    #: Names of what is in it and not part of its state.
    excluded: tuple[str, ...] = ()

    def snapshot(self) -> str:
        """Store the files as they are now; return the id of that state."""
        if not self.directory.is_dir():
            raise SandboxError(f"the directory {self.directory} is gone")
        names = (*JUNK, *INSTALLED)
        paths = [".", *(f":(exclude,glob)**/{name}{end}" for name in names for end in ("", "/**"))]
        # Git refuses to keep these, and all the rest with them.
        paths += [f":(exclude,glob,icase)**/.git{end}" for end in ("", "/**")]
        paths += [f":(exclude,literal){name}" for name in self._look_into_repositories(paths)]
        from_stdin = ("--pathspec-from-file=-", "--pathspec-file-nul")
        self.git("add", "--all", *from_stdin, stdin="\0".join(paths))
        if self.excluded:
            # Not by a pathspec above: git refuses one that names what is ignored anyway.
            options = ("-r", "--cached", "--force", "--quiet", "--ignore-unmatch", *from_stdin)
            self.git("--literal-pathspecs", "rm", *options, stdin="\0".join(self.excluded))
        return self.git("write-tree").strip()

    def disguised(self) -> list[str]:
        """Return files that are git's own where `.GIT` is `.git`; no state contains them."""
        paths = [f":(glob,icase)**/.git{end}" for end in ("", "/**")]
        return _names(self.git("ls-files", "--others", "-z", "--", *paths))

    def _look_into_repositories(self, paths: list[str]) -> list[str]:
        """Add a file of each repository in this directory; return the empty ones.

        Of such a repository git stores only the id of a commit, unless it knows a file in it.
        """
        empty: list[str] = []
        options = ("-z", "--others", "--exclude-standard")
        while True:
            others = _names(self.git("ls-files", *options, "--", *paths))
            found = [name for name in others if name.endswith("/") and name not in empty]
            if not found:
                return empty
            for name in found:
                if file := _first_file(self.directory / name):
                    self.git("update-index", "--add", "--", str(file.relative_to(self.directory)))
                else:
                    empty.append(name)

    def begin_with(self, tree: str) -> None:
        """Load the files of `tree` into the index, so that those git ignores count as well."""
        self.git("read-tree", tree)

    def with_files(self, tree: str, except_for: frozenset[str]) -> str:
        """Return `tree`, which is in the index, with the bytes that its files have here.

        They may be others than git stored, by a filter or a rule for line ends.
        """
        names = (name for name in self.files(tree) if name not in except_for)
        there = [name for name in names if os.path.lexists(self.directory / name)]
        self.git("update-index", "-z", "--stdin", stdin="".join(f"{name}\0" for name in there))
        return self.git("write-tree").strip()

    def begin_with_entries(self, entries: str) -> None:
        """Load the entries of another index, as listed by `ls-files --stage -z`."""
        self.git("update-index", "-z", "--index-info", stdin=entries)

    def restore(self, tree: str) -> None:
        """Make the files those of `tree`, and remove all others."""
        # The index must know the present files first, or `read-tree` would not remove them.
        if self.snapshot() != tree:
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
        """Return all files of `tree`."""
        return _names(self.git("ls-tree", "-r", "-z", "--name-only", tree))

    def top_entries(self, tree: str) -> dict[str, str]:
        """Return the ids of what is at the top of `tree`, by name."""
        rows = (row.partition("\t") for row in _names(self.git("ls-tree", "-z", tree)))
        return {name: row.split(" ")[2] for row, _, name in rows}

    def content(self, file: str, tree: str) -> bytes:
        """Return the content of a file of `tree`."""
        text = self.git("cat-file", "blob", f"{tree}:{file}")
        return text.encode("utf-8", "surrogateescape")

    def changed(self, old: str, new: str) -> tuple[str, ...]:
        """Return the files that differ between two states."""
        options = ("-r", "-z", "--name-only", "--no-renames")
        return tuple(_names(self.git("diff-tree", *options, old, new)))

    def changes(self, old: str, new: str) -> dict[str, tuple[int | None, int | None, str]]:
        """Return the mode before and after, or None, and the new id of each file that differs."""
        fields = _names(self.git("diff-tree", "-r", "-z", "--raw", "--no-renames", old, new))
        found = {}
        for row, file in zip(fields[::2], fields[1::2], strict=True):
            before, after, _, sha, _ = row.lstrip(":").split(" ")
            found[file] = (int(before, 8) or None, int(after, 8) or None, sha)
        return found

    def entries(self, tree: str) -> dict[str, tuple[int, str]]:
        """Return the mode and the id of the content of each file of `tree`."""
        found = {}
        for entry in _names(self.git("ls-tree", "-r", "-z", tree)):
            row, _, file = entry.partition("\t")
            mode, _, sha = row.split(" ")
            found[file] = (int(mode, 8), sha)
        return found

    def blob(self, sha: str) -> str:
        """Return the content with an id, such as the target of a link."""
        return self.git("cat-file", "blob", sha)

    def sizes(self, shas: Iterable[str]) -> dict[str, int]:
        """Return the sizes of the contents with some ids."""
        form = "--batch-check=%(objectname) %(objectsize)"
        rows = self.git("cat-file", form, stdin="".join(f"{sha}\n" for sha in shas)).splitlines()
        return {sha: int(size) for sha, size in (row.split(" ") for row in rows)}

    def diff(self, old: str, new: str, files: Iterable[str] = ()) -> str:
        """Return a patch from one state to another that `git apply` understands."""
        paths = ["--", *files] if files else []
        # Whatever the user's configuration makes of `git diff`, this one is read by a program.
        options = ("--no-color", "--binary", "--no-renames")
        form = ("--src-prefix=a/", "--dst-prefix=b/", "--unified=3", "--no-relative")
        return self.git("--literal-pathspecs", "diff", *options, *form, old, new, *paths)

    def changed_lines(self, old: str, new: str) -> dict[str, frozenset[int]]:
        """Return the lines of `new` by file that `old` does not have."""
        # One file at a time: the names in a patch of several may be quoted in any way.
        command = ("--literal-pathspecs", "diff", *LINE_OPTIONS, old, new, "--")
        return {f: changed_lines_in(self.git(*command, f)) for f in self.changed(old, new)}

    def count_lines(self, old: str, new: str) -> tuple[int, int]:
        """Return how many lines were added and removed, in binary files as well."""
        added = removed = 0
        for row in _names(self.git("diff", "--numstat", "-z", "--no-renames", old, new)):
            plus, minus, file = row.split("\t", 2)
            # Git counts none in what it takes for binary.
            added += self._count(file, new) if plus == "-" else int(plus)
            removed += self._count(file, old) if minus == "-" else int(minus)
        return added, removed

    def _count(self, file: str, tree: str) -> int:
        if not self.git("--literal-pathspecs", "ls-tree", "-z", tree, "--", file):
            return 0
        content = self.content(file, tree)
        return content.count(b"\n") + (content[-1:] not in (b"", b"\n"))

    def write_files(self, tree: str, files: Iterable[str], into: Path) -> set[str]:
        """Write those of `files` that `tree` has below `into`, and return their names.

        They are written as in their own directory: with their modes, as links, and as the
        attributes of their paths say.
        """
        self.begin_with(tree)
        names = set(self.files(tree)).intersection(files)
        prefix = f"--prefix={into.relative_to(self.directory).as_posix()}/"
        self.git("checkout-index", "-z", "--stdin", prefix, stdin="\0".join(names))
        return names

    def commit(self, tree: str, message: str) -> str:
        """Make a commit of `tree` that is on no branch."""
        return self.git("commit-tree", tree, "-m", message).strip()

    def ignored(self) -> list[str]:
        """Return what git ignores in the directory, a whole directory as one name."""
        options = ["--others", "--ignored", "--exclude-standard", "--directory", "-z"]
        options += [f"--exclude={name}" for name in (*JUNK, *INSTALLED)]
        names = [name.rstrip("/") for name in _names(self.git("ls-files", *options))]
        # Git also names directories that merely hold nothing but what is ignored.
        holders = {parent.as_posix() for name in names for parent in PurePosixPath(name).parents}
        return [name for name in names if name not in holders]

    def ignored_files(self) -> list[str]:
        """Return all ignored files, except those made by running or installing things."""
        names = _names(self.git("ls-files", "--others", "--ignored", "--exclude-standard", "-z"))
        made = (*JUNK, *INSTALLED)
        return [
            name
            for name in names
            if not any(fnmatchcase(part, one) for part in PurePosixPath(name).parts for one in made)
        ]

    def beside(self) -> list[str]:
        """Return everything here that is not part of the state, empty directories included.

        A directory that contains nothing else is one name.
        """
        names = _names(self.git("ls-files", "--others", "--directory", "-z"))
        return [name.rstrip("/") for name in names]

    def git(self, *args: str, stdin: str | None = None) -> str:
        """Run git on this directory, with this store and index."""
        env = {
            "GIT_DIR": str(self.git_dir),
            "GIT_WORK_TREE": str(self.directory),
            "GIT_INDEX_FILE": str(self.index),
            # So that what a killed process left running is found, like every other command.
            MARK: mark_of(self.index.parent),
        }
        # The index is beside the store, or in a fork below `forks`.
        beside = self.index.parent
        if self.git_dir.parent in (beside, beside.parent.parent):
            env |= OURS
        # What is kept can be read although the files are gone.
        cwd = self.directory if self.directory.is_dir() else self.git_dir
        return run_git(*args, cwd=cwd, env=env, stdin=stdin)


def mark_of(home: Path) -> str:
    """Return the mark in the environment of all commands of one sandbox."""
    return f"{home.name}-{zlib.crc32(os.fsencode(home)):08x}"


def changed_lines_in(patch: str) -> frozenset[int]:
    """Return the lines of the new file that a patch of one file, without context, adds."""
    hunks = [(int(start), int(count or 1)) for start, count in _HUNK.findall(patch)]
    return frozenset(line for start, count in hunks for line in range(start, start + count))


def is_junk(name: str) -> bool:
    """Return whether a path was made by running things."""
    return any(fnmatchcase(Path(name).name, pattern) for pattern in JUNK)


def remove(path: Path) -> None:
    """Remove a file, a link or a whole directory, if it is there."""
    if path.is_dir() and not path.is_symlink():
        try:
            shutil.rmtree(path)
        except PermissionError:
            _unlock(path)
            shutil.rmtree(path)
    else:
        # Neither is it there when what should be a directory above it is a file.
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            path.unlink()


def _unlock(path: Path) -> None:
    """Make directories writable that a test or a package manager made read-only."""
    path.chmod(0o700)
    for directory, names, _ in os.walk(path):
        for name in names:
            if not (below := Path(directory, name)).is_symlink():
                below.chmod(0o700)


def make_readable(directory: Path) -> None:
    """Give the owner back the right to read everything in a directory."""
    for place, names, files in os.walk(directory):
        for name in (*names, *files):
            path = Path(place, name)
            if not path.is_symlink():
                wanted = stat.S_IRUSR | (stat.S_IXUSR if path.is_dir() else 0)
                path.chmod(path.stat().st_mode | wanted)


def remove_special(directory: Path) -> None:
    """Remove what is neither a file, nor a link, nor a directory: git cannot store it."""
    for place, names, files in os.walk(directory):
        names[:] = [name for name in names if name != ".git"]
        for path in (Path(place, name) for name in files):
            if stat.S_IFMT(path.lstat().st_mode) not in _KEPT_KINDS:
                path.unlink()


def _first_file(repository: Path) -> Path | None:
    for directory, names, files in os.walk(repository):
        names[:] = sorted(name for name in names if name != ".git")
        for name in sorted(files):
            # In a submodule or a worktree, `.git` is a file.
            if name != ".git" and stat.S_IFMT(Path(directory, name).lstat().st_mode) in _KEPT_KINDS:
                return Path(directory, name)
    return None


def _names(output: str) -> list[str]:
    return [name for name in output.split("\0") if name]
