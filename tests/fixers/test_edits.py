"""Edits are made exactly as they say, all of them or none, and never outside of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtrue.fixers.edits import EditError, FileEdit, apply_edits, inside, read_edits


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "app.py").write_text("a = 1\nb = 2\na = 1\nend = 0\n")
    return root


def swap(path: str, old: str, new: str) -> FileEdit:
    return FileEdit(path=path, old=old, new=new)


class TestReplacing:
    @pytest.mark.parametrize(
        ("text", "old", "new", "after"),
        [
            ("a\nb\nc\n", "b", "x", "a\nx\nc\n"),
            ("a\nb\nc\n", "b\nc\n", "", "a\n"),
            ("if x:\n    y()\n", "    y()", "    z()", "if x:\n    z()\n"),
            # Blanks at the ends of lines are of no account, on either side.
            ("a  \nb\t\nc\n", "a\nb\n", "x\ny\n", "x\ny\nc\n"),
            ("a\nb\nc\n", "a  \nb \n", "x\n", "x\nc\n"),
            ("a\nb \nc", "b\nc", "x", "a\nx"),
            ("a \nb", "\na\n", "\nx\n", "x\nb"),
            # A file keeps its own line ends.
            ("a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n"),
            ("a\r\nb \r\nc\r\n", "a\nb\n", "x\ny\n", "x\r\ny\r\nc\r\n"),
            ("a\r\nb \r\nc\r\n", "b", "x", "a\r\nx \r\nc\r\n"),
            ("a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"),
            ("a\r\nb\nc \n", "b\nc\n", "x\n", "a\r\nx\n"),
            # What it holds is text, not a pattern and not lines of any other kind.
            ("a.*\x0c\\1 b\u2028c\n", "\\1 b\u2028c", "\\g<0>", "a.*\x0c\\g<0>\n"),
            ("ä€😀\n", "€", "ß", "äß😀\n"),
        ],
    )
    def test_it_stands_where_the_old_text_stood(
        self, root: Path, text: str, old: str, new: str, after: str
    ) -> None:
        file = root / "file.txt"
        file.write_bytes(text.encode())
        assert apply_edits([swap("file.txt", old, new)], root) == ("file.txt",)
        assert file.read_bytes().decode() == after

    @pytest.mark.parametrize(
        ("edit", "reason"),
        [
            (swap("app.py", "a = 1", "a = 3"), "occurs more than once"),
            (swap("app.py", "a = 1 \n", "a = 3\n"), "occurs more than once"),
            (swap("app.py", "c = 1", "c = 3"), "`old` does not occur in it: 'c = 1'"),
            (swap("app.py", "", "c = 3"), "must be text that occurs exactly once"),
            (swap("app.py", " \n", "c = 3"), "must be text that occurs exactly once"),
            (swap("other.py", "a", "b"), "other.py does not exist: give its `content`"),
            (swap("app.py", "b = 2", "b = 2"), "change no file"),
            (FileEdit(path="folder", new="x"), "folder is a directory"),
            (FileEdit(path="app.py/inner.py", new="x"), "cannot be"),
            (FileEdit(path="image.png", old="a", new="x"), "image.png is not UTF-8 text"),
        ],
    )
    def test_what_cannot_be_made_is_told_and_nothing_is_written(
        self, root: Path, edit: FileEdit, reason: str
    ) -> None:
        (root / "folder").mkdir()
        (root / "image.png").write_bytes(b"\x89PNG\xff")
        before = contents(root)
        good = [] if reason == "change no file" else [FileEdit(path="new/file.py", new="x\n")]
        with pytest.raises(EditError, match=reason.replace("(", r"\(")):
            apply_edits([*good, edit], root)
        assert contents(root) == before

    def test_text_that_overlaps_itself_occurs_twice(self, root: Path) -> None:
        (root / "app.py").write_text("x = 'aaa'\n")
        with pytest.raises(EditError, match="more than once"):
            apply_edits([swap("app.py", "aa", "b")], root)

    def test_edits_of_one_file_are_made_one_after_the_other(self, root: Path) -> None:
        edits = [swap("app.py", "b = 2\n", "c = 3\n"), swap("./app.py", "c = 3", "d = 4")]
        assert apply_edits(edits, root) == ("app.py",)
        assert (root / "app.py").read_text() == "a = 1\nd = 4\na = 1\nend = 0\n"

    def test_whole_files_are_written_and_made(self, root: Path) -> None:
        edits = [FileEdit(path="app.py", new="x\n"), FileEdit(path="deep/er/new.py", new="y\n")]
        assert apply_edits(edits, root) == ("app.py", "deep/er/new.py")
        assert contents(root) == {"app.py": b"x\n", "deep/er/new.py": b"y\n"}

    def test_what_is_not_there_yet_may_also_be_made_from_nothing(self, root: Path) -> None:
        assert apply_edits([swap("new.py", "", "x\n")], root) == ("new.py",)

    def test_a_file_is_not_a_directory_as_well(self, root: Path) -> None:
        before = contents(root)
        with pytest.raises(EditError, match="new/b is inside a path"):
            apply_edits([FileEdit(path="new", new="x"), FileEdit(path="new/b", new="y")], root)
        assert contents(root) == before

    def test_a_program_stays_one_and_a_new_file_is_for_all_to_read(self, root: Path) -> None:
        (root / "app.py").chmod(0o755)
        apply_edits([swap("app.py", "b = 2", "b = 3"), FileEdit(path="new.py", new="x")], root)
        assert (root / "app.py").stat().st_mode & 0o777 == 0o755
        mask = os.umask(0)
        os.umask(mask)
        assert (root / "new.py").stat().st_mode & 0o777 == 0o666 & ~mask

    def test_another_name_of_the_same_file_is_left_alone(self, root: Path, tmp_path: Path) -> None:
        (tmp_path / "theirs.py").hardlink_to(root / "app.py")
        apply_edits([swap("app.py", "b = 2", "b = 3")], root)
        assert "b = 2" in (tmp_path / "theirs.py").read_text()


class TestPlaces:
    @pytest.mark.parametrize(
        "path",
        [
            *("/etc/passwd", "../outside.py", "a/../../outside.py", "", ".", "a\\b.py"),
            *(".git/hooks/pre-commit", "sub/.git/config", "nul\0.py"),
            *("link/outside.py", "link.py", "dangling.py"),
        ],
    )
    def test_nothing_outside_of_the_project_is_touched(
        self, root: Path, tmp_path: Path, path: str
    ) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "outside.py").write_text("theirs\n")
        (root / "link").symlink_to(outside)
        (root / "link.py").symlink_to(outside / "outside.py")
        (root / "dangling.py").symlink_to(outside / "not-there.py")
        assert inside(root, path) is None
        with pytest.raises(EditError, match="not a file path relative to the project"):
            apply_edits([FileEdit(path=path, new="mine\n")], root)
        assert contents(outside) == {"outside.py": b"theirs\n"}
        assert not (tmp_path / "outside.py").exists()

    def test_a_link_within_the_project_leads_to_its_file(self, root: Path) -> None:
        (root / "link.py").symlink_to("app.py")
        assert apply_edits([swap("link.py", "b = 2", "b = 3")], root) == ("app.py",)
        assert (root / "link.py").is_symlink()
        assert "b = 3" in (root / "app.py").read_text()

    def test_a_file_may_be_refused_under_its_real_name(self, root: Path) -> None:
        (root / "link.py").symlink_to("app.py")
        with pytest.raises(EditError, match=r"link\.py: it is not yours"):
            apply_edits(
                [FileEdit(path="link.py", new="x")],
                root,
                refuse=lambda file: "it is not yours" if file == "app.py" else None,
            )


class TestReading:
    def test_both_forms_are_read(self) -> None:
        assert read_edits(
            [
                {"path": "a", "old": "x", "new": ""},
                {"path": "b", "content": "y"},
                # Some models fill in every field there is.
                {"path": "c", "content": "z", "old": "", "new": ""},
            ]
        ) == (swap("a", "x", ""), FileEdit(path="b", new="y"), FileEdit(path="c", new="z"))

    @pytest.mark.parametrize(
        "item",
        [
            {"path": "a"},
            {"path": "a", "old": "x"},
            {"path": "a", "new": "x"},
            {"path": "a", "old": "x", "new": "y", "content": "z"},
        ],
    )
    def test_others_are_none(self, item: dict[str, str]) -> None:
        with pytest.raises(EditError, match="a: an edit has either"):
            read_edits([item])


def contents(directory: Path) -> dict[str, bytes]:
    files = (file for file in directory.rglob("*") if file.is_file() and not file.is_symlink())
    return {file.relative_to(directory).as_posix(): file.read_bytes() for file in files}
