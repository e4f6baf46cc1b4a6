"""What may not leave a sandbox does not: nothing of such a candidate is applied, and it is told."""

from __future__ import annotations

import os
import socket
import subprocess
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.errors import SandboxError
from runtrue.foreign_text import visible_name
from runtrue.loop import Fault
from runtrue.sandbox import GitSandbox
from runtrue.sandbox.apply_rules import (
    FILE,
    LINK,
    REPOSITORY,
    ChangedFile,
    RefusedFiles,
    is_git,
    violations,
)
from tests.sandbox.support import contents, git, make_repository, make_sandbox, write_files


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """What lies beside the project, and is not to be touched."""
    write_files(tmp_path / "outside", {"secret": "s3cret\n", "rc": "mine\n"})
    return tmp_path / "outside"


@pytest.fixture(params=["worktree", "copy"])
def sandbox(tmp_path: Path, request: pytest.FixtureRequest) -> GitSandbox:
    files: dict[str, str | bytes] = {"app.py": "x = 1\n", "sub/other.py": "y = 1\n"}
    project = make_repository(tmp_path / "project", files)
    sandbox = make_sandbox(project, kind=request.param)
    sandbox.open()
    return sandbox


def apply(sandbox: GitSandbox) -> dict[str, str]:
    """Apply what is in the sandbox, which is refused; the kind of refusal by file."""
    before = contents(sandbox.top)
    write_files(sandbox.directory, {"app.py": "x = 2\n"})
    with pytest.raises(RefusedFiles) as refusal:
        sandbox.apply(sandbox.snapshot())
    assert contents(sandbox.top) == before, "all or nothing"
    for finding in refusal.value.findings:
        assert (finding.source, finding.category) == ("apply", "refused_file")
        assert finding.fault is Fault.CANDIDATE
        assert finding.location.file
        assert finding.message in str(refusal.value)
    assert refusal.value.exit_code == 1
    return {refusal.file: refusal.kind for refusal in refusal.value.violations}


#: Links that lead out of the project, by how.
LINKS: dict[str, Callable[[Path], dict[str, str]]] = {
    "an absolute path": lambda outside: {"link": str(outside / "rc")},
    "the directories above": lambda outside: {"sub/link": "../../outside/rc"},
    "a directory": lambda outside: {"link": str(outside)},
    "a path that goes in and out again": lambda outside: {"link": "sub/../../outside/rc"},
    "a link to a link": lambda outside: {"one": "two", "two": "../outside/rc"},
    "a link in the way": lambda outside: {"up": "sub/..", "link": "up/../outside/rc"},
    "the home directory": lambda outside: {"link": str(Path.home() / ".ssh")},
    "nothing, in circles": lambda outside: {"one": "two", "two": "one"},
    "git's own files": lambda outside: {"hooks": ".git/hooks"},
}


@pytest.mark.parametrize("links", LINKS.values(), ids=LINKS)
def test_a_link_does_not_lead_out_of_the_project_by(
    sandbox: GitSandbox, outside: Path, links: Callable[[Path], dict[str, str]]
) -> None:
    for name, target in links(outside).items():
        (sandbox.directory / name).symlink_to(target)
    assert set(apply(sandbox).values()) == {"link"}


def test_a_link_within_the_project_is_applied(sandbox: GitSandbox) -> None:
    (sandbox.directory / "sub" / "link").symlink_to("../app.py")
    (sandbox.directory / "way").symlink_to("sub")
    sandbox.apply(sandbox.snapshot())
    assert (sandbox.top / "way" / "link").read_text() == "x = 1\n"


def test_a_link_of_the_users_that_leads_out_is_left_as_it_is(tmp_path: Path, outside: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "theirs").symlink_to(outside)
    make_repository(project, {"app.py": "x = 1\n"})
    sandbox = make_sandbox(project)
    sandbox.open()
    write_files(sandbox.directory, {"app.py": "x = 2\n"})
    sandbox.apply(sandbox.snapshot())
    assert (project / "theirs").is_symlink()
    (sandbox.directory / "mine").symlink_to("theirs/rc")
    with pytest.raises(RefusedFiles):
        sandbox.apply(sandbox.snapshot())


