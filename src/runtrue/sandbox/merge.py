"""Merge a candidate with what the user changed meanwhile, file by file and line by line."""

from __future__ import annotations

import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from runtrue.errors import SandboxError
from runtrue.sandbox.git import Tree

#: How much of a conflict a message shows.
_SHOWN_LINES = 20


class MergeConflict(SandboxError):
    """A file cannot be merged; `sides` shows both versions of the lines, where lines conflict."""

    def __init__(self, file: str, sides: str = "") -> None:
        super().__init__(file)
        self.file = file
        self.sides = sides


def merge_trees(tree: Tree, base: str, users: str, candidate: str) -> str:
    """Return the state with the changes of both `users` and `candidate` since `base`.

    Contents are merged as bytes, so that line ends and encodings stay. Raises MergeConflict.
    """
    own, theirs = tree.changes(base, candidate), tree.changes(base, users)
    lines = []
    for file, (before, after, new) in own.items():
        mode, sha = after, new
        if file in theirs and theirs[file] != own[file]:
            users_mode = theirs[file][1]
            if any(m is None or not stat.S_ISREG(m) for m in (before, users_mode, after)):
                raise MergeConflict(file)
            sha = _merged_content(tree, file, (base, users, candidate))
            mode = users_mode if after == before else after
        gone = f"0 {'0' * len(base)}"
        lines.append(f"{gone if mode is None else f'{mode:o} {sha}'}\t{file}\0")
    tree.begin_with(users)
    tree.begin_with_entries("".join(lines))
    return tree.git("write-tree").strip()


def without_files(tree: Tree, state: str, files: Iterable[str]) -> str:
    """Return a state without some of its files."""
    gone = "".join(f"0 {'0' * len(state)}\t{file}\0" for file in files)
    if not gone:
        return state
    tree.begin_with(state)
    tree.begin_with_entries(gone)
    return tree.git("write-tree").strip()


def _merged_content(tree: Tree, file: str, states: tuple[str, str, str]) -> str:
    """Store the merged content of a file and return its id."""
    with tempfile.TemporaryDirectory(dir=tree.index.parent) as directory:
        before, yours, plans = (Path(directory) / name for name in ("before", "yours", "plan"))
        for path, state in zip((before, yours, plans), states, strict=True):
            path.write_bytes(tree.content(file, state))
        names = ("-L", f"{file} (yours)", "-L", f"{file} (before)", "-L", f"{file} (the run's)")
        try:
            tree.git("merge-file", "--quiet", *names, *map(str, (yours, before, plans)))
        except SandboxError as error:
            sides = "\n".join(_conflicting_lines(yours.read_bytes().decode(errors="replace")))
            raise MergeConflict(file, sides) from error
        return tree.git("hash-object", "-w", "--no-filters", str(yours)).strip()


def _conflicting_lines(merged: str) -> Iterator[str]:
    """Yield the lines of the conflicts, between git's markers, as many as a message shows."""
    is_inside, shown = False, 0
    for line in merged.splitlines():
        is_inside = is_inside or line.startswith("<<<<<<< ")
        if is_inside and shown < _SHOWN_LINES:
            shown += 1
            yield f"  {line}"
        is_inside = is_inside and not line.startswith(">>>>>>> ")
