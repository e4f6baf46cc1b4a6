"""A patch in pieces: any selection of its hunks is a patch that git applies."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import pytest

from runtrue.errors import UsageError
from runtrue.sandbox import patch_of, split_patch

OLD = {"a.txt": [f"line {n}\n" for n in range(1, 41)], "b.txt": ["one\n", "two"]}


def _git(cwd: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=cwd, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    _git(tmp_path, "init", "-q")
    for name, lines in OLD.items():
        (tmp_path / name).write_text("".join(lines))
    _git(tmp_path, "add", "-A")
    new = [*OLD["a.txt"]]
    new[2:3] = ["changed\n", "and more\n"]
    new[20] = "--- a/looks/like a head\n"
    del new[36]
    (tmp_path / "a.txt").write_text("".join(new))
    (tmp_path / "b.txt").write_text("one\ntwo\n")
    (tmp_path / "new.txt").write_text("new\n")
    (tmp_path / "raw.bin").write_bytes(b"\0\1")
    _git(tmp_path, "add", "-AN")
    return tmp_path


def test_every_selection_of_hunks_is_a_patch(repository: Path) -> None:
    diff = _git(repository, "diff", "--binary")
    files = split_patch(diff)
    assert [(file.name, len(file.hunks)) for file in files] == [
        ("a.txt", 3),
        ("b.txt", 1),
        ("new.txt", 1),
        ("raw.bin", 1),
    ]
    numbers = [hunk.number for file in files for hunk in file.hunks]
    assert numbers == [1, 2, 3, 4, 5, 6]
    assert patch_of(files, numbers) == diff
    for size in (1, 2, 3):
        for chosen in itertools.combinations(numbers, size):
            (repository / "p.patch").write_text(patch_of(files, chosen))
            _git(repository, "apply", "--cached", "--check", "p.patch")


def test_a_chosen_patch_is_what_git_would_write(repository: Path) -> None:
    files = split_patch(_git(repository, "diff", "--", "a.txt"))
    before = _git(repository, "write-tree").strip()
    for chosen in ([1], [2], [1, 3], [2, 3]):
        patch = patch_of(files, chosen)
        (repository / "p.patch").write_text(patch)
        _git(repository, "apply", "--cached", "p.patch")
        written = _git(repository, "diff", "--cached", before)
        _git(repository, "apply", "--cached", "-R", "p.patch")
        # The ids of the blobs differ: the first patch leads to another file.
        assert _without_ids(written) == _without_ids(patch)


def _without_ids(patch: str) -> list[str]:
    return [line for line in patch.splitlines() if not line.startswith("index ")]


def test_a_number_that_there_is_not_is_refused_with_those_there_are() -> None:
    files = split_patch("--- a/x\n+++ b/x\n@@ -3 +3 @@\n-a\n+b\n")
    with pytest.raises(UsageError, match=r"no change 2; available: 1 \(x:3\)"):
        patch_of(files, [2])