def test_a_directory_of_the_users_that_was_a_link_is_not_written_through(
    tmp_path: Path, outside: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "theirs").symlink_to(outside)
    make_repository(project, {"app.py": "x = 1\n"})
    sandbox = make_sandbox(project)
    sandbox.open()
    before = contents(outside)
    (sandbox.directory / "theirs").unlink()
    write_files(sandbox.directory, {"theirs/rc": "evil\n"})
    sandbox.apply(sandbox.snapshot())
    assert contents(outside) == before
    assert not (project / "theirs").is_symlink()


def test_a_hard_link_to_what_lies_outside_is_refused(sandbox: GitSandbox, outside: Path) -> None:
    os.link(outside / "secret", sandbox.directory / "copy")
    assert apply(sandbox) == {"copy": "hard_link"}
    assert (outside / "secret").read_text() == "s3cret\n"


def test_a_hard_link_in_the_place_of_a_file_is_not_written_through(
    sandbox: GitSandbox, outside: Path
) -> None:
    base = sandbox.base
    (sandbox.directory / "app.py").unlink()
    os.link(outside / "rc", sandbox.directory / "app.py")
    candidate = sandbox.snapshot()
    with pytest.raises(RefusedFiles):
        sandbox.apply(candidate)
    sandbox.restore(base)
    assert (outside / "rc").read_text() == "mine\n"
    assert (sandbox.directory / "app.py").read_text() == "x = 1\n"


def test_a_file_of_the_users_with_another_name_outside_is_replaced_not_written(
    sandbox: GitSandbox, outside: Path
) -> None:
    os.link(sandbox.top / "app.py", outside / "app.py")
    write_files(sandbox.directory, {"app.py": "x = 2\n"})
    sandbox.apply(sandbox.snapshot())
    assert (sandbox.top / "app.py").read_text() == "x = 2\n"
    assert (outside / "app.py").read_text() == "x = 1\n"


@pytest.mark.parametrize("bits", [0o4755, 0o2755, 0o6644])
def test_a_program_that_would_run_with_its_owners_rights_is_refused(
    sandbox: GitSandbox, bits: int
) -> None:
    write_files(sandbox.directory, {"tool": "#!/bin/sh\n"})
    (sandbox.directory / "tool").chmod(bits)
    assert apply(sandbox) == {"tool": "setuid"}


def test_no_bits_but_that_of_programs_leave_a_sandbox(sandbox: GitSandbox) -> None:
    write_files(sandbox.directory, {"tool": "#!/bin/sh\n"})
    (sandbox.directory / "tool").chmod(0o1777)
    candidate = sandbox.snapshot()
    assert "new file mode 100755" in sandbox.diff(candidate), "it is shown"
    sandbox.apply(candidate)
    assert not (sandbox.top / "tool").stat().st_mode & 0o7022


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(path.parent)  # the names of sockets are short
        try:
            server.bind(path.name)
        finally:
            os.chdir(here)


@pytest.mark.parametrize("make", [_fifo, _socket])
def test_what_is_no_file_does_not_leave_and_stops_nothing(
    sandbox: GitSandbox, make: Callable[[Path], None]
) -> None:
    make(sandbox.directory / "new")
    (sandbox.directory / "sub" / "other.py").unlink()
    make(sandbox.directory / "sub" / "other.py")
    write_files(sandbox.directory, {"app.py": "x = 2\n"})
    candidate = sandbox.snapshot()
    assert sorted(sandbox.changed(sandbox.base, candidate)) == ["app.py", "sub/other.py"]
    sandbox.apply(candidate)
    assert contents(sandbox.top) == {"app.py": "- b'x = 2\\n'"}


