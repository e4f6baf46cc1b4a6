"""Git runs no program on our behalf, and nothing that a command leaves is run by the user's git."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtrue import process
from runtrue.config import IsolationConfig
from runtrue.errors import IsolationError, SandboxError
from runtrue.sandbox import (
    GitSandbox,
    Isolation,
    Level,
    UsersTree,
    changes_since,
    unavailable,
)
from runtrue.sandbox.apply_rules import RefusedFiles
from tests.isolation.attack import LEVELS
from tests.project_python import project_path
from tests.sandbox.support import GIT_ENV, contents, git, make_repository, make_sandbox, write_files

#: Settings that name programs, with what else makes git run them.
TRAPS = {
    **{f"filter.t.{name}": "<trap>" for name in ("clean", "smudge", "process")},
    **{f"diff.t.{name}": "<trap>" for name in ("textconv", "command")},
    **{f"core.{name}": "<trap>" for name in ("fsmonitor", "pager", "editor", "sshCommand")},
    **{"core.gitProxy": "<trap>", "core.hooksPath": "<hooks>", "core.askPass": "<trap>"},
    **{"diff.external": "<trap>", "merge.t.driver": "<trap>", "credential.helper": "!<trap>"},
    **{"uploadpack.packObjectsHook": "<trap>", "gpg.program": "<trap>"},
    **{"commit.gpgSign": "true", "log.showSignature": "true", "pager.diff": "<trap>"},
    **{"alias.diff": "!<trap>", "alias.status": "!<trap>", "remote.origin.promisor": "true"},
    **{"remote.origin.url": "ext::<trap>", "remote.origin.uploadpack": "<trap>"},
    **{"protocol.ext.allow": "always", "include.path": "<included>"},
    **{"filter.t.required": "true", "submodule.recurse": "true", "hook.t.command": "<trap>"},
    **{"hook.t.event": "post-index-change", "safe.bareRepository": "all"},
}
HOOKS = ("post-checkout", "post-index-change", "pre-commit", "reference-transaction", "pre-auto-gc")


def trap(directory: Path) -> tuple[Path, Path]:
    """A program, and the file that it makes when it is run."""
    program, proof = directory / "trap", directory / "proof"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >>{proof}\ncat 2>/dev/null\nexit 0\n')
    program.chmod(0o755)
    return program, proof


@pytest.fixture
def trapped(tmp_path: Path) -> tuple[Path, Path]:
    """A repository all of whose settings name a program; and what is there if that was run."""
    made = tmp_path / "traps"
    made.mkdir()
    program, proof = trap(made)
    project = make_repository(
        tmp_path / "project",
        {
            "app.py": "x = 1\n",
            "data.bin": "one\n",
            ".gitattributes": "* filter=t diff=t merge=t\n",
            "runtrue.toml": '[checks.c]\ncommand = "grep -q 2 app.py"\n[fixers]\norder = []\n',
        },
    )
    inner = make_repository(project / "inner", {"x": "1\n"})
    git(project, "add", "inner")
    write_files(
        project,
        {".gitmodules": '[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n\tignore = none\n'},
    )
    git(inner, "config", "core.fsmonitor", str(program))
    git(project, "commit", "--quiet", "-m", "second")
    (made / "hooks").mkdir()
    for name in HOOKS:
        (made / "hooks" / name).symlink_to(program)
    (made / "included").write_text(f"[core]\n\tfsmonitor = {program}\n")
    for key, value in TRAPS.items():
        git(project, "config", key, value.replace("<", f"{made}/").replace(">", ""))
    git(project, "config", "extensions.worktreeConfig", "true")
    (project / ".git" / "config.worktree").write_text(f"[core]\n\tfsmonitor = {program}\n")
    # Neither is unchanged by the looks of it.
    write_files(project, {"app.py": "x = 3\n", "data.bin": "two\n"})
    return project, proof


def runtrue(
    project: Path, *args: str, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    more = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "runtrue", *args],
        cwd=project,
        env={
            **{"PATH": project_path(), "HOME": str(project.parent), **more},
            **{"RUNTRUE_HOME": str(project.parent / "runtrue"), **(env or {})},
        },
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_traps_of_these_tests_work(trapped: tuple[Path, Path]) -> None:
    project, proof = trapped
    subprocess.run(["git", "status"], cwd=project, env=GIT_ENV, capture_output=True, check=False)
    assert proof.exists()


@pytest.mark.parametrize(
    "command", [("fix", "--json"), ("gate", "--json"), ("gate", "--json", "--staged"), ("doctor",)]
)
def test_no_program_that_a_repository_names_is_run(
    trapped: tuple[Path, Path], command: tuple[str, ...]
) -> None:
    project, proof = trapped
    done = runtrue(project, *command)
    assert done.returncode in (0, 1, 2), done.stderr
    assert "Traceback" not in done.stderr
    assert not proof.exists(), proof.read_text()


def test_no_program_that_a_repository_names_is_run_in_a_hook_of_git(
    trapped: tuple[Path, Path],
) -> None:
    project, proof = trapped
    variables = {"GIT_INDEX_FILE": ".git/index", "GIT_DIR": ".git", "GIT_PREFIX": ""}
    done = runtrue(project, "gate", "--hook", "git", env=variables)
    assert "Traceback" not in done.stderr
    assert not proof.exists(), proof.read_text()


def test_an_object_that_is_missing_is_not_fetched(trapped: tuple[Path, Path]) -> None:
    project, proof = trapped
    (project / ".gitmodules").unlink()
    git(project, "config", "core.repositoryFormatVersion", "1")
    git(project, "config", "extensions.partialClone", "origin")
    sha = git(project, "rev-parse", "HEAD:data.bin").strip()
    (project / ".git" / "objects" / sha[:2] / sha[2:]).unlink()
    with pytest.raises(SandboxError):
        changes_since(project, "HEAD")
    assert not proof.exists(), proof.read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("command", ["fix", "gate"])
def test_a_repository_of_another_user_is_refused_in_one_sentence(
    tmp_path: Path, command: str
) -> None:
    project = make_repository(tmp_path / "project", {"app.py": "x = 1\n"})
    for path in [project, *project.rglob("*")]:
        os.chown(path, 12345, 12345, follow_symlinks=False)
    done = runtrue(project, command)
    assert done.returncode in (1, 2)
    assert "belongs to another user" in done.stderr
    assert f"git config --global --add safe.directory {project}" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_repository_claims_no_files_outside_of_where_it_is(tmp_path: Path) -> None:
    write_files(tmp_path, {"secret": "mine\n"})
    project = make_repository(tmp_path / "project", {"app.py": "x = 1\n"})
    git(project, "config", "core.worktree", str(tmp_path))
    with pytest.raises(SandboxError, match=r"core\.worktree"):
        make_sandbox(project).open()


def test_a_directory_that_looks_like_a_repository_is_none(tmp_path: Path) -> None:
    """Its settings would be obeyed by the first git that is run in it."""
    program, proof = trap(tmp_path)
    project = make_repository(tmp_path / "project", {"app.py": "x = 1\n"})
    git(project, "init", "--quiet", "--bare", "sub")
    git(project / "sub", "config", "core.fsmonitor", str(program))
    git(project / "sub", "config", "core.bare", "false")
    git(project / "sub", "config", "core.worktree", str(project))
    done = runtrue(project / "sub", "fix", "--check", "true")
    assert "Traceback" not in done.stderr
    assert not proof.exists()


# -- results stay right --------------------------------------------------------------------------


@pytest.fixture
def filtered(tmp_path: Path) -> Path:
    """A repository like one of Git LFS: what git stores of a file is not what is in it."""
    project = make_repository(
        tmp_path / "project",
        {
            ".gitattributes": "*.bin filter=caps\n*.txt text=auto\n",
            "runtrue.toml": '[checks.c]\ncommand = "grep -q small a.bin"\n[fixers]\norder = []\n',
        },
    )
    for name, program in {"clean": "tr a-z A-Z", "smudge": "tr A-Z a-z"}.items():
        git(project, "config", f"filter.caps.{name}", program)
    write_files(project, {"a.bin": "small\n", "b.txt": "one\r\ntwo\r\n"})
    # Git looks again at what was changed in the moment in which it was added.
    os.utime(project / "a.bin", (1, 1))
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "-m", "second")
    assert git(project, "cat-file", "blob", "HEAD:a.bin") == "SMALL\n"
    return project


@pytest.mark.parametrize("command", [("fix",), ("gate", "--staged"), ("gate",)])
def test_a_filtered_file_is_its_bytes_in_the_working_tree(
    filtered: Path, command: tuple[str, ...]
) -> None:
    write_files(filtered, {"more.py": "x = 1\n"})
    git(filtered, "add", "more.py")
    done = runtrue(filtered, *command, "--json")
    verdicts = [v for a in json.loads(done.stdout)["attempts"] for v in a["verdicts"]]
    assert [verdict["passed"] for verdict in verdicts if verdict["check"] == "c"] == [True]


def test_a_filtered_file_that_is_unchanged_is_no_change(filtered: Path) -> None:
    write_files(filtered, {"b.txt": "one\r\n2\r\n"})
    assert changes_since(filtered, "HEAD") == {"b.txt": (2,)}


def test_a_filtered_file_is_applied_as_its_bytes(filtered: Path) -> None:
    sandbox = make_sandbox(filtered)
    sandbox.open()
    before = contents(filtered)
    write_files(sandbox.directory, {"a.bin": "smaller\n", "b.txt": "one\r\n2\r\n"})
    assert sandbox.apply(sandbox.snapshot()) == ("a.bin", "b.txt")
    after = contents(filtered)
    assert {name for name in after if after[name] != before.get(name)} == {"a.bin", "b.txt"}
    assert (filtered / "b.txt").read_bytes() == b"one\r\n2\r\n"


# -- the way out ---------------------------------------------------------------------------------

#: Files of a candidate that the user's git would run or obey, by what they are, with their kind.
LEFT: dict[str, tuple[dict[str, str | bytes], str]] = {
    "a bare repository": (
        {
            "d/HEAD": "ref: refs/heads/x\n",
            "d/objects/x": "",
            "d/refs/x": "",
            "d/config": "[core]\n\tfsmonitor = evil\n",
        },
        "repository",
    ),
    "a repository that names another": (
        {"d/HEAD": "ref: refs/heads/x\n", "d/commondir": "../e\n", "e/config": "[core]\n"},
        "repository",
    ),
    "what makes a directory of the user's a repository": (
        {"half/HEAD": "ref: refs/heads/x\n", "half/config": "[core]\n"},
        "repository",
    ),
    "a hook where core.hooksPath says": ({".hooks/pre-commit": "#!/bin/sh\n"}, "hook"),
    "settings that the user's include": ({"tools/gitconfig": "[core]\n\tpager = x\n"}, "git"),
    "settings that are not there yet": ({"tools/later": "[core]\n\tpager = x\n"}, "git"),
    "a program that the user's settings name": ({"tools/clean.sh": "evil\n"}, "git"),
    "an attribute that names a filter of the user's": (
        {"sub/.gitattributes": "*.py filter=caps\n"},
        "attributes",
    ),
    "an attribute that stands for a filter of the user's": (
        {"sub/.gitattributes": "*.py caps\n"},
        "attributes",
    ),
    "names of repositories to fetch": ({".gitmodules": "[submodule]\n"}, "submodule"),
    "the same by its short name": ({"GITMOD~1": "[submodule]\n"}, "submodule"),
}


@pytest.mark.parametrize("kind", ["worktree", "copy"])
@pytest.mark.parametrize(("files", "reason"), LEFT.values(), ids=LEFT)
def test_what_a_candidate_leaves_for_the_users_git_is_refused(
    tmp_path: Path, files: dict[str, str | bytes], reason: str, kind: str
) -> None:
    project = make_repository(
        tmp_path / "project",
        {
            "app.py": "x = 1\n",
            ".gitignore": "half/*\n",
            ".gitattributes": "[attr]caps filter=caps\n",
            "tools/clean.sh": "tr a-z A-Z\n",
            "tools/gitconfig": "[core]\n",
        },
    )
    write_files(project, {"half/objects/x": "", "half/refs/x": ""})
    git(project, "config", "core.hooksPath", ".hooks")
    git(project, "config", "include.path", "../tools/gitconfig")
    git(project, "config", "includeIf.onbranch:main.path", "../tools/later")
    git(project, "config", "filter.caps.clean", "./tools/clean.sh %f")
    sandbox = make_sandbox(project, kind=kind)
    sandbox.open()
    (sandbox.directory / ".gitignore").write_text("")
    before = contents(project)
    write_files(sandbox.directory, files)
    with pytest.raises(RefusedFiles) as refusal:
        sandbox.apply(sandbox.snapshot())
    assert reason in {found.kind for found in refusal.value.violations}
    assert contents(project) == before


def test_attributes_that_run_nothing_are_applied(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "project", {"app.py": "x = 1\n"})
    sandbox = make_sandbox(project)
    sandbox.open()
    write_files(sandbox.directory, {".gitattributes": "*.py text diff=python filter=none\n"})
    assert sandbox.apply(sandbox.snapshot()) == (".gitattributes",)


#: Commands that have the next git in this directory run `$P`.
PLANTED = {
    "a hook": 'mkdir -p .git/hooks; cp "$P" .git/hooks/post-index-change; '
    'cp "$P" .git/hooks/pre-commit',
    "a setting": 'git config core.fsmonitor "$P"',
    "settings of the working tree": "git config extensions.worktreeConfig true; "
    'git config --worktree core.fsmonitor "$P"',
    "another repository": 'git init -q e; git -C e config core.fsmonitor "$P"; '
    "mv e/.git .e; rm -rf .git/config; echo ../.e >.git/commondir",
    "a file that names another repository": 'git init -q e; git -C e config core.fsmonitor "$P"; '
    'mv e/.git .e; rm -rf .git; echo "gitdir: .e" >.git',
    "a link to another repository": 'git init -q e; git -C e config core.fsmonitor "$P"; '
    "mv e/.git .e; rm -rf .git; ln -s .e .git",
    "a repository within": "git init -q inner; git -C inner commit -q --allow-empty -m x; "
    'git -C inner config core.fsmonitor "$P"; git add inner; '
    "printf '[submodule \"i\"]\\npath = inner\\nurl = x\\nignore = none\\n' >.gitmodules",
    "a rebase that goes on": "git commit -q --allow-empty -m x; mkdir -p .git/rebase-merge; "
    'echo "exec $P" >.git/rebase-merge/git-rebase-todo; echo x >.git/rebase-merge/head-name; '
    "git rev-parse HEAD | tee .git/rebase-merge/onto >.git/rebase-merge/orig-head; "
    "touch .git/rebase-merge/interactive",
}


def look(directory: Path) -> None:
    """Do what a person, a prompt or an editor does in a directory."""
    for command in ("status", "diff", "add .", "commit -m x", "rebase --continue"):
        subprocess.run(
            ["git", *command.split()], cwd=directory, env=GIT_ENV, capture_output=True, check=False
        )


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
def test_the_git_of_a_person_who_looks_into_a_sandbox_runs_nothing_of_it(
    tmp_path: Path, planted: str, level: Level
) -> None:
    if reason := unavailable(level):
        pytest.skip(f"{level} is not available here: {reason}")
    program, proof = trap(tmp_path)
    project = make_repository(
        tmp_path / "project",
        {
            "plant.sh": f"P={program}\n{planted}\nexit 1\n",
            "runtrue.toml": '[checks.c]\ncommand = "sh plant.sh"\n[fixers]\norder = []\n'
            '[isolation]\nminimum = "process"\n',
        },
    )
    runtrue(project, "trust", "--yes")
    runtrue(project, "fix", "--json", env={"RUNTRUE_ISOLATION": level.value})
    (tree,) = (tmp_path / "runtrue").rglob("plant.sh")
    assert not proof.exists(), proof.read_text()
    look(tree.parent)
    assert not proof.exists(), proof.read_text()


def test_commits_of_a_command_are_there_for_the_next(tmp_path: Path) -> None:
    project = make_repository(
        tmp_path / "project",
        {
            "check.sh": "set -e\ngit log --all --oneline | grep -q first\ntouch new\ngit add new\n"
            "git commit -q -m more\ngit log --oneline | grep -q more\n",
            "runtrue.toml": '[checks.c]\ncommand = "sh check.sh"\n',
        },
    )
    done = runtrue(project, "fix", "--json")
    assert json.loads(done.stdout)["status"] == "passed", done.stdout


#: Each changes what git runs or obeys; it says so when that works.
CHANGES = {
    "a hook": "echo x >.git/hooks/pre-commit",
    "a link among the hooks": "ln -s /bin/true .git/hooks/pre-commit",
    "the directory of hooks": "mv .git/hooks .git/h && mkdir .git/hooks",
    "the settings": "echo '[core]' >>.git/config",
    "the settings, by git": "git config core.fsmonitor true",
    "the settings, by another name": "ln .git/config .git/c && echo x >.git/c",
    "attributes": "echo '* filter=x' >.git/info/attributes",
    "the repository as a whole": "mv .git .g && cp -r .g .git",
    "a file in place of the repository": "mv .git .e; echo 'gitdir: .e' >.git",
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_command_cannot_change_what_git_runs_in_a_sandbox(
    tmp_path: Path, change: str, level: Level
) -> None:
    """Where a level cannot prevent it, the next command finds nothing of it."""
    if reason := unavailable(level):
        pytest.skip(f"{level} is not available here: {reason}")
    project = make_repository(tmp_path / "project", {"app.py": "x = 1\n"})
    isolation = Isolation(IsolationConfig(level=level.value, minimum="process"))
    sandbox = GitSandbox(tmp_path / "home" / "run", project, isolation=isolation)
    sandbox.open()

    def run(script: str) -> process.Ended:
        workplace = sandbox.workplace()
        return asyncio.run(
            process.run(
                ("sh", "-c", script),
                cwd=workplace.directory,
                env=workplace.environment,
                timeout=20,
                confinement=workplace.confinement,
            )
        )

    config = (sandbox.directory / ".git" / "config").read_bytes()
    changed = run(f"({change}) 2>/dev/null && echo changed")
    assert ("changed" in changed.stdout.text) == (level is Level.PROCESS), changed.stderr.text
    git_dir = sandbox.directory / ".git"
    if git_dir.exists():
        assert (git_dir / "config").read_bytes() == config
        assert not list((git_dir / "hooks").iterdir())
        assert [path.name for path in (git_dir / "info").iterdir()] == ["attributes"]
    if level is not Level.PROCESS:
        again = run("git commit -q --allow-empty -m allowed && git log --format=%s")
        assert "allowed" in again.stdout.text, again.stderr.text
    sandbox.remove()


@pytest.mark.parametrize("level", [Level.BUBBLEWRAP, Level.LANDLOCK])
def test_a_command_in_the_users_own_repository_leaves_nothing_that_git_runs(
    tmp_path: Path, level: Level
) -> None:
    """Where there is no sandbox, what git runs or obeys cannot be written, or is removed."""
    if reason := unavailable(level):
        pytest.skip(f"{level} is not available here: {reason}")
    project = make_repository(tmp_path / "project", {"app.py": "x = 1\n"})
    config = (project / ".git" / "config").read_bytes()
    isolation = Isolation(IsolationConfig(level=level.value, minimum="process"))
    tree = UsersTree(tmp_path / "home" / "run", project, isolation=isolation)
    tree.open()
    workplace = tree.workplace()
    script = (
        "git commit -q --allow-empty -m allowed || exit 9; cd .git; "
        "for d in hooks info modules worktrees rebase-merge rebase-apply sequencer; do "
        "mkdir -p $d; echo evil >$d/evil; done; "
        "for f in config config.worktree commondir; do echo evil >>$f; done; true"
    )
    ended = asyncio.run(
        process.run(
            ("sh", "-c", script),
            cwd=workplace.directory,
            env=workplace.environment,
            timeout=20,
            confinement=workplace.confinement,
        )
    )
    assert not list((project / ".git").rglob("evil"))
    assert (project / ".git" / "config").read_bytes() == config
    assert not (project / ".git" / "commondir").exists()
    assert not (project / ".git" / "config.worktree").exists()
    assert ended.exit_code == 0, ended.stderr.text
    assert "allowed" in git(project, "log", "--format=%s")


def test_a_link_in_place_of_a_repository_shows_nothing(tmp_path: Path) -> None:
    """A command that made one would have the next command see, and change, what it leads to."""
    project = tmp_path / "project"
    write_files(project, {"app.py": "x = 1\n"})
    write_files(tmp_path / "home" / ".ssh", {"key": "secret\n"})
    sandbox = UsersTree(tmp_path / "runs" / "run", project)
    sandbox.open()
    (project / ".git").symlink_to(tmp_path / "home" / ".ssh")
    with pytest.raises(IsolationError, match="is a link"):
        sandbox.workplace()


def test_candidates_are_stored_apart_from_the_users_repository(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "project", {"app.py": "x = 1\n"})
    before = sorted(path.name for path in (project / ".git").rglob("*"))
    sandbox: GitSandbox = make_sandbox(project)
    sandbox.open()
    write_files(sandbox.directory, {"app.py": "x = 2\n"})
    sandbox.apply(sandbox.snapshot())
    assert sorted(path.name for path in (project / ".git").rglob("*")) == before
