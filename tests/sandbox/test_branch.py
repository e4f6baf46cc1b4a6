"""Commits of a candidate: the whole change, once, and nothing of the user's is touched."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from runtrue.errors import SandboxError
from runtrue.sandbox import Branch, GitSandbox, resolve, tip_of
from tests.sandbox.support import contents, git, make_repository, make_sandbox, write_files

FILES: dict[str, str | bytes] = {
    "app.py": "x = 1\n",
    "gone.py": "y = 1\n",
    "data.bin": bytes(range(256)),
    "shape/inner": "a directory\n",
    "flat": "a file\n",
}


class Case:
    """A project, its sandbox, and a candidate."""

    def __init__(
        self, tmp_path: Path, files: dict[str, str | bytes], changed: dict[str, str | bytes]
    ) -> None:
        self.project = make_repository(tmp_path / "project", files)
        self.sandbox: GitSandbox = make_sandbox(self.project, home=tmp_path / "homes" / "run-1")
        self.base = self.sandbox.open()
        write_files(self.sandbox.directory, changed)
        self.candidate = self.sandbox.snapshot()
        self.parent = resolve(self.project, "HEAD")

    def commit(self, branch: Branch, message: str = "do it") -> str:
        base, candidate = self.sandbox.merge_onto(self.base, self.candidate, branch.parent)
        return self.sandbox.commit_onto(branch, base, candidate, message)


def test_every_kind_of_change_is_in_the_commit_and_nothing_of_the_users_changes(
    tmp_path: Path,
) -> None:
    case = Case(tmp_path, FILES, {"app.py": "x = 2\n", "new/dir/file.py": "n = 1\n"})
    tree = case.sandbox.directory
    (tree / "gone.py").unlink()
    (tree / "flat").unlink()
    shutil.rmtree(tree / "shape")
    write_files(tree, {"flat/inner": "inside\n", "shape": "flat now\n", "data.bin": b"\0\xff\r\n"})
    (tree / "link").symlink_to("app.py")
    (tree / "app.py").chmod(0o755)
    case.candidate = case.sandbox.snapshot()
    before = contents(case.project), git(case.project, "status", "--porcelain")
    commit = case.commit(Branch("made", case.parent, None))
    assert (contents(case.project), git(case.project, "status", "--porcelain")) == before
    git(case.project, "worktree", "add", "-q", str(tmp_path / "there"), "made")
    there = {n: v for n, v in contents(tmp_path / "there").items() if not n.startswith(".git")}
    assert there == {n: v for n, v in contents(tree).items() if not n.startswith(".git")}
    assert resolve(case.project, f"{commit}^") == case.parent


def test_doing_it_again_after_a_crash_makes_no_second_commit(tmp_path: Path) -> None:
    case = Case(tmp_path, FILES, {"app.py": "x = 2\n"})
    branch = Branch("made", case.parent, None)
    first = case.commit(branch)
    assert case.commit(branch) == first
    again = replace(branch, name="next", before=case.parent)
    git(case.project, "branch", "next")
    second = case.commit(again)
    assert case.commit(again) == second == tip_of(case.project, "next")


def test_a_branch_that_has_moved_is_left_alone(tmp_path: Path) -> None:
    case = Case(tmp_path, FILES, {"app.py": "x = 2\n"})
    git(case.project, "checkout", "-q", "-b", "next")
    write_files(case.project, {"other.py": "o = 1\n"})
    git(case.project, "add", "-A")
    git(case.project, "commit", "-qm", "other")
    tip = tip_of(case.project, "next")
    with pytest.raises(SandboxError, match="the branch next changed in the meantime"):
        case.commit(Branch("next", case.parent, case.parent))
    assert tip_of(case.project, "next") == tip


def test_files_that_need_a_filter_are_refused_and_no_filter_runs(tmp_path: Path) -> None:
    files = {**FILES, ".gitattributes": "app.py filter=shout\n"}
    case = Case(tmp_path, files, {"app.py": "x = 2\n"})
    git(case.project, "config", "filter.shout.clean", f"touch {tmp_path}/ran; cat")
    with pytest.raises(SandboxError, match=r"app\.py goes through a filter of git"):
        case.commit(Branch("made", case.parent, None))
    assert not (tmp_path / "ran").exists()
    assert tip_of(case.project, "made") is None