def test_what_takes_the_place_of_a_file_after_it_was_kept_is_refused(sandbox: GitSandbox) -> None:
    write_files(sandbox.directory, {"app.py": "x = 2\n"})
    candidate = sandbox.snapshot()
    (sandbox.directory / "app.py").unlink()
    os.mkfifo(sandbox.directory / "app.py")
    with pytest.raises(RefusedFiles):
        sandbox.apply(candidate)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("new\nline.py", "control_character"),
        ("bell\x07.py", "control_character"),
        ("escape\x1b[2J.py", "control_character"),
        ("exe\u202eyp.py", "bidi"),
        ("\u2067app.py", "bidi"),
        ("App.py", "collision"),
        ("SUB/more.py", "collision"),
        ("git~1/config", "git"),
        (".g\u200cit/config", "git"),
        (".git /config", "git"),
        (".gitmodules", "submodule"),
        ("..\\..\\rc", "outside"),
    ],
)
def test_a_name_that_is_a_trick_is_refused(sandbox: GitSandbox, name: str, kind: str) -> None:
    write_files(sandbox.directory, {name: "evil\n"})
    assert apply(sandbox) == {name: kind}


def test_two_forms_of_one_name_are_refused(sandbox: GitSandbox) -> None:
    names = {unicodedata.normalize(form, "café.py") for form in ("NFC", "NFD")}
    write_files(sandbox.directory, dict.fromkeys(names, "x\n"))
    assert set(apply(sandbox)) == names


def test_a_name_in_any_language_is_applied(sandbox: GitSandbox) -> None:
    names = ["café.py", "日本語.txt", "עברית.txt", "می‌خواهم.txt", "👩‍💻.md", "with space.txt", "-x"]
    write_files(sandbox.directory, dict.fromkeys(names, "x\n"))
    sandbox.apply(sandbox.snapshot())
    assert set(contents(sandbox.top)) == {*names, "app.py", "sub/other.py"}


def test_a_file_may_get_another_case_as_its_name(sandbox: GitSandbox) -> None:
    (sandbox.directory / "app.py").rename(sandbox.directory / "App.py")
    sandbox.apply(sandbox.snapshot())
    assert set(contents(sandbox.top)) == {"App.py", "sub/other.py"}


def test_a_huge_file_is_refused(sandbox: GitSandbox) -> None:
    with (sandbox.directory / "huge").open("wb") as file:
        file.truncate(101 * 1024 * 1024)
    assert apply(sandbox) == {"huge": "size"}


def test_a_repository_in_the_candidate_brings_no_settings_and_no_hooks(
    sandbox: GitSandbox, tmp_path: Path
) -> None:
    proof = tmp_path / "proof"
    inner = make_repository(sandbox.directory / "inner", {"file": "x\n"})
    program = inner / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch {proof}\n")
    program.chmod(0o755)
    for key in ("core.fsmonitor", "diff.external", "core.sshCommand", "filter.x.clean"):
        git(inner, "config", key, str(program))
    (inner / ".git/hooks").mkdir(exist_ok=True)
    for hook in ("post-checkout", "pre-commit", "post-index-change"):
        (inner / ".git/hooks" / hook).symlink_to(program)
    write_files(inner, {".gitattributes": "* filter=x diff=x\n"})
    candidate = sandbox.snapshot()
    sandbox.diff(candidate)
    sandbox.count_lines(sandbox.base, candidate)
    sandbox.restore(sandbox.base)
    sandbox.restore(candidate)
    sandbox.apply(candidate)
    assert not proof.exists()
    assert not (sandbox.top / "inner" / ".git").exists()


