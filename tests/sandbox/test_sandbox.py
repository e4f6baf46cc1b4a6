"""Candidates live in a sandbox; the user's tree is untouched until one of them is applied."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runtrue import process
from runtrue.errors import SandboxError
from runtrue.process import MARK
from runtrue.sandbox import GitSandbox, repository_of
from runtrue.sandbox.git import remove
from tests.sandbox.support import contents, git, make_repository, make_sandbox, state, write_files

FILES: dict[str, str | bytes] = {
    "app.py": "x = 1\n",
    "pkg/__init__.py": "",
    "pkg/mod.py": "y = 1\n",
    "tests/test_app.py": "def test_it(): pass\n",
    "data.bin": bytes(range(256)),
    "windows.txt": "a\r\nb\r\n",
}
KINDS = ("worktree", "copy")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project", FILES)


def opened(project: Path, kind: str | None = None, **options: object) -> tuple[GitSandbox, str]:
    sandbox = make_sandbox(project, kind=kind, **options)  # type: ignore[arg-type]
    return sandbox, sandbox.open()


class TestOpen:
    @pytest.mark.parametrize("kind", KINDS)
    def test_it_holds_what_the_user_has(self, repository: Path, kind: str) -> None:
        sandbox, _ = opened(repository, kind)
        assert contents(sandbox.directory) == contents(repository)

    def test_a_repository_gives_a_working_tree_with_a_repository_of_its_own(
        self, repository: Path
    ) -> None:
        git(repository, "tag", "v1")
        before = state(repository)
        sandbox, _ = opened(repository)
        assert git(sandbox.directory, "status", "--porcelain", "--untracked-files=no") == ""
        assert git(sandbox.directory, "tag").split() == ["v1"]
        # What agents like to do there is theirs alone.
        write_files(sandbox.directory, {"app.py": "x = 9\n"})
        git(sandbox.directory, "stash")
        git(sandbox.directory, "checkout", "--quiet", "-b", "mine")
        git(sandbox.directory, "config", "user.name", "somebody else")
        git(sandbox.directory, "stash", "drop", "--quiet")
        assert state(repository) == before

    def test_a_plain_directory_gives_a_copy(self, tmp_path: Path) -> None:
        project = tmp_path / "project"
        write_files(project, FILES)
        sandbox, _ = opened(project)
        assert contents(sandbox.directory) == contents(project)
        assert not (sandbox.directory / ".git").exists()
        assert not (project / ".git").exists()

    def test_a_plain_directory_gives_no_worktree(self, tmp_path: Path) -> None:
        project = tmp_path / "project"
        write_files(project, FILES)
        with pytest.raises(SandboxError, match="is not in a git repository: no worktree here"):
            make_sandbox(project, kind="worktree").open()

    def test_an_empty_directory(self, tmp_path: Path) -> None:
        project = tmp_path / "project"
        project.mkdir()
        sandbox, base = opened(project)
        sandbox.restore(base)
        assert contents(sandbox.directory) == {}

    @pytest.mark.parametrize("kind", KINDS)
    def test_uncommitted_work_is_part_of_it(self, repository: Path, kind: str) -> None:
        write_files(repository, {"app.py": "x = 2\n", "new.py": "", "staged.py": "1\n"})
        git(repository, "add", "staged.py")
        write_files(repository, {"staged.py": "2\n"})
        git(repository, "mv", "pkg/mod.py", "pkg/renamed.py")
        (repository / "data.bin").unlink()
        git(repository, "rm", "--quiet", "windows.txt")
        sandbox, _ = opened(repository, kind)
        assert contents(sandbox.directory) == contents(repository)
        assert "data.bin" not in contents(sandbox.directory)
        assert (sandbox.directory / "staged.py").read_text() == "2\n"

    @pytest.mark.parametrize("kind", KINDS)
    def test_files_of_every_sort(self, tmp_path: Path, kind: str) -> None:
        project = make_repository(
            tmp_path / "project",
            {
                "with space.py": "",
                "ünï©ode.py": "",
                "new\nline.py": "",
                'quote".py': "",
                "tab\t.py": "",
                "-dash.py": "",
                ":colon.py": "",
                "star*.py": "",
                "[brackets].py": "",
                "back\\slash.py": "",
                "run.sh": "#!/bin/sh\n",
                "crlf.txt": b"a\r\nb\r\n",
                "mixed.txt": b"a\r\nb\nc\r",
                "no-end.txt": b"no newline",
                "nul.bin": b"\0\xff\0",
                "empty": b"",
            },
        )
        (project / "run.sh").chmod(0o755)
        (project / "link").symlink_to("run.sh")
        (project / "dangling").symlink_to("nowhere")
        (project / "to-directory").symlink_to(".")
        sandbox, base = opened(project, kind)
        assert contents(sandbox.directory) == contents(project)
        for path in sandbox.directory.iterdir():
            if path.name != ".git":
                path.unlink()
        sandbox.restore(base)
        assert contents(sandbox.directory) == contents(project)

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_name_that_is_no_text(self, repository: Path, kind: str) -> None:
        odd = os.fsdecode(b"odd-\xff.py")
        write_files(repository, {odd: "1\n", ".gitignore": "*.ignored\n", f"{odd}.ignored": ""})
        sandbox, base = opened(repository, kind)
        (sandbox.directory / odd).write_text("2\n")
        candidate = sandbox.snapshot()
        assert sandbox.changed(base, candidate) == (odd,)
        sandbox.apply(candidate)
        assert (repository / odd).read_text() == "2\n"

    def test_a_repository_without_commits(self, tmp_path: Path) -> None:
        project = tmp_path / "project"
        project.mkdir()
        git(project, "init", "--quiet")
        write_files(project, FILES)
        git(project, "add", "app.py")
        before = state(project)
        sandbox, _ = opened(project)
        assert contents(sandbox.directory) == contents(project)
        (sandbox.directory / "app.py").write_text("x = 2\n")
        sandbox.apply(sandbox.snapshot())
        assert (project / "app.py").read_text() == "x = 2\n"
        sandbox.remove()
        write_files(project, {"app.py": "x = 1\n"})
        assert state(project) == before

    def test_a_project_within_a_repository(self, repository: Path) -> None:
        sandbox, _ = opened(repository / "pkg", home=repository.parent / "home" / "run-of-a-part")
        workplace = sandbox.workplace()
        assert workplace.root == sandbox.directory
        assert workplace.directory == sandbox.directory / "pkg"
        assert contents(sandbox.directory) == contents(repository)

    def test_a_project_that_its_repository_ignores_is_copied(self, repository: Path) -> None:
        write_files(repository, {".gitignore": "/build\n", "build/app/app.py": "z = 1\n"})
        project = repository / "build" / "app"
        assert repository_of(project) is None
        sandbox, _ = opened(project, home=repository.parent / "home" / "ignored-project")
        assert contents(sandbox.directory) == {"app.py": "- b'z = 1\\n'"}

    def test_a_linked_worktree_as_the_project(self, repository: Path, tmp_path: Path) -> None:
        linked = tmp_path / "linked"
        write_files(repository, {".gitignore": "*.gen\n", "only-here.gen": "main\n"})
        git(repository, "add", "--force", "only-here.gen")
        git(repository, "commit", "--quiet", "-m", "ignored and tracked")
        git(repository, "worktree", "add", "--quiet", "-b", "side", str(linked), "HEAD~1")
        write_files(linked, {".gitignore": "*.gen\n", "mine.gen": "side\n", "app.py": "x = 9\n"})
        git(linked, "add", "--force", "mine.gen")
        before = state(linked), state(repository)
        sandbox, base = opened(linked)
        assert contents(sandbox.directory) == contents(linked)
        write_files(sandbox.directory, {"mine.gen": "edited\n"})
        assert sandbox.changed(base, sandbox.snapshot()) == ("mine.gen",)
        sandbox.remove()
        assert (state(linked), state(repository)) == before

    def test_a_sparse_checkout_is_copied(self, repository: Path) -> None:
        git(repository, "sparse-checkout", "set", "--no-cone", "/*", "!/pkg")
        sandbox, _ = opened(repository)
        assert not (sandbox.directory / ".git").exists()
        assert contents(sandbox.directory) == contents(repository)

    @pytest.mark.parametrize("kind", KINDS)
    def test_line_ends_are_the_users(self, repository: Path, kind: str) -> None:
        git(repository, "config", "core.safecrlf", "true")
        git(repository, "config", "core.autocrlf", "input")
        write_files(repository, {"new.txt": "a\r\nb\r\n"})
        sandbox, _ = opened(repository, kind)
        write_files(sandbox.directory, {"app.py": "x = 2\n"})
        sandbox.apply(sandbox.snapshot())
        assert (repository / "new.txt").read_bytes() == b"a\r\nb\r\n"
        assert (repository / "app.py").read_text() == "x = 2\n"

    def test_no_attribute_rewrites_a_copy(self, repository: Path) -> None:
        write_files(repository, {".gitattributes": "* text=auto eol=lf\n*.id ident\n"})
        write_files(repository, {"crlf.txt": "a\r\n", "x.id": "$Id$\n"})
        sandbox, _ = opened(repository, "copy")
        assert contents(sandbox.directory) == contents(repository)

    def test_a_conflict_that_is_not_resolved_is_taken_as_it_is(self, repository: Path) -> None:
        git(repository, "checkout", "--quiet", "-b", "other")
        write_files(repository, {"app.py": "x = 'other'\n"})
        git(repository, "commit", "--quiet", "-am", "other")
        git(repository, "checkout", "--quiet", "main")
        write_files(repository, {"app.py": "x = 'main'\n"})
        git(repository, "commit", "--quiet", "-am", "main")
        with pytest.raises(subprocess.CalledProcessError):
            git(repository, "merge", "other")
        before = state(repository)
        sandbox, _ = opened(repository)
        assert "<<<<<<<" in (sandbox.directory / "app.py").read_text()
        sandbox.remove()
        assert state(repository) == before

    @pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
    def test_a_repository_of_another_user_is_refused_unless_the_user_allows_it(
        self, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for path in [repository, *repository.rglob("*")]:
            os.chown(path, 12345, 12345, follow_symlinks=False)
        with pytest.raises(SandboxError, match="which belongs to another user; if you trust"):
            make_sandbox(repository).open()
        settings = tmp_path / "gitconfig"
        settings.write_text(f"[safe]\n\tdirectory = {repository}\n")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
        sandbox, _ = opened(repository)
        assert contents(sandbox.directory) == contents(repository)

    def test_without_git_there_is_one_clear_sentence(
        self, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "bin").mkdir()
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        with pytest.raises(SandboxError) as caught:
            make_sandbox(repository).open()
        assert str(caught.value) == (
            "git cannot be run (No such file or directory); "
            "runtrue keeps candidates with it: install git"
        )

    @pytest.mark.parametrize("kind", KINDS)
    def test_again_over_what_a_killed_one_left(self, repository: Path, kind: str) -> None:
        sandbox, base = opened(repository, kind)
        (sandbox.directory.parent / "site.json").unlink()
        (sandbox.directory / "app.py").write_text("half made\n")
        (sandbox.directory.parent / "index.lock").touch()
        assert sandbox.open() == base
        assert contents(sandbox.directory) == contents(repository)

    def test_again_when_only_the_repository_remembers_it(self, repository: Path) -> None:
        sandbox, base = opened(repository)
        shutil.rmtree(sandbox.directory.parent)
        assert sandbox.open() == base

    def test_in_a_home_behind_a_link(self, repository: Path, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to("real")
        before = state(repository)
        sandbox, base = opened(repository, home=tmp_path / "link" / "run-behind-a-link")
        assert sandbox.open() == base
        sandbox.remove()
        assert state(repository) == before

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("home", [".runtrue", "its-home"])
    def test_in_a_home_within_the_project(self, repository: Path, kind: str, home: str) -> None:
        opened(repository, kind, home=repository / home / "sandboxes/run-failed")
        sandbox, _ = opened(repository, kind, home=repository / home / "sandboxes/run-inside")
        expected = {k: v for k, v in contents(repository).items() if not k.startswith(home)}
        assert contents(sandbox.directory) == expected
        (sandbox.directory / "app.py").write_text("x = 2\n")
        assert sandbox.apply(sandbox.snapshot()) == ("app.py",)

    def test_a_later_process_finds_it_as_it_is(self, repository: Path) -> None:
        first, base = opened(repository)
        (first.directory / "app.py").write_text("x = 2\n")
        candidate = first.snapshot()
        later = make_sandbox(repository, home=first.directory.parent)
        later.restore(base)
        assert (later.directory / "app.py").read_text() == "x = 1\n"
        assert later.changed(base, candidate) == ("app.py",)

    def test_one_that_is_gone_is_named(self, repository: Path) -> None:
        sandbox = make_sandbox(repository)
        with pytest.raises(SandboxError, match="is gone or broken; start a new run"):
            sandbox.restore("HEAD")

    def test_a_project_that_is_gone_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(SandboxError, match=r"the directory .*/nowhere is gone"):
            make_sandbox(tmp_path / "nowhere", kind="copy").open()


class TestBranch:
    def test_a_working_tree_is_on_a_branch_of_its_own_repository(self, repository: Path) -> None:
        before = state(repository)
        sandbox, base = opened(repository, branch="runtrue/plan-1")
        tree = sandbox.directory
        assert git(tree, "symbolic-ref", "HEAD") == "refs/heads/runtrue/plan-1\n"
        assert git(tree, "rev-parse", "HEAD^{tree}").strip() == base
        assert git(tree, "branch", "--format=%(refname:short)").split() == [
            *("main", "runtrue/plan-1")
        ]
        assert git(tree, "status", "--porcelain", "--untracked-files=no") == ""
        write_files(tree, {"app.py": "x = 9\n"})
        git(tree, "commit", "--quiet", "-am", "an agent's")
        assert git(tree, "log", "--format=%s", "runtrue/plan-1").startswith("an agent's\n")
        assert state(repository) == before

    @pytest.mark.parametrize("taken", ["runtrue", "runtrue/plan-1", "runtrue/plan-1/deep"])
    def test_branches_of_the_users_are_not_in_its_way(self, repository: Path, taken: str) -> None:
        git(repository, "branch", taken)
        git(repository, "branch", "runtrue-other")
        before = state(repository)
        sandbox, base = opened(repository, branch="runtrue/plan-1")
        assert git(sandbox.directory, "rev-parse", "runtrue/plan-1^{tree}").strip() == base
        assert git(sandbox.directory, "branch", "--list", "runtrue-other")
        assert state(repository) == before

    def test_a_copy_has_none(self, tmp_path: Path) -> None:
        write_files(tmp_path / "plain", FILES)
        sandbox, _ = opened(tmp_path / "plain", branch="runtrue/plan-1")
        assert contents(sandbox.directory) == contents(tmp_path / "plain")
        assert not (sandbox.directory / ".git").exists()


class TestNestedRepositories:
    def test_submodules_are_copied_with_their_files(self, repository: Path, tmp_path: Path) -> None:
        make_repository(tmp_path / "library", {"lib.py": "l = 1\n", "deep/er.py": ""})
        add = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add")
        git(repository, *add, str(tmp_path / "library"), "vendor/library")
        git(repository, "commit", "--quiet", "-m", "submodule")
        before = state(repository)
        sandbox, base = opened(repository)
        assert not (sandbox.directory / ".git").exists()
        assert contents(sandbox.directory) == contents(repository)
        write_files(sandbox.directory, {"vendor/library/lib.py": "l = 2\n", "app.py": "x = 2\n"})
        candidate = sandbox.snapshot()
        assert sandbox.changed(base, candidate) == ("app.py", "vendor/library/lib.py")
        sandbox.restore(base)
        assert contents(sandbox.directory) == contents(repository)
        assert state(repository) == before

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_repository_that_just_lies_there(self, repository: Path, kind: str) -> None:
        make_repository(repository / "other", {"o.py": "o = 1\n"})
        make_repository(repository / "other" / "inner", {"i.py": "i = 1\n"})
        before = state(repository)
        sandbox, _ = opened(repository, kind)
        assert contents(sandbox.directory) == contents(repository)
        sandbox.remove()
        assert state(repository) == before

    @pytest.mark.parametrize("kind", KINDS)
    def test_one_without_commits_or_files(self, repository: Path, kind: str) -> None:
        for name in ("young", "empty"):
            (repository / name).mkdir()
            git(repository / name, "init", "--quiet")
        write_files(repository, {"young/y.py": "y = 1\n"})
        sandbox, _ = opened(repository, kind)
        assert contents(sandbox.directory) == contents(repository)

    @pytest.mark.parametrize("kind", KINDS)
    def test_one_that_a_candidate_made(self, repository: Path, kind: str) -> None:
        sandbox, base = opened(repository, kind)
        make_repository(sandbox.directory / "cloned", {"c.py": "c = 1\n"})
        candidate = sandbox.snapshot()
        assert sandbox.changed(base, candidate) == ("cloned/c.py",)
        sandbox.restore(base)
        assert not (sandbox.directory / "cloned").exists()


class TestBeside:
    """What no candidate holds: generated, installed and left-over things."""

    @pytest.mark.parametrize("kind", KINDS)
    def test_small_ignored_files_come_along(self, repository: Path, kind: str) -> None:
        write_files(repository, {".gitignore": "_version.py\nbuild/\n"})
        write_files(repository, {"pkg/_version.py": "v = 1\n", "build/deep/gen.py": "g = 1\n"})
        sandbox, base = opened(repository, kind)
        assert contents(sandbox.directory) == contents(repository)
        assert sandbox.snapshot() == base, "they are no part of a candidate"

    @pytest.mark.parametrize("kind", KINDS)
    def test_they_are_the_same_for_every_candidate(self, repository: Path, kind: str) -> None:
        write_files(repository, {".gitignore": "_version.py\nbuild/\n.env\n"})
        write_files(repository, {"pkg/_version.py": "v = 1\n", "build/gen.py": "", ".env": "a"})
        sandbox, base = opened(repository, kind)
        before = contents(sandbox.directory)
        write_files(sandbox.directory, {"pkg/_version.py": "v = 'passes'\n", "build/more.py": ""})
        (sandbox.directory / "build/gen.py").unlink()
        (sandbox.directory / ".env").unlink()
        (sandbox.directory / ".env").mkdir()
        sandbox.restore(base)
        assert contents(sandbox.directory) == before

    @pytest.mark.parametrize("kind", KINDS)
    def test_they_stay_out_when_a_candidate_no_longer_ignores_them(
        self, repository: Path, kind: str
    ) -> None:
        write_files(repository, {".gitignore": "_version.py\n", "_version.py": "v = 1\n"})
        sandbox, base = opened(repository, kind)
        write_files(sandbox.directory, {".gitignore": "", "app.py": "x = 2\n"})
        candidate = sandbox.snapshot()
        assert sandbox.changed(base, candidate) == (".gitignore", "app.py")
        sandbox.apply(candidate)
        assert (repository / "_version.py").read_text() == "v = 1\n"

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_candidate_may_take_their_place(self, repository: Path, kind: str) -> None:
        write_files(repository, {".gitignore": "gen/_version.py\n", "gen/_version.py": "v = 1\n"})
        sandbox, base = opened(repository, kind)
        shutil.rmtree(sandbox.directory / "gen")
        write_files(sandbox.directory, {"gen": "a file\n"})
        candidate = sandbox.snapshot()
        sandbox.restore(base)
        assert (sandbox.directory / "gen/_version.py").read_text() == "v = 1\n"
        sandbox.restore(candidate)
        assert (sandbox.directory / "gen").read_text() == "a file\n"

    @pytest.mark.parametrize("kind", KINDS)
    def test_files_of_a_candidate_may_lie_among_them(self, repository: Path, kind: str) -> None:
        write_files(repository, {".gitignore": "*.gen\n", "out/a.gen": "1\n"})
        (repository / "logs").mkdir()
        sandbox, base = opened(repository, kind)
        write_files(sandbox.directory, {"out/b.py": "", "out/b.gen": "", "logs/c.py": ""})
        candidate = sandbox.snapshot()
        assert sandbox.changed(base, candidate) == ("logs/c.py", "out/b.py")
        sandbox.restore(base)
        assert contents(sandbox.directory) == contents(repository)
        sandbox.restore(candidate)
        assert (sandbox.directory / "logs/c.py").exists()
        assert (sandbox.directory / "out/a.gen").exists()
        assert not (sandbox.directory / "out/b.gen").exists()

    def test_big_ones_stay_behind(self, repository: Path) -> None:
        write_files(repository, {".gitignore": "*.dat\nbig/\n", "small.dat": "s", "big/x": ""})
        for name in ("big.dat", "big/file"):
            with (repository / name).open("wb") as big:
                big.truncate(60 * 1024 * 1024)
        sandbox, _ = opened(repository)
        assert (sandbox.directory / "small.dat").exists()
        assert not (sandbox.directory / "big.dat").exists()
        assert not (sandbox.directory / "big").exists()

    def test_links_come_along_as_links(self, repository: Path) -> None:
        write_files(repository, {".gitignore": "current\n"})
        (repository / "current").symlink_to("pkg")
        sandbox, base = opened(repository)
        assert (sandbox.directory / "current").readlink() == Path("pkg")
        (sandbox.directory / "current").unlink()
        (sandbox.directory / "current").symlink_to("tests")
        sandbox.restore(base)
        assert (sandbox.directory / "current").readlink() == Path("pkg")

    def test_what_may_not_be_read_stays_behind(self, monkeypatch: pytest.MonkeyPatch) -> None:
        place = Path(tempfile.mkdtemp())
        monkeypatch.setenv("HOME", str(place))
        try:
            project = make_repository(place / "project", {".gitignore": "*.key\n", "app.py": ""})
            write_files(project, {"secret.key": "", "open.key": ""})
            (project / "secret.key").chmod(0)
            with as_nobody(place):
                sandbox, _ = opened(project)
                assert (sandbox.directory / "open.key").exists()
                assert not (sandbox.directory / "secret.key").exists()
        finally:
            shutil.rmtree(place)

    def test_what_cannot_be_copied_stays_behind(self, repository: Path) -> None:
        write_files(repository, {".gitignore": "run/\n*.sock\n", "run/pid": "1\n"})
        os.mkfifo(repository / "run" / "fifo")
        with socket.socket(socket.AF_UNIX) as server:
            place = tempfile.mkdtemp()
            server.bind(f"{place}/s")
            shutil.move(f"{place}/s", repository / "app.sock")
            os.rmdir(place)  # noqa: PTH106
            sandbox, _ = opened(repository)
        assert (sandbox.directory / "run/pid").read_text() == "1\n"

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("ignored", [True, False])
    def test_what_is_installed_is_linked(self, repository: Path, kind: str, ignored: bool) -> None:
        if ignored:
            write_files(repository, {".gitignore": ".venv\nnode_modules\n"})
        write_files(repository, {".venv/bin/tool": "", "web/node_modules/lib/index.js": ""})
        write_files(repository, {"web/package.json": "{}", "venv/pyvenv.cfg": ""})
        sandbox, base = opened(repository, kind)
        for name in (".venv", "venv", "web/node_modules/lib"):
            assert (sandbox.directory / name).resolve() == repository / name
        assert sandbox.snapshot() == base
        (sandbox.directory / ".venv").unlink()
        sandbox.restore(base)
        assert (sandbox.directory / ".venv/bin/tool").exists()
        assert (repository / ".venv/bin/tool").exists()

    @pytest.mark.parametrize("kind", KINDS)
    def test_caches_among_installed_packages_are_the_sandboxs_own_and_empty_for_each_candidate(
        self, repository: Path, kind: str
    ) -> None:
        write_files(repository, {"node_modules/lib/index.js": "", "node_modules/.cache/a": ""})
        sandbox, base = opened(repository, kind)
        modules = sandbox.directory / "node_modules"
        assert sorted(path.name for path in modules.iterdir()) == [
            *(".cache", ".vite", ".vite-temp", ".vitest", "lib")
        ]
        (modules / ".cache/b").write_text("made by a candidate")
        sandbox.restore(base)
        assert not any((modules / ".cache").iterdir())
        assert [path.name for path in (repository / "node_modules/.cache").iterdir()] == ["a"]

    def test_commands_may_write_the_caches_and_not_the_packages(self, repository: Path) -> None:
        write_files(repository, {"node_modules/lib/index.js": ""})
        sandbox, _ = opened(repository, "copy")
        workplace = sandbox.workplace()
        script = "echo 1 > node_modules/.vite/a; mkdir node_modules/.cache/b; echo 1 > $0"
        for evil in ("node_modules/evil.js", "node_modules/lib/index.js"):
            ended = asyncio.run(
                process.run(
                    ("sh", "-c", script, evil),
                    cwd=workplace.directory,
                    env=workplace.environment,
                    timeout=60,
                    confinement=workplace.confinement,
                )
            )
            assert ended.exit_code != 0
        modules = sandbox.directory / "node_modules"
        assert (modules / ".vite/a").exists()
        assert (modules / ".cache/b").is_dir()
        assert not (modules / "evil.js").exists()
        assert (repository / "node_modules/lib/index.js").read_text() == ""

    def test_packages_of_a_workspace_are_the_candidates_own(self, repository: Path) -> None:
        write_files(repository, {"packages/a/index.js": "1\n", "packages/b/index.js": "2\n"})
        write_files(repository, {"node_modules/@shop/lib/index.js": "3\n"})
        modules = repository / "node_modules"
        (modules / "a").symlink_to("../packages/a")
        (modules / "@shop/b").symlink_to("../../packages/b")
        sandbox, _ = opened(repository, "copy")
        write_files(sandbox.directory, {"packages/a/index.js": "fixed\n"})
        assert (sandbox.directory / "node_modules/a/index.js").read_text() == "fixed\n"
        inside = (sandbox.directory / "node_modules/@shop/b").resolve()
        assert inside == (sandbox.directory / "packages/b").resolve()
        assert (sandbox.directory / "node_modules/@shop/lib/index.js").read_text() == "3\n"

    def test_a_package_that_is_called_like_it_is_not(self, repository: Path) -> None:
        write_files(repository, {"pkg/venv/__init__.py": "v = 1\n"})
        sandbox, _ = opened(repository, "copy")
        write_files(sandbox.directory, {"pkg/venv/__init__.py": "v = 2\n"})
        assert (repository / "pkg/venv/__init__.py").read_text() == "v = 1\n"

    @pytest.mark.parametrize("kind", KINDS)
    def test_what_running_things_made_stays_behind(self, repository: Path, kind: str) -> None:
        junk: dict[str, str | bytes] = {
            "__pycache__/app.cpython-311.pyc": "",
            "pkg/__pycache__/mod.pyc": "",
            ".pytest_cache/v/x": "",
            ".mypy_cache/x.json": "",
            ".coverage": "",
            ".coverage.host.1": "",
        }
        before = contents(repository)
        write_files(repository, junk)
        sandbox, base = opened(repository, kind)
        assert contents(sandbox.directory) == before
        write_files(sandbox.directory, junk)
        assert sandbox.snapshot() == base

    @pytest.mark.parametrize("kind", KINDS)
    def test_empty_directories_come_along(self, repository: Path, kind: str) -> None:
        (repository / "logs" / "today").mkdir(parents=True)
        (repository / "pkg" / "empty").mkdir()
        sandbox, base = opened(repository, kind)
        assert (sandbox.directory / "logs/today").is_dir()
        sandbox.restore(base)
        assert (sandbox.directory / "logs/today").is_dir()
        assert (sandbox.directory / "pkg/empty").is_dir()

    def test_tracked_files_count_although_they_are_ignored(self, repository: Path) -> None:
        write_files(repository, {"tracked.log": "1\n", "staged.log": "1\n"})
        git(repository, "add", "tracked.log")
        git(repository, "commit", "--quiet", "-m", "log")
        git(repository, "add", "staged.log")
        write_files(repository, {".gitignore": "*.log\n"})
        sandbox, base = opened(repository)
        assert contents(sandbox.directory) == contents(repository)
        write_files(sandbox.directory, {"tracked.log": "2\n", "staged.log": "2\n"})
        assert sandbox.changed(base, sandbox.snapshot()) == ("staged.log", "tracked.log")


class TestRestore:
    @pytest.mark.parametrize("kind", KINDS)
    def test_everything_is_as_it_was(self, repository: Path, kind: str) -> None:
        write_files(repository, {".gitignore": "*.log\nout/\n"})
        sandbox, base = opened(repository, kind)
        before = contents(sandbox.directory)
        tree = sandbox.directory
        write_files(
            tree,
            {
                "app.py": "changed\n",
                "new.py": "",
                "new/deep/er.py": "",
                "left.log": "",
                "out/put": "",
                "pkg/__pycache__/mod.pyc": "",
                "__pycache__/app.pyc": "",
                ".pytest_cache/x": "",
            },
        )
        (tree / "data.bin").unlink()
        (tree / "windows.txt").chmod(0o755)
        (tree / "an" / "empty" / "directory").mkdir(parents=True)
        (tree / "link").symlink_to("/etc")
        shutil.rmtree(tree / "pkg")
        (tree / "pkg").symlink_to("tests")
        sandbox.restore(base)
        assert contents(sandbox.directory) == before
        assert not (tree / "an").exists()
        assert not (tree / "out").exists()

    @pytest.mark.parametrize("kind", KINDS)
    def test_candidates_come_and_go(self, repository: Path, kind: str) -> None:
        sandbox, base = opened(repository, kind)
        states = {base: contents(sandbox.directory)}
        for n in range(3):
            write_files(sandbox.directory, {"app.py": f"x = {n + 10}\n", f"new{n}.py": ""})
            states[sandbox.snapshot()] = contents(sandbox.directory)
        assert len(states) == 4
        for candidate in (*states, *reversed(states)):
            sandbox.restore(candidate)
            assert contents(sandbox.directory) == states[candidate]

    @pytest.mark.parametrize("kind", KINDS)
    def test_what_lies_there_is_found_as_somebody_has_edited_it(
        self, repository: Path, kind: str
    ) -> None:
        sandbox, base = opened(repository, kind=kind)
        assert sandbox.found(base) == base
        write_files(sandbox.directory, {"app.py": "x = 2\n"})
        assert sandbox.changed(base, sandbox.found(base)) == ("app.py",)

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("left", ["nothing", "an empty directory"])
    def test_a_directory_that_was_cleared_away_is_no_edit_and_is_put_back(
        self, repository: Path, kind: str, left: str
    ) -> None:
        sandbox, base = opened(repository, kind=kind)
        write_files(sandbox.directory, {"app.py": "x = 2\n"})
        candidate = sandbox.snapshot()
        before = contents(sandbox.directory)
        shutil.rmtree(sandbox.directory)
        if left == "an empty directory":
            sandbox.directory.mkdir()
        assert sandbox.changed(base, candidate) == ("app.py",)
        assert sandbox.found(candidate) == candidate
        assert contents(sandbox.directory) == before
        assert (sandbox.directory / ".git").exists() == (kind == "worktree")

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_same_files_are_the_same_candidate(self, repository: Path, kind: str) -> None:
        sandbox, base = opened(repository, kind)
        write_files(sandbox.directory, {"app.py": "x = 2\n"})
        assert sandbox.snapshot() != base
        write_files(sandbox.directory, {"app.py": "x = 1\n"})
        assert sandbox.snapshot() == base

    def test_an_edit_of_the_same_size_at_the_same_time_is_seen(self, repository: Path) -> None:
        sandbox, base = opened(repository)
        app = sandbox.directory / "app.py"
        was = app.stat()
        app.write_text("x = 2\n")
        os.utime(app, ns=(was.st_atime_ns, was.st_mtime_ns))
        assert sandbox.changed(base, sandbox.snapshot()) == ("app.py",)

    @pytest.mark.parametrize("kind", KINDS)
    def test_lines_are_counted_those_of_binary_files_as_well(
        self, repository: Path, kind: str
    ) -> None:
        sandbox, base = opened(repository, kind)
        write_files(sandbox.directory, {"app.py": "x = 2\ny = 3\n", "data.bin": b"\0other"})
        write_files(sandbox.directory, {"new\nname.py": "1\n2\n3\n"})
        assert sandbox.count_lines(base, sandbox.snapshot()) == (6, 3)


class TestPutBack:
    @pytest.mark.parametrize("kind", KINDS)
    def test_modified_added_and_deleted_files(self, repository: Path, kind: str) -> None:
        sandbox, base = opened(repository, kind)
        tree = sandbox.directory
        write_files(tree, {"tests/test_app.py": "cheat\n", "conftest.py": "cheat\n"})
        write_files(tree, {"app.py": "x = 2\n", "star*.py": "", "tests/new/test_x.py": ""})
        (tree / "data.bin").unlink()
        files = ("tests/test_app.py", "conftest.py", "data.bin", "tests/new/test_x.py", "star*.py")
        sandbox.put_back(files, base)
        assert sandbox.changed(base, sandbox.snapshot()) == ("app.py",)

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("replacement", ["link", "file", "directory"])
    def test_what_took_another_shape(self, repository: Path, kind: str, replacement: str) -> None:
        sandbox, base = opened(repository, kind)
        tests = sandbox.directory / "tests"
        if replacement == "directory":
            (tests / "test_app.py").unlink()
            write_files(tests, {"test_app.py/test_inner.py": ""})
        else:
            shutil.rmtree(tests)
            if replacement == "link":
                tests.symlink_to("pkg")
            else:
                tests.write_text("not a directory\n")
        candidate = sandbox.snapshot()
        changed = sandbox.changed(base, candidate)
        assert "tests/test_app.py" in changed
        sandbox.put_back(changed, base)
        assert sandbox.snapshot() == base
        assert contents(sandbox.directory) == contents(repository)

    def test_judges_are_protected(self, repository: Path) -> None:
        sandbox, _ = opened(repository, judges=("verify.sh", "golden/*.txt"))
        files = ("app.py", "tests/test_app.py", "verify.sh", "golden/a.txt", "other/verify.sh")
        assert sandbox.protected(files) == ("tests/test_app.py", "verify.sh", "golden/a.txt")

    def test_judges_of_a_project_within_a_repository(self, repository: Path) -> None:
        write_files(repository, {"odd [1]/app.py": ""})
        sandbox, _ = opened(
            repository / "odd [1]", judges=("verify.sh",), home=repository.parent / "h" / "odd-one"
        )
        files = ("verify.sh", "odd [1]/verify.sh", "odd [1]/app.py")
        assert sandbox.protected(files) == ("odd [1]/verify.sh",)


class TestTheUsersTree:
    def test_it_is_untouched_by_all_that_happens_in_a_sandbox(self, repository: Path) -> None:
        write_files(repository, {"app.py": "stashed\n"})
        git(repository, "stash")
        write_files(repository, {"app.py": "x = 5\n", "new.py": "", "staged.py": ""})
        git(repository, "add", "staged.py")
        git(repository, "branch", "other")
        hooks = repository / ".git" / "hooks"
        fired = repository.parent / "fired"
        for name in ("post-checkout", "post-index-change", "pre-commit", "reference-transaction"):
            (hooks / name).write_text(f"#!/bin/sh\necho {name} >>'{fired}'\n")
            (hooks / name).chmod(0o755)
        git(repository, "config", "core.fsmonitor", str(hooks / "post-checkout"))
        before = state(repository)
        fired.unlink(missing_ok=True)
        sandbox, base = opened(repository)
        write_files(sandbox.directory, {"app.py": "x = 6\n"})
        candidate = sandbox.snapshot()
        sandbox.restore(base)
        sandbox.put_back(("app.py",), candidate)
        sandbox.diff(candidate)
        sandbox.count_lines(base, candidate)
        sandbox.workplace()
        assert not fired.exists()
        assert state(repository) == before
        sandbox.remove()
        assert state(repository) == before
        assert not sandbox.directory.parent.exists()

    def test_removing_spares_the_users_own_worktrees(
        self, repository: Path, tmp_path: Path
    ) -> None:
        git(repository, "worktree", "add", "--quiet", str(tmp_path / "mine"))
        shutil.rmtree(tmp_path / "mine")
        before = state(repository)
        sandbox, _ = opened(repository)
        sandbox.remove()
        assert state(repository) == before

    def test_removing_what_was_never_there(self, repository: Path) -> None:
        sandbox = make_sandbox(repository)
        sandbox.remove()
        assert not sandbox.directory.parent.exists()

    def test_the_index_is_the_users_after_applying(self, repository: Path) -> None:
        write_files(repository, {"staged.py": "1\n"})
        git(repository, "add", "staged.py")
        before = state(repository)
        sandbox, _ = opened(repository)
        write_files(sandbox.directory, {"app.py": "x = 2\n"})
        sandbox.apply(sandbox.snapshot())
        after = state(repository)
        for part in ("index", "head", "refs", "stash", "config"):
            assert after[part] == before[part]
        assert after["status"] == " M app.py\nA  staged.py\n"


class TestApply:
    @staticmethod
    def edited(repository: Path, kind: str) -> tuple[GitSandbox, str]:
        (repository / "link").symlink_to("app.py")
        sandbox, _ = opened(repository, kind)
        tree = sandbox.directory
        write_files(
            tree,
            {
                "app.py": "x = 2\n",
                "new/file.py": "n = 1\n",
                "odd [name]*.py": "o = 1\n",
                "data.bin": b"\0\xff" * 1000,
                "new.bin": bytes(range(255, -1, -1)),
                "windows.txt": "a\r\nc\r\n",
                "no-newline": "x",
            },
        )
        (tree / "pkg/mod.py").unlink()
        (tree / "tests/test_app.py").chmod(0o755)
        (tree / "link").unlink()
        (tree / "link").symlink_to("data.bin")
        return sandbox, sandbox.snapshot()

    @pytest.mark.parametrize("kind", KINDS)
    def test_every_sort_of_change_arrives(self, repository: Path, kind: str) -> None:
        sandbox, candidate = self.edited(repository, kind)
        files = sandbox.apply(candidate)
        assert contents(repository) == contents(sandbox.directory)
        assert set(files) == {
            *("app.py", "new/file.py", "odd [name]*.py", "data.bin", "new.bin", "windows.txt"),
            *("no-newline", "pkg/mod.py", "tests/test_app.py", "link"),
        }

    @pytest.mark.parametrize("kind", KINDS)
    def test_twice_is_the_same_as_once(self, repository: Path, kind: str) -> None:
        sandbox, candidate = self.edited(repository, kind)
        files = sandbox.apply(candidate)
        once = contents(repository)
        assert sandbox.apply(candidate) == files
        assert contents(repository) == once

    @pytest.mark.parametrize("kind", KINDS)
    def test_after_a_crash_in_the_middle_the_rest_is_done(
        self, repository: Path, kind: str
    ) -> None:
        sandbox, candidate = self.edited(repository, kind)
        write_files(repository, {"app.py": "x = 2\n", "new/file.py": "n = 1\n"})
        (repository / "pkg/mod.py").unlink()
        sandbox.apply(candidate)
        assert contents(repository) == contents(sandbox.directory)

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        ("file", "conflicting"),
        [("app.py", "x = 7\n"), ("new/file.py", "mine\n"), ("pkg/mod.py", "y = 7\n")],
    )
    def test_a_file_the_user_changed_meanwhile_is_a_conflict(
        self, repository: Path, kind: str, file: str, conflicting: str
    ) -> None:
        sandbox, candidate = self.edited(repository, kind)
        write_files(repository, {file: conflicting})
        before = contents(repository)
        with pytest.raises(SandboxError) as caught:
            sandbox.apply(candidate)
        assert str(caught.value) == (
            f"not applied: {file} changed in {repository} since the run began; "
            "stash the changes or merge the patch by hand"
        )
        assert contents(repository) == before

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_file_the_user_removed_meanwhile_is_a_conflict(
        self, repository: Path, kind: str
    ) -> None:
        sandbox, candidate = self.edited(repository, kind)
        (repository / "app.py").unlink()
        with pytest.raises(SandboxError, match=r"not applied: app\.py changed"):
            sandbox.apply(candidate)

    @pytest.mark.parametrize("kind", KINDS)
    def test_other_work_of_the_user_is_kept(self, repository: Path, kind: str) -> None:
        sandbox, candidate = self.edited(repository, kind)
        write_files(repository, {"pkg/__init__.py": "mine\n", "mine.py": "mine\n"})
        sandbox.apply(candidate)
        assert (repository / "pkg/__init__.py").read_text() == "mine\n"
        assert (repository / "mine.py").read_text() == "mine\n"
        assert (repository / "app.py").read_text() == "x = 2\n"

    def test_commits_of_the_user_are_kept(self, repository: Path) -> None:
        sandbox, candidate = self.edited(repository, "worktree")
        write_files(repository, {"pkg/__init__.py": "mine\n"})
        git(repository, "commit", "--quiet", "-am", "mine")
        sandbox.apply(candidate)
        assert (repository / "pkg/__init__.py").read_text() == "mine\n"

    def test_a_project_within_a_repository(self, repository: Path) -> None:
        sandbox, _ = opened(repository / "pkg", home=repository.parent / "home" / "run-on-a-part")
        write_files(sandbox.workplace().directory, {"mod.py": "y = 2\n"})
        assert sandbox.apply(sandbox.snapshot()) == ("pkg/mod.py",)
        assert (repository / "pkg/mod.py").read_text() == "y = 2\n"

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("diff.noprefix", "true"),
            ("diff.mnemonicPrefix", "true"),
            ("diff.context", "0"),
            ("diff.external", "false"),
            ("color.ui", "always"),
            ("diff.renames", "copies"),
            ("apply.whitespace", "error-all"),
            ("core.quotePath", "true"),
            ("core.pager", "false"),
        ],
    )
    def test_however_the_user_has_set_up_git(self, repository: Path, name: str, value: str) -> None:
        git(repository, "config", name, value)
        sandbox, _ = opened(repository)
        write_files(sandbox.directory, {"app.py": "x = 2  \n", "ü.py": "\n\n"})
        candidate = sandbox.snapshot()
        assert "--- a/app.py\n+++ b/app.py\n" in sandbox.diff(candidate)
        sandbox.apply(candidate)
        assert (repository / "app.py").read_text() == "x = 2  \n"

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_patch_can_be_applied_by_hand(
        self, repository: Path, kind: str, tmp_path: Path
    ) -> None:
        sandbox, candidate = self.edited(repository, kind)
        patch = tmp_path / "a.patch"
        patch.write_bytes(sandbox.diff(candidate).encode(errors="surrogateescape"))
        git(repository, "apply", "--whitespace=nowarn", str(patch))
        assert contents(repository) == contents(sandbox.directory)


class TestTakeOver:
    def test_a_stale_lock_is_cleared(self, repository: Path) -> None:
        sandbox, base = opened(repository)
        (sandbox.directory.parent / "index.lock").touch()
        with pytest.raises(SandboxError, match=r"index\.lock"):
            sandbox.restore(base)
        sandbox.take_over()
        sandbox.restore(base)

    def test_commands_that_were_left_running_end(self, repository: Path) -> None:
        sandbox, _ = opened(repository)
        environment = sandbox.workplace().environment
        left = subprocess.Popen(["sleep", "600"], env=environment, start_new_session=True)
        sandbox.take_over()
        assert left.wait() == -9


@contextlib.contextmanager
def as_nobody(place: Path) -> Iterator[None]:
    """Root needs no permission, so it becomes somebody else, who owns `place`."""
    if os.getuid() != 0:
        yield
        return
    for path in (place, *place.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


class TestRemove:
    def test_directories_that_somebody_locked(self) -> None:
        place = Path(tempfile.mkdtemp())
        (place / "a" / "b").mkdir(parents=True)
        (place / "a" / "b" / "file").touch()
        (place / "a" / "link").symlink_to("/")
        with as_nobody(place):
            (place / "a" / "b").chmod(0o500)
            (place / "a").chmod(0o500)
            with pytest.raises(PermissionError):
                (place / "a" / "new").touch()
            remove(place / "a")
        place.rmdir()

    @pytest.mark.parametrize("make", ["file", "link", "directory", "nothing", "below a file"])
    def test_whatever_it_is(self, tmp_path: Path, make: str) -> None:
        (tmp_path / "kept").mkdir()
        (tmp_path / "file").touch()
        path = tmp_path / "path"
        makers: dict[str, Callable[[], object]] = {
            "file": path.touch,
            "link": lambda: path.symlink_to("kept"),
            "directory": lambda: (path / "deep").mkdir(parents=True),
            "nothing": lambda: None,
            "below a file": lambda: None,
        }
        makers[make]()
        remove(tmp_path / "file" / "below" if make == "below a file" else path)
        assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "kept"]


class TestWorkplace:
    def test_its_places(self, repository: Path) -> None:
        sandbox, _ = opened(repository)
        workplace = sandbox.workplace()
        assert workplace.directory == workplace.root == sandbox.directory
        assert workplace.scratch.is_dir()
        assert not workplace.scratch.is_relative_to(sandbox.directory)
        mark = workplace.environment[MARK]
        assert mark.startswith(f"{sandbox.directory.parent.name}-")
        # A run of the same name that is kept elsewhere is another one.
        other = GitSandbox(repository.parent / "elsewhere" / "run-1", repository)
        other.open()
        assert other.workplace().environment[MARK] != mark


class TestTestsThatMayBeAdded:
    def test_a_test_may_be_added_and_one_that_is_there_may_not(self, repository: Path) -> None:
        sandbox, base = opened(repository)
        write_files(sandbox.directory, {"tests/test_new.py": ""})
        added = sandbox.snapshot()
        assert sandbox.may_add("tests/test_new.py", base)
        assert not sandbox.may_add("tests/test_new.py", added)
        assert not sandbox.may_add("tests/test_app.py", base)

    @pytest.mark.parametrize("file", ["new.py", "tests/conftest.py", "tests/data.json"])
    def test_nothing_but_tests_may_be_added(self, repository: Path, file: str) -> None:
        sandbox, base = opened(repository)
        assert not sandbox.may_add(file, base)


class TestChangedLines:
    TEN: str = "".join(f"{n}\n" for n in range(1, 11))

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        ("new", "lines"),
        [
            (TEN.replace("3\n", "three\n"), {3}),
            (TEN.replace("3\n", "three\n").replace("5\n", "five\n"), {3, 5}),
            (TEN.replace("3\n", "3\nand\nmore\n"), {4, 5}),
            (TEN.replace("3\n", ""), set()),
            (f"0\n{TEN}", {1}),
            (f"{TEN}11", {11}),
            (f"{TEN}@@ -1 +7 @@\n", {11}),
            ("", set()),
        ],
        ids=["one", "two", "added", "removed", "first", "last", "like a hunk", "emptied"],
    )
    def test_they_are_those_that_the_users_file_has_not(
        self, tmp_path: Path, kind: str, new: str, lines: set[int]
    ) -> None:
        sandbox, _ = opened(make_repository(tmp_path / "project", {"a.py": self.TEN}), kind)
        write_files(sandbox.directory, {"a.py": new})
        assert sandbox.changed_lines(sandbox.snapshot()) == {"a.py": lines}

    def test_of_a_new_file_all_are_and_of_a_deleted_or_equal_one_none(
        self, repository: Path
    ) -> None:
        sandbox, base = opened(repository)
        assert sandbox.changed_lines(base) == {}
        write_files(sandbox.directory, {"new dir/ünï\t[a]*.py": "a\nb\n"})
        (sandbox.directory / "app.py").unlink()
        assert sandbox.changed_lines(sandbox.snapshot()) == {
            "new dir/ünï\t[a]*.py": {1, 2},
            "app.py": set(),
        }

    def test_they_count_from_what_the_user_has_not_from_the_last_commit(
        self, repository: Path
    ) -> None:
        write_files(repository, {"app.py": "x = 1\ny = 2\n"})
        sandbox, _ = opened(repository)
        write_files(sandbox.directory, {"app.py": "x = 1\ny = 2\nz = 3\n"})
        assert sandbox.changed_lines(sandbox.snapshot()) == {"app.py": {3}}

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("diff.interHunkContext", "5"),
            ("diff.context", "5"),
            ("diff.external", "false"),
            ("diff.renames", "copies"),
            ("color.ui", "always"),
            ("diff.noprefix", "true"),
        ],
    )
    def test_no_setting_of_the_users_changes_them(
        self, tmp_path: Path, key: str, value: str
    ) -> None:
        project = make_repository(tmp_path / "project", {"a.py": self.TEN})
        git(project, "config", key, value)
        sandbox, _ = opened(project, "worktree")
        new = self.TEN.replace("3\n", "three\n").replace("7\n", "seven\n")
        write_files(sandbox.directory, {"a.py": new})
        assert sandbox.changed_lines(sandbox.snapshot()) == {"a.py": {3, 7}}

    @pytest.mark.parametrize("attribute", ["-diff", "binary", "diff=python"])
    def test_no_attribute_of_the_projects_hides_them(self, tmp_path: Path, attribute: str) -> None:
        project = make_repository(
            tmp_path / "project", {"a.py": self.TEN, ".gitattributes": f"*.py {attribute}\n"}
        )
        sandbox, _ = opened(project)
        write_files(sandbox.directory, {"a.py": self.TEN.replace("3\n", "three\n")})
        assert sandbox.changed_lines(sandbox.snapshot()) == {"a.py": {3}}


class TestContent:
    @pytest.mark.parametrize("kind", KINDS)
    def test_a_file_is_named_from_the_project_wherever_that_lies(
        self, tmp_path: Path, kind: str
    ) -> None:
        repository = make_repository(tmp_path / "all", {"part/a.bin": bytes(range(256)), "b": ""})
        sandbox, base = opened(repository / "part", kind)
        assert sandbox.base == base
        assert sandbox.content("a.bin", base) == bytes(range(256))
        assert sandbox.content("b", base) is None
        assert sandbox.rooted("a.bin") == ("part/a.bin" if kind == "worktree" else "a.bin")

    def test_its_hash_is_that_of_the_candidates_bytes(self, repository: Path) -> None:
        sandbox, base = opened(repository)
        write_files(sandbox.directory, {"app.py": "x = 2\n"})
        new = sandbox.snapshot()
        hashes = [sandbox.content_hash("app.py", candidate) for candidate in (base, new)]
        assert hashes == [hashlib.sha256(t).hexdigest() for t in (b"x = 1\n", b"x = 2\n")]
        assert sandbox.content_hash("missing.py", new) is None
