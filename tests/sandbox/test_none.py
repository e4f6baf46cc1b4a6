"""Without a sandbox the user's own files are the candidate, and there is no way back."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from runtrue.errors import SandboxError
from runtrue.process import MARK
from runtrue.sandbox import UsersTree
from tests.sandbox.support import contents, git, make_repository, state, write_files

FILES: dict[str, str | bytes] = {
    "app.py": "x = 1\n",
    "windows.txt": "a\r\nb\r\n",
    "tests/test_app.py": "def test_it(): pass\n",
    ".gitignore": "*.o\n",
}


def opened(project: Path) -> tuple[UsersTree, str]:
    tree = UsersTree(project.parent / "homes" / "run-1", project)
    return tree, tree.open()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project", FILES)


class TestCandidates:
    def test_they_are_the_users_own_files(self, repository: Path) -> None:
        before = state(repository)
        tree, base = opened(repository)
        assert tree.directory == tree.top == repository
        assert tree.base == base == tree.snapshot()
        assert state(repository) == before

    def test_in_a_plain_directory_too(self, tmp_path: Path) -> None:
        write_files(tmp_path / "plain", FILES)
        tree, base = opened(tmp_path / "plain")
        write_files(tmp_path / "plain", {"app.py": "x = 2\n"})
        assert tree.changed(base, tree.snapshot()) == ("app.py",)
        assert sorted(path.name for path in (tmp_path / "plain").iterdir()) == [
            *(".gitignore", "app.py", "tests", "windows.txt")
        ]

    def test_what_was_changed_is_seen(self, repository: Path) -> None:
        tree, base = opened(repository)
        write_files(repository, {"app.py": "x = 2\ny = 3\n", "new.py": "n\n", "made.o": ""})
        (repository / "windows.txt").unlink()
        new = tree.snapshot()
        assert set(tree.changed(base, new)) == {"app.py", "new.py", "windows.txt"}
        assert tree.missing(("app.py", "windows.txt"), new) == ("windows.txt",)
        assert tree.count_lines(base, new) == (3, 3)
        assert tree.changed_lines(new)["app.py"] == {1, 2}
        assert tree.original("app.py") == b"x = 1\n"
        assert tree.content_hash("app.py", base) == hashlib.sha256(b"x = 1\n").hexdigest()
        assert tree.diff(new) == tree.difference(base, new)
        assert "+y = 3\n" in tree.diff(new)
        assert tree.protected(("app.py", "tests/test_app.py")) == ("tests/test_app.py",)
        assert tree.may_add("tests/test_new.py", base)

    def test_tracked_files_count_although_they_are_ignored(self, repository: Path) -> None:
        write_files(repository, {"kept.o": "1"})
        git(repository, "add", "--force", "kept.o")
        tree, base = opened(repository)
        write_files(repository, {"kept.o": "2"})
        assert tree.changed(base, tree.snapshot()) == ("kept.o",)

    def test_files_of_submodules_count(self, repository: Path) -> None:
        make_repository(repository / "inner", {"b": "1\n"})
        git(repository, "add", "inner")
        tree, base = opened(repository)
        write_files(repository, {"inner/b": "2\n"})
        assert tree.changed(base, tree.snapshot()) == ("inner/b",)

    def test_nothing_of_it_gets_into_the_users_repository(self, repository: Path) -> None:
        objects = set((repository / ".git" / "objects").rglob("*"))
        tree, _ = opened(repository)
        write_files(repository, {"app.py": "x = 2\n"})
        tree.snapshot()
        assert set((repository / ".git" / "objects").rglob("*")) == objects

    def test_a_project_within_a_repository(self, repository: Path) -> None:
        write_files(repository, {"part/mod.py": "m\n"})
        tree, base = opened(repository / "part")
        assert tree.top == repository
        assert tree.rooted("mod.py") == "part/mod.py"
        write_files(repository, {"app.py": "x = 2\n"})
        assert tree.changed(base, tree.snapshot()) == ("app.py",)
        workplace = tree.workplace()
        assert (workplace.directory, workplace.root) == (repository / "part", repository)

    @pytest.mark.parametrize("home", ["state/runs/run-1", ".runtrue/sandboxes/run-1"])
    def test_a_home_within_the_project_is_no_part_of_it(self, repository: Path, home: str) -> None:
        tree = UsersTree(repository / home, repository)
        base = tree.open()
        assert tree.snapshot() == base

    def test_a_later_process_finds_them(self, repository: Path) -> None:
        tree, base = opened(repository)
        write_files(repository, {"app.py": "x = 2\n"})
        again = UsersTree(tree.workplace().scratch.parent, repository)
        again.take_over()
        assert again.base == base
        assert again.changed(base, again.snapshot()) == ("app.py",)


class TestNoWayBack:
    def test_to_what_the_files_are_nothing_has_to_be_done(self, repository: Path) -> None:
        tree, base = opened(repository)
        tree.restore(base)
        write_files(repository, {"app.py": "x = 2\n"})
        candidate = tree.snapshot()
        before = contents(repository)
        tree.restore(candidate)
        tree.put_back(("tests/test_app.py",), base)
        assert contents(repository) == before

    def test_restoring_anything_else_is_an_error(self, repository: Path) -> None:
        tree, base = opened(repository)
        write_files(repository, {"app.py": "x = 2\n", "new.py": ""})
        before = contents(repository)
        with pytest.raises(SandboxError) as caught:
            tree.restore(base)
        assert str(caught.value) == (
            f"there is no sandbox to roll back in: the files in {repository} are as the last actor "
            "left them; restore app.py, new.py by hand, or use a sandbox (`worktree` or `copy`)"
        )
        assert contents(repository) == before

    def test_putting_back_a_file_that_was_changed_is_an_error(self, repository: Path) -> None:
        tree, base = opened(repository)
        write_files(repository, {"app.py": "x = 2\n", "tests/test_app.py": ""})
        with pytest.raises(
            SandboxError, match=r"no sandbox to roll back in: .* restore tests/test_app"
        ):
            tree.put_back(("tests/test_app.py",), base)
        assert (repository / "tests/test_app.py").read_text() == ""


class TestApply:
    def test_everything_is_there_already(self, repository: Path) -> None:
        tree, _ = opened(repository)
        write_files(repository, {"app.py": "x = 2\n"})
        candidate = tree.snapshot()
        write_files(repository, {"mine.py": "the user goes on\n"})
        before = contents(repository)
        assert tree.apply(candidate) == ("app.py",)
        assert contents(repository) == before
        assert not tree.pending_apply()

    def test_a_file_that_was_changed_since_is_not_what_was_checked(self, repository: Path) -> None:
        tree, _ = opened(repository)
        write_files(repository, {"app.py": "x = 2\n"})
        candidate = tree.snapshot()
        write_files(repository, {"app.py": "x = 3\n"})
        with pytest.raises(SandboxError) as caught:
            tree.apply(candidate)
        assert str(caught.value) == (
            f"not applied: app.py changed in {repository} since it was checked; check it again"
        )


class TestPlaces:
    def test_commands_run_in_the_users_directory(
        self, repository: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SECRET_TOKEN", "planted")
        monkeypatch.setenv("PYTHONPATH", str(repository / "src"))
        tree, _ = opened(repository)
        workplace = tree.workplace()
        assert workplace.directory == workplace.root == repository
        assert workplace.scratch.is_dir()
        assert not workplace.scratch.is_relative_to(repository)
        assert workplace.environment[MARK].startswith("run-1-")
        assert workplace.environment["PYTHONPATH"] == str(repository / "src")
        assert "SECRET_TOKEN" not in workplace.environment

    def test_removing_it_spares_the_users_files(self, repository: Path) -> None:
        tree, _ = opened(repository)
        write_files(repository, {"app.py": "x = 2\n"})
        before = state(repository)
        tree.remove()
        assert state(repository) == before
        assert not (repository.parent / "homes" / "run-1").exists()

    def test_opening_it_again_begins_with_what_is_there_now(self, repository: Path) -> None:
        tree, base = opened(repository)
        write_files(repository, {"app.py": "x = 2\n"})
        assert tree.open() != base
        assert tree.base == tree.snapshot()