def test_settings_hooks_and_attributes_of_the_sandbox_are_never_used(
    tmp_path: Path,
) -> None:
    project = make_repository(tmp_path / "project", {"app.py": "x = 1\n"})
    sandbox = make_sandbox(project, kind="worktree")
    base = sandbox.open()
    proof = tmp_path / "proof"
    program = tmp_path / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch {proof}\n")
    program.chmod(0o755)
    settings = (
        *("core.fsmonitor", "core.hooksPath", "core.sshCommand", "core.pager", "core.editor"),
        *("diff.external", "diff.x.textconv", "diff.x.command", "filter.x.clean"),
        *("filter.x.smudge", "filter.x.process", "alias.add", "gpg.program"),
    )
    for key in settings:
        value = str(program.parent) if key == "core.hooksPath" else str(program)
        git(sandbox.directory, "config", key, value)
    hooks = sandbox.directory / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "pre-commit"):
        (hooks / hook).symlink_to(program)
    write_files(sandbox.directory, {".gitattributes": "* filter=x diff=x\n", "app.py": "x = 2\n"})
    candidate = sandbox.snapshot()
    sandbox.diff(candidate)
    sandbox.changed_lines(candidate)
    sandbox.count_lines(base, candidate)
    sandbox.restore(base)
    sandbox.restore(candidate)
    sandbox.put_back(("app.py",), base)
    sandbox.apply(candidate)
    assert not proof.exists()
    assert (project / "app.py").read_text() == "x = 2\n"


def test_a_git_file_that_points_elsewhere_changes_nothing_there(
    tmp_path: Path, sandbox: GitSandbox
) -> None:
    other = make_repository(tmp_path / "other", {"file": "x\n"})
    before = git(other, "status", "--porcelain"), git(other, "log", "--format=%H")
    subprocess.run(["rm", "-rf", str(sandbox.directory / ".git")], check=True)
    (sandbox.directory / ".git").write_text(f"gitdir: {other / '.git'}\n")
    write_files(sandbox.directory, {"app.py": "x = 2\n"})
    candidate = sandbox.snapshot()
    sandbox.restore(sandbox.base)
    sandbox.apply(candidate)
    assert (git(other, "status", "--porcelain"), git(other, "log", "--format=%H")) == before
    assert (sandbox.top / "app.py").read_text() == "x = 2\n"


def test_variables_of_git_lead_nowhere(
    tmp_path: Path, sandbox: GitSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof, program = tmp_path / "proof", tmp_path / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch {proof}\n")
    program.chmod(0o755)
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(program))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(program))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    write_files(sandbox.directory, {"app.py": "x = 2\n"})
    sandbox.apply(sandbox.snapshot())
    assert not proof.exists()


def test_hooks_that_lie_in_the_tree_are_refused(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "project", {"app.py": "x = 1\n", ".hooks/x": "#\n"})
    git(project, "config", "core.hooksPath", ".hooks")
    sandbox = make_sandbox(project, kind="worktree")
    sandbox.open()
    write_files(sandbox.directory, {".hooks/pre-commit": "#!/bin/sh\n"})
    assert apply(sandbox) == {".hooks/pre-commit": "hook"}


def test_a_refusal_is_an_error_like_all_of_sandboxes(sandbox: GitSandbox) -> None:
    (sandbox.directory / "link").symlink_to("/etc/passwd")
    with pytest.raises(
        SandboxError,
        match="not applied, and nothing is changed: link is a link that leads out of the project: "
        "/etc/passwd; have the candidate made without that",
    ):
        sandbox.apply(sandbox.snapshot())


