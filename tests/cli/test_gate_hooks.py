"""The hooks of the gate: written in each tool's convention, really fired, and taken back."""

from __future__ import annotations

import difflib
import json
import shlex
import stat
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from runtrue.cli.hooks import AGENT_HOSTS, AgentHook
from runtrue.cli.hooks.git import Git
from runtrue.cli.hooks.pre_commit import PreCommit
from runtrue.errors import UsageError
from tests.cli.conftest import Done, Machine, MakeProject, content, write
from tests.cli.test_gate import DISCOUNT, READY, SHOP, TESTED, WRONG, git

TOOLS = ("claude-code", "git", "pre-commit")
SETTINGS = ".claude/settings.json"
CONFIG = ".pre-commit-config.yaml"


def install(machine: Machine, tool: str, project: Path) -> Done:
    return machine.runtrue("gate", "--install", tool, cwd=project)


def uninstall(machine: Machine, tool: str, project: Path) -> Done:
    return machine.runtrue("gate", "--uninstall", tool, cwd=project)


def everything(project: Path) -> dict[str, bytes]:
    hooks = project / ".git" / "hooks"
    return {**content(project), **{path.name: path.read_bytes() for path in hooks.glob("*")}}


@pytest.mark.parametrize("tool", TOOLS)
def test_installed_twice_is_installed_once_and_removed_is_as_before(
    tool: str, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    before = everything(project)
    done = install(machine, tool, project)
    assert done.code == 0, done.said
    installed = everything(project)
    assert installed != before
    again = install(machine, tool, project)
    assert (again.code, "already" in again.out) == (0, True)
    assert everything(project) == installed
    assert uninstall(machine, tool, project).code == 0
    assert everything(project) == before
    assert not (project / ".claude").exists()
    assert uninstall(machine, tool, project).code == 0
    assert everything(project) == before


# -- Claude Code --------------------------------------------------------------------------------


def stop(machine: Machine, project: Path, *, active: bool, session: str = "one") -> Done:
    """Fire the installed hook as Claude Code does: through a shell, with the event on stdin."""
    settings = json.loads((project / SETTINGS).read_text())
    handler = settings["hooks"]["Stop"][-1]["hooks"][-1]
    assert (handler["type"], handler["timeout"]) == ("command", 600)
    event = {
        "session_id": session,
        "transcript_path": "/nowhere.jsonl",
        "cwd": str(project / "tests"),
        "hook_event_name": "Stop",
        "stop_hook_active": active,
    }
    done = subprocess.run(
        ["sh", "-c", handler["command"]],
        cwd=project / "tests",
        env={**machine.env, "CLAUDE_PROJECT_DIR": str(project)},
        input=json.dumps(event),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def test_claude_code_is_held_back_with_the_findings_until_the_change_is_ready(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    assert install(machine, "claude-code", project).code == 0
    # The settings are a change of their own; what they are is judged with the rest.
    write(project, WRONG)
    held = stop(machine, project, active=False)
    assert (held.code, held.out) == (2, "")
    assert held.err.startswith("runtrue gate: not ready: 1 finding.")
    write(project, READY)
    let_go = stop(machine, project, active=True)
    assert (let_go.code, let_go.said) == (0, "")


def test_an_agent_that_gets_on_is_held_back_again_and_one_that_does_not_is_let_go(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    install(machine, "claude-code", project)
    write(project, {"shop.py": DISCOUNT})
    assert stop(machine, project, active=False).code == 2
    # It has covered one line more: the finding is of the same kind, and not the same.
    write(project, {"tests/test_shop.py": TESTED.replace("assert discount(200) == 180", "pass")})
    held = stop(machine, project, active=True)
    assert held.code == 2
    assert "never run: shop.py: 7" in held.err
    let_go = stop(machine, project, active=True)
    assert (let_go.code, let_go.err) == (0, "")
    assert "the change is NOT ready; the agent was shown 1 finding" in let_go.json["systemMessage"]
    # The next time that it wants to stop by itself, and in another session, it is told again.
    assert stop(machine, project, active=False).code == 2
    assert stop(machine, project, active=True, session="two").code == 2


@pytest.mark.parametrize(
    ("break_it", "said"),
    [({"runtrue.toml": "[gaet]\n"}, "unknown key"), ({}, "no check was found")],
)
def test_what_an_agent_cannot_help_does_not_hold_it_back(
    break_it: dict[str, str], said: str, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({"tests/.keep": "", **break_it})
    install(machine, "claude-code", project)
    write(project, {"shop.py": "x = 1\n"})
    done = stop(machine, project, active=False)
    assert done.code == 1
    assert said in done.err


def test_a_change_that_keeps_the_gate_from_judging_holds_the_agent_back_once(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({**SHOP, "tests/.keep": ""})
    install(machine, "claude-code", project)
    write(project, {"runtrue.toml": "[gaet]\n"})
    held = stop(machine, project, active=False)
    assert (held.code, held.err.count("\n")) == (2, 1)
    assert "unknown key" in held.err
    assert "this change has touched" in held.err
    assert stop(machine, project, active=True).code == 1


def test_deleting_all_tests_is_judged_by_the_checks_that_there_were_before(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({**SHOP, "tests/.keep": ""})
    install(machine, "claude-code", project)
    (project / "tests" / "test_shop.py").unlink()
    held = stop(machine, project, active=False)
    assert held.code == 2
    assert "tests/test_shop.py::test_total: not_run (pytest)" in held.err
    let_go = stop(machine, project, active=True)
    assert let_go.code == 0
    assert "the change is NOT ready" in let_go.json["systemMessage"]
    assert stop(machine, project, active=False).code == 2


def test_a_hook_without_its_event_says_so(machine: Machine, make_project: MakeProject) -> None:
    done = machine.runtrue("gate", "--hook", "claude-code", cwd=make_project(SHOP), stdin="hello")
    assert done.code == 1
    assert "JSON" in done.err


OTHERS: list[Any] = [
    {"permissions": {"allow": ["Bash(ls)"]}, "model": "opus"},
    {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": []}]}, "env": {"A": "é"}},
    {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}},
]
FORMS: dict[str, Callable[[Any], str]] = {
    "by-claude": lambda settings: json.dumps(settings, indent=2, ensure_ascii=False),
    "tabs": lambda settings: json.dumps(settings, indent="\t") + "\n",
    "one-line": json.dumps,
    "dense": lambda settings: json.dumps(settings, separators=(",", ":")),
    "loose": lambda settings: json.dumps(settings, indent=4).replace(",\n", "\n  ,\n") + "\n\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_settings_of_others_stay_as_they_were_written(form: str, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    file = tmp_path / SETTINGS
    file.parent.mkdir()
    for settings in OTHERS:
        text = FORMS[form](settings)
        file.write_text(text)
        assert AgentHook(AGENT_HOSTS["claude-code"]).install(tmp_path).changed
        changed = json.loads(file.read_text())
        ours = changed["hooks"]["Stop"].pop()
        assert ours["hooks"][0]["command"].endswith("gate --hook claude-code")
        assert len(changed["hooks"]["Stop"]) == len(settings.get("hooks", {}).get("Stop", []))
        assert AgentHook(AGENT_HOSTS["claude-code"]).remove(tmp_path).changed
        assert file.read_text() == text


def test_only_our_part_of_a_shared_group_is_removed(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    other = {"type": "command", "command": "say done"}
    ours = {"type": "command", "command": "/opt/bin/runtrue gate --hook claude-code"}
    settings = {"hooks": {"Stop": [{"hooks": [ours, other]}, {"hooks": [other, ours]}]}}
    write(project, {SETTINGS: json.dumps(settings, indent=2)})
    assert uninstall(machine, "claude-code", project).code == 0
    left = json.loads((project / SETTINGS).read_text())
    assert left == {"hooks": {"Stop": [{"hooks": [other]}, {"hooks": [other]}]}}


@pytest.mark.parametrize(
    ("tool", "file", "text"),
    [
        ("claude-code", SETTINGS, "{'hooks': {}}"),
        ("claude-code", SETTINGS, "[]"),
        ("claude-code", SETTINGS, '{"hooks": {"Stop": {}}}'),
        ("pre-commit", CONFIG, "repos: [\n"),
        ("pre-commit", CONFIG, "- repo: local\n"),
        ("pre-commit", CONFIG, "repos: [{repo: local, hooks: [{id: a, language: fail}]}]\n"),
        ("pre-commit", CONFIG, "fail_fast: true\n"),
        ("git", ".git/hooks/pre-commit", "#!/bin/sh\nexec other-tool\n"),
    ],
)
def test_a_file_that_cannot_be_edited_safely_is_left_alone(
    tool: str, file: str, text: str, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    (project / file).parent.mkdir(exist_ok=True)
    (project / file).write_text(text)
    done = install(machine, tool, project)
    assert done.code == 2
    assert file in done.err
    assert "was not changed" in done.err
    assert (project / file).read_text() == text


# -- git ----------------------------------------------------------------------------------------


def commit(machine: Machine, project: Path, *args: str) -> Done:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    done = subprocess.run(
        ["git", *identity, "commit", "-m", "change", *args],
        cwd=project,
        env=machine.env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_a_commit_is_blocked_until_the_change_is_ready(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    assert install(machine, "git", project).code == 0
    hook = project / ".git" / "hooks" / "pre-commit"
    assert hook.stat().st_mode & stat.S_IXUSR
    write(project, WRONG)
    blocked = commit(machine, project, "-a")
    assert blocked.code != 0
    assert "not ready: " in blocked.err
    write(project, READY)
    passed = commit(machine, project, "-a")
    assert passed.code == 0, passed.said
    assert uninstall(machine, "git", project).code == 0
    assert not hook.exists()


def test_a_commit_of_a_part_is_judged_as_it_is_staged(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    install(machine, "git", project)
    write(project, READY)
    git(project, "add", "-A")
    # What is not part of the commit is wrong, and unknown to git, and proves nothing.
    write(project, {**WRONG, "tests/test_more.py": "def test_more():\n    assert False\n"})
    passed = commit(machine, project)
    assert passed.code == 0, passed.said
    assert git(project, "show", "HEAD:tests/test_shop.py") == textwrap.dedent(TESTED).lstrip()
    # The other way round: the files are right, and what would be committed is wrong.
    (project / "tests" / "test_more.py").unlink()
    write(project, {"shop.py": DISCOUNT.replace("0.9", "0.8")})
    git(project, "add", "-A")
    write(project, READY)
    refused = commit(machine, project)
    assert refused.code != 0
    assert "AssertionError" in refused.err
    assert machine.runtrue("gate", "--staged", cwd=project).code == 2
    assert "nothing changed since HEAD" in machine.runtrue("gate", cwd=project).err


def test_where_no_working_tree_can_be_made_a_part_is_refused(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({**SHOP, ".gitmodules": ""})
    install(machine, "git", project)
    write(project, READY)
    git(project, "add", "shop.py")
    refused = commit(machine, project)
    assert refused.code != 0
    assert refused.err.count("\n") == 1
    assert "these differ: tests/test_shop.py; `git add` them" in refused.err


def test_a_merge_is_judged_against_its_first_parent(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    main = git(project, "rev-parse", "--abbrev-ref", "HEAD").strip()
    git(project, "checkout", "-qb", "work")
    write(project, {"tests/test_shop.py": TESTED.replace("180", "170"), "shop.py": DISCOUNT})
    git(project, "commit", "-qam", "wrong")
    git(project, "checkout", "-q", main)
    write(project, {"README.md": "# more\n"})
    git(project, "commit", "-qam", "other")
    assert install(machine, "git", project).code == 0
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    merge = subprocess.run(
        ["git", *identity, "merge", "--no-edit", "work"],
        cwd=project,
        env=machine.env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert merge.returncode != 0
    assert "AssertionError" in merge.stderr
    assert len(git(project, "rev-list", "HEAD").split()) == 2


@pytest.mark.parametrize("tool", ["claude-code", "pre-commit"])
def test_a_hook_that_could_judge_nothing_is_not_installed(
    tool: str, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP, git=False)
    done = install(machine, tool, project)
    assert (done.code, done.out) == (2, "")
    assert "is not in a git repository" in done.err
    assert not (project / ".claude").exists()
    assert not (project / CONFIG).exists()


def test_a_commit_that_is_made_anew_is_judged_from_the_one_before_it(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    write(project, WRONG)
    git(project, "commit", "-qam", "wrong")
    install(machine, "git", project)
    blocked = commit(machine, project, "--amend")
    assert blocked.code != 0
    assert "AssertionError" in blocked.err


def test_the_hook_goes_where_git_looks_for_it(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project({f"app/{file}": text for file, text in SHOP.items()})
    git(project, "config", "core.hooksPath", "../hooks")
    tree = tmp_path / "tree"
    git(project, "worktree", "add", "-q", str(tree))
    assert install(machine, "git", tree / "app").code == 0
    assert (tmp_path / "hooks" / "pre-commit").is_file()
    write(tree / "app", WRONG)
    blocked = commit(machine, tree, "-a")
    assert blocked.code != 0
    assert "1. app/tests/test_shop.py:9: AssertionError" in blocked.err


def test_hooks_of_all_repositories_are_not_touched(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(SHOP)
    shared = tmp_path / "shared"
    (machine.home / ".gitconfig").write_text(f"[core]\nhooksPath = {shared}\n")
    done = install(machine, "git", project)
    assert done.code == 2
    assert str(shared) in done.err
    assert not shared.exists()


def test_a_project_whose_name_is_like_an_option_is_judged(
    machine: Machine, make_project: MakeProject
) -> None:
    top = make_project({f"-x/{file}": text for file, text in SHOP.items()})
    assert machine.runtrue("gate", "--install", "git", "./-x", cwd=top).code == 0
    write(top / "-x", WRONG)
    blocked = commit(machine, top, "-a")
    assert blocked.code != 0
    assert "AssertionError" in blocked.err


def test_the_hook_of_another_project_of_the_repository_stays(make_project: MakeProject) -> None:
    top = make_project({"app/a.py": "", "web/b.py": ""})
    hook = top / ".git" / "hooks" / "pre-commit"
    assert Git().install(top / "app").changed
    before = hook.read_text()
    with pytest.raises(UsageError, match="the hook of another project, app"):
        Git().install(top / "web")
    assert not Git().remove(top / "web").changed
    assert hook.read_text() == before
    assert Git().remove(top / "app").changed


@pytest.mark.parametrize("words", [("--type", "bug_fix"), ("--base", "main"), ("--check", "true")])
def test_options_that_would_not_be_written_into_a_hook_are_refused(
    words: tuple[str, ...], machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    before = everything(project)
    done = machine.runtrue("gate", "--install", "git", *words, cwd=project)
    assert done.code == 2
    assert f"{words[0]} has no effect on the hook" in done.err
    assert everything(project) == before


def test_an_edited_hook_is_not_removed(machine: Machine, make_project: MakeProject) -> None:
    project = make_project(SHOP)
    install(machine, "git", project)
    hook = project / ".git" / "hooks" / "pre-commit"
    hook.write_text(hook.read_text() + "echo mine\n")
    assert uninstall(machine, "git", project).code == 2
    assert "echo mine" in hook.read_text()


# -- pre-commit ---------------------------------------------------------------------------------

CONFIGS = {
    "indented": """
        # how we check
        default_stages: [pre-commit]
        repos:
          - repo: https://example.org/hooks  # pinned
            rev: v1
            hooks:
              - id: tidy
              # - id: later

          # ours
          - repo: local
            hooks:
              - id: mine
                name: mine
                entry: |
                  true
                  # not a comment
                language: system
              # the end of it
        # after all
        ci: {skip: [mine]}
    """,
    "flush": """
        repos:
        - repo: local
          hooks: [{id: a, name: a, entry: "true", language: system}]
    """,
    "no-newline": "repos:\n- repo: local\n  hooks:\n  - {id: a, name: a, entry: x, language: fail}",
    "block-scalar-last": """
        repos:
          - repo: local
            hooks:
              - id: a
                name: a
                language: system
                entry: >-
                  one
                  two

        exclude: ^docs/
    """,
}


@pytest.mark.parametrize("name", CONFIGS)
def test_comments_and_order_of_a_pre_commit_config_stay(name: str, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, {CONFIG: CONFIGS[name]})
    file = tmp_path / CONFIG
    before = file.read_text()
    assert PreCommit().install(tmp_path).changed
    after = file.read_text()
    diff = list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=0))[2:]
    assert {line[0] for line in diff} == {"@", "+"}
    old, new = yaml.safe_load(before), yaml.safe_load(after)
    assert new["repos"][:-1] == old["repos"]
    (hook,) = new["repos"][-1]["hooks"]
    assert (hook["id"], hook["language"], hook["pass_filenames"]) == (
        "runtrue-gate",
        "system",
        False,
    )
    assert {**new, "repos": old["repos"]} == old
    assert PreCommit().remove(tmp_path).changed
    assert file.read_text().rstrip("\n") == before.rstrip("\n")


def test_pre_commit_has_one_configuration_for_all_projects_of_a_repository(
    make_project: MakeProject,
) -> None:
    top = make_project({"app/a.py": "", "my web/b.py": ""})
    for name in ("app", "my web"):
        assert PreCommit().install(top / name).changed
        assert not PreCommit().install(top / name).changed
    repos = yaml.safe_load((top / CONFIG).read_text())["repos"]
    entries = [shlex.split(repo["hooks"][0]["entry"]) for repo in repos]
    assert [entry[-5:] for entry in entries] == [
        ["gate", "--hook", "pre-commit", "--", name] for name in ("app", "my web")
    ]
    assert PreCommit().remove(top / "app").changed
    (left,) = yaml.safe_load((top / CONFIG).read_text())["repos"]
    assert left == repos[1]
    assert PreCommit().remove(top / "my web").changed
    assert not (top / CONFIG).exists()


def test_the_entry_of_pre_commit_is_a_command_that_judges(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    install(machine, "pre-commit", project)
    config = yaml.safe_load((project / CONFIG).read_text())
    entry = shlex.split(config["repos"][0]["hooks"][0]["entry"])
    write(project, WRONG)
    git(project, "add", "-A")
    fired = subprocess.run(
        entry, cwd=project, env=machine.env, capture_output=True, text=True, check=False
    )
    assert fired.returncode == 2
    assert "not ready: " in fired.stderr


def test_a_hook_of_ours_among_others_is_taken_out_alone(
    machine: Machine, make_project: MakeProject
) -> None:
    text = """
        repos:
          - repo: local
            hooks:
              - id: runtrue-gate
                entry: runtrue gate
              - id: mine
                entry: "true"
    """
    project = make_project({**SHOP, CONFIG: text})
    assert uninstall(machine, "pre-commit", project).code == 0
    left = yaml.safe_load((project / CONFIG).read_text())
    assert left == {"repos": [{"repo": "local", "hooks": [{"id": "mine", "entry": "true"}]}]}


@pytest.mark.parametrize("tool", ["claude-code", "pre-commit"])
def test_without_runtrue_on_the_path_this_installation_is_named(
    tool: str, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    done = machine.runtrue("gate", "--install", tool, cwd=project, env={"PATH": "/usr/bin:/bin"})
    assert done.code == 0
    assert "exists on this machine only" in done.out
    bin_directory = str(Path(machine.argv()[0]).parent)
    text = (project / (SETTINGS if tool == "claude-code" else CONFIG)).read_text()
    assert f"{bin_directory}/runtrue gate" in text
    assert uninstall(machine, tool, project).code == 0
