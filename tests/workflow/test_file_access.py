"""File access: what file nodes reach, and that a link made in between leads nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtrue.workflow.file_access import FileAccess, RefusedFile, opened_directory
from runtrue.workflow.nodes.files import PermittedPath, ReadFileNode, WriteFileNode, _read
from tests.workflow.nodes import support


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a project, keys, a shell start-up file and runtrue's own files."""
    for directory in ("project/.git", "project/data", ".ssh", ".runtrue", "other", ".config/app"):
        (tmp_path / "home" / directory).mkdir(parents=True)
    for file in ("project/.git/config", ".ssh/id_ed25519", ".bashrc", ".runtrue/journal.db"):
        (tmp_path / "home" / file).write_text("private")
    (tmp_path / "home/other/notes.txt").write_text("notes")
    return tmp_path / "home"


def access(home: Path, *named: str, directory: str = "project", granted: str = "") -> FileAccess:
    context = support.make_context(home / directory, {"HOME": str(home)}, named=named)
    found = FileAccess.of(context.surroundings)
    allowed = (Path(granted),) if granted else ()
    return FileAccess(
        directory=found.directory,
        home=found.home,
        private=found.private,
        granted=(*found.granted, *allowed),
    )


@pytest.mark.parametrize("path", ["project/x", "project/data/new/y.json", "project/.hidden"])
def test_the_working_directory_is_reached(path: str, home: Path) -> None:
    assert access(home).resolve(home / path) == home / path


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("other/notes.txt", "outside the working directory"),
        (".bashrc", "outside the working directory"),
        ("../elsewhere", "outside the working directory"),
        ("project/../other/notes.txt", "outside the working directory"),
        ("project/.git/config", "belongs to git"),
        (".runtrue/journal.db", "belongs to runtrue"),
        ("project/.env", "may contain a key or a password"),
        ("project/data/server.pem", "may contain a key or a password"),
    ],
)
def test_what_is_outside_or_private_is_refused(path: str, reason: str, home: Path) -> None:
    with pytest.raises(RefusedFile, match=reason):
        access(home).resolve(home / path)


def test_in_the_home_itself_hidden_files_and_keys_are_refused(home: Path) -> None:
    at_home = access(home, directory=".")
    assert at_home.resolve(home / "other/notes.txt") == home / "other/notes.txt"
    for path in (".bashrc", ".config/app/settings", ".ssh/id_ed25519"):
        with pytest.raises(RefusedFile, match="a hidden file in your home"):
            at_home.resolve(home / path)


def test_a_project_below_a_hidden_directory_is_a_working_directory(home: Path) -> None:
    below = access(home, directory=".config/app")
    assert below.resolve(home / ".config/app/x") == home / ".config/app/x"
    with pytest.raises(RefusedFile):
        below.resolve(home / ".bashrc")


@pytest.mark.parametrize("directory", ["..", "../.."])
def test_a_directory_above_the_home_does_not_open_the_home(directory: str, home: Path) -> None:
    with pytest.raises(RefusedFile):
        access(home, directory=directory).resolve(home / "other/notes.txt")


def test_the_root_of_the_system_is_no_working_directory(home: Path) -> None:
    context = support.make_context(Path("/"), {"HOME": str(home)})
    with pytest.raises(RefusedFile):
        FileAccess.of(context.surroundings).resolve(Path("/etc/hostname"))


@pytest.mark.parametrize(
    "task",
    [
        "read ~/other/notes.txt and count the words",
        "read {home}/other/notes.txt.",
        "sum up '../other/notes.txt', please",
        "../other/notes.txt",
        "all that is in (~/other)",
    ],
)
def test_what_a_person_names_is_reached(task: str, home: Path) -> None:
    named = task.replace("{home}", str(home))
    assert access(home, named).resolve(home / "other/notes.txt") == home / "other/notes.txt"


@pytest.mark.parametrize("task", ["read notes.txt", "fetch https://a.example/other/notes.txt"])
def test_what_a_person_does_not_name_is_not_reached(task: str, home: Path) -> None:
    with pytest.raises(RefusedFile):
        access(home, task).resolve(home / "other/notes.txt")


def test_naming_a_private_file_reaches_it_but_never_that_of_git_or_runtrue(home: Path) -> None:
    named = access(home, "show ~/.bashrc ~/.runtrue/journal.db .git/config ~")
    assert named.resolve(home / ".bashrc") == home / ".bashrc"
    for path in (".runtrue/journal.db", "project/.git/config", ".ssh/id_ed25519"):
        with pytest.raises(RefusedFile):
            named.resolve(home / path)


def test_what_the_user_allowed_is_reached(home: Path) -> None:
    allowed = access(home, granted=str(home / "other"))
    assert allowed.resolve(home / "other/notes.txt") == home / "other/notes.txt"


def test_a_link_is_resolved_before_it_is_judged(home: Path) -> None:
    (home / "project/innocent").symlink_to(home / ".ssh/id_ed25519")
    (home / "project/data/up").symlink_to("../..")
    for path in ("project/innocent", "project/data/up/.bashrc"):
        with pytest.raises(RefusedFile, match="outside the working directory"):
            access(home).resolve(home / path)
    (home / "project/inside").symlink_to("data/real.txt")
    assert access(home).resolve(home / "project/inside") == home / "project/data/real.txt"


def test_a_link_that_is_made_after_the_look_leads_nowhere(home: Path) -> None:
    real = access(home).resolve(home / "project/data/file")
    (home / "project/data").rename(home / "project/moved")
    (home / "project/data").symlink_to(home / ".ssh")
    with pytest.raises(OSError, match="Not a directory"), opened_directory(real.parent):
        pass
    (home / "project/file").symlink_to(home / ".bashrc")
    path = PermittedPath(home / "project/file", home / "project/file")
    with pytest.raises(Exception, match="symbolic links"):
        _read(path, "utf-8")


def test_nodes_name_what_to_do_about_a_refusal(home: Path) -> None:
    context = support.make_context(home / "project", {"HOME": str(home)})
    for node, params in (
        (ReadFileNode(), {"file_path": "~/.ssh/id_ed25519"}),
        (WriteFileNode(), {"file_path": "~/.bashrc", "content": "x", "append": True}),
    ):
        failed = support.fail(node, params, context)
        assert (failed.category, failed.fault) == ("refused_file", "human")
        assert "name the file in the task or an input, or add files = [" in failed.message
    assert (home / ".bashrc").read_text() == "private"