class TestRules:
    """The rules themselves, for what no file system here can hold."""

    def kinds(self, *changes: ChangedFile, files: tuple[str, ...] = ()) -> dict[str, str]:
        return {found.file: found.kind for found in violations(changes, files=files)}

    @pytest.mark.parametrize(
        "path",
        ["/etc/passwd", "../rc", "a/../../rc", "a//b", "./a", "C:/x", "C:\\x", "\\\\host\\x"],
    )
    def test_a_path_that_leads_out_is_refused(self, path: str) -> None:
        assert self.kinds(ChangedFile(path=path, before=None, mode=FILE)) == {path: "outside"}

    @pytest.mark.parametrize(
        "path",
        [
            *(".git/config", ".GIT/config", "sub/.Git/hooks/pre-commit", "GIT~1/config"),
            *(".git./x", ".git::$INDEX_ALLOCATION/x", ".g\u200dit/x", "\ufeff.git/x", "a\\.git\\x"),
        ],
    )
    def test_gits_own_files_are_refused(self, path: str) -> None:
        assert self.kinds(ChangedFile(path=path, before=None, mode=FILE)) == {path: "git"}

    @pytest.mark.parametrize("path", [".gitignore", ".github/x.yml", "git/x", "a.git/x", ".gitx"])
    def test_others_are_not(self, path: str) -> None:
        assert self.kinds(ChangedFile(path=path, before=None, mode=FILE)) == {}

    def test_a_repository_of_its_own_is_refused(self) -> None:
        change = ChangedFile(path="sub", before=None, mode=REPOSITORY)
        assert self.kinds(change) == {"sub": "submodule"}

    def test_what_is_removed_may_be_called_as_it_likes(self) -> None:
        assert self.kinds(ChangedFile(path="a\nb", before=FILE, mode=None)) == {}

    @pytest.mark.parametrize("name", ["con", "NUL.txt", "a/com1", "x.", "a:b", "what?"])
    def test_names_that_windows_keeps_are_refused_there(self, name: str) -> None:
        change = ChangedFile(path=name, before=None, mode=FILE)
        assert violations([change], windows=False) == ()
        assert [found.kind for found in violations([change], windows=True)] == ["reserved"]

    @given(st.text(min_size=1).filter(lambda name: "\0" not in name and "/" not in name))
    def test_whatever_is_called_git_somewhere_is_refused(self, name: str) -> None:
        spelt = unicodedata.normalize("NFC", name).casefold().rstrip(". ")
        if spelt == ".git":
            assert is_git(name)
        changes = [ChangedFile(path=f"a/{name}/config", before=None, mode=FILE)]
        kinds = [found.kind for found in violations(changes)]
        assert not is_git(name) or kinds[0] in ("git", "outside")

    @given(st.text(), st.text())
    def test_a_link_that_is_allowed_leads_to_a_place_within(self, path: str, target: str) -> None:
        path, target = (text.replace("\0", "") for text in (path, target))
        change = ChangedFile(path=path, before=None, mode=LINK, target=target)
        if not violations([change], windows=False):
            at = os.path.normpath(Path("/top", path).parent / target)
            assert at == "/top" or at.startswith("/top/")

    @given(st.lists(st.sampled_from(["..", ".", "a", "b", "c", ""]), max_size=8))
    def test_a_link_is_followed_as_a_file_system_would(self, parts: list[str]) -> None:
        target = "/".join(parts)
        change = ChangedFile(path="d/e/link", before=None, mode=LINK, target=target)
        at = os.path.normpath(Path("/top/d/e") / target)
        is_inside = at == "/top" or at.startswith("/top/")
        # One that goes out and comes back by the name of the project depends on that name.
        depth, lowest = 2, 2
        for part in parts:
            depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
            lowest = min(lowest, depth)
        allowed = not violations([change]) and not target.startswith("/")
        assert allowed == (is_inside and lowest >= 0 and not target.startswith("/"))

    @given(st.text())
    def test_a_name_that_is_shown_hides_nothing(self, name: str) -> None:
        assert visible_name(name).isprintable()
        assert visible_name(visible_name(name)) == visible_name(name)


def test_what_git_cannot_keep_by_its_name_ends_no_run_and_is_refused(
    sandbox: GitSandbox,
) -> None:
    before = sandbox.base
    harm: dict[str, str | bytes] = {".GIT/config": "x\n", "sub/.Git/hooks/pre-commit": "id\n"}
    write_files(sandbox.directory, {"app.py": "x = 2\n", **harm})
    candidate = sandbox.snapshot()
    assert sandbox.changed(before, candidate) == ("app.py",)
    with pytest.raises(RefusedFiles) as refused:
        sandbox.apply(candidate)
    assert [finding.location.file for finding in refused.value.findings] == sorted(harm)
    assert {finding.data["kind"] for finding in refused.value.findings} == {"git"}
    assert not (sandbox.top / ".GIT").exists()
    assert "x = 2" not in (sandbox.top / "app.py").read_text()
