"""What a user sees of isolation: its level, what it keeps from a command, and what it says."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from .conftest import Machine, MakeProject, write

PROJECT = {
    "thing.py": """
        def double(number):
            return 2 * number
    """,
    "test_thing.py": """
        from thing import double


        def test_double():
            assert double(2) == 4
    """,
    "runtrue.toml": """
        [checks.tests]
        command = "python -m pytest -q -p no:cacheprovider"
    """,
}
LEVELS = ("bubblewrap", "landlock")
READS = {"id": "a", "type": "read-file", "params": {"file_path": "w.json"}}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine on which nothing is allowed that is not by default."""
    machine = Machine(tmp_path, search=False)
    for name in ("RUNTRUE_ISOLATION_WRITE", "RUNTRUE_ALLOW_LOOPBACK"):
        del machine.env[name]
    return machine


def check(project: Path, script: str, **settings: str) -> None:
    """Have the project checked by a script of the shell."""
    more = "\n".join(f"{name} = {value}" for name, value in settings.items())
    (project / "check.sh").write_text(script)
    (project / "runtrue.toml").write_text(
        f'[checks.tests]\ncommand = "sh check.sh"\n[isolation]\n{more}\n'
    )


def test_by_default_the_strongest_level_is_used_and_recorded(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(PROJECT)
    done = machine.runtrue("fix", "--json", cwd=project)
    assert done.code == 0, done.said
    assert done.json["isolation"] == {"level": "bubblewrap", "network": []}
    shown = machine.runtrue("runs", "show", done.json["run_id"], "--json", cwd=project)
    assert shown.json["isolation"]["level"] == "bubblewrap"
    doctor = machine.runtrue("doctor", cwd=project)
    line = next(line for line in doctor.out.splitlines() if " isolation " in line)
    assert "bubblewrap (at least landlock); " in line
    assert line.endswith("no network; also available: landlock, process")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("sandbox", ["worktree", "copy"])
def test_a_project_with_a_virtual_environment_is_checked_with_it(
    machine: Machine, make_project: MakeProject, level: str, sandbox: str
) -> None:
    files = {**PROJECT, ".gitignore": ".venv\n"} if sandbox == "worktree" else PROJECT
    project = make_project(files)
    venv.create(project / ".venv", symlinks=True)
    check(
        project,
        f"""
        test "$(python -c 'import sys; print(sys.prefix)')" -ef {project}/.venv || exit 3
        touch .venv/pyvenv.cfg 2>/dev/null && exit 4
        exit 0
        """,
    )
    env = {"RUNTRUE_ISOLATION": level}
    done = machine.runtrue("fix", f"--{sandbox}", "--json", cwd=project, env=env)
    assert done.code == 0, done.said


def test_what_bubblewrap_cannot_do_is_no_fault_of_the_candidate(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(PROJECT)
    place = project.parent / "place"
    place.mkdir()
    check(project, "exit 0", read=f'["{place}"]')
    bwrap = project.parent / "bin" / "bwrap"
    bwrap.parent.mkdir()
    bwrap.write_text(
        f'#!/bin/sh\ncase "$*" in *{place}*) rmdir {place}; set -- --bind {place} /x "$@"; esac\n'
        f'exec {shutil.which("bwrap")} "$@"\n'
    )
    bwrap.chmod(0o755)
    path = f"{bwrap.parent}:{machine.env['PATH']}"
    done = machine.runtrue("fix", "--json", cwd=project, env={"PATH": path})
    finding = done.json["findings"][0]
    assert (finding["category"], finding["fault"]) == ("not_runnable", "check")
    assert f"cannot be confined: bwrap: Can't find source path {place}" in finding["message"]


@pytest.mark.parametrize("level", LEVELS)
def test_sources_that_python_imports_from_can_be_edited(
    machine: Machine, make_project: MakeProject, level: str
) -> None:
    project = make_project(PROJECT)
    (project / "src").mkdir()
    (project / "src" / "other.py").write_text("")
    check(project, "echo '# edited' >>src/other.py")
    env = {"RUNTRUE_ISOLATION": level, "PYTHONPATH": str(project / "src")}
    done = machine.runtrue("fix", "--json", cwd=project, env=env)
    assert done.code == 0, done.said


@pytest.mark.parametrize("level", LEVELS)
def test_an_environment_that_a_candidate_makes_shows_nothing_of_the_machine(
    machine: Machine, make_project: MakeProject, level: str
) -> None:
    project = make_project({**PROJECT, "thing.py": "def double(number):\n    return number\n"})
    secrets = machine.home / ".ssh" / "bin"
    secrets.mkdir(parents=True)
    (secrets / "key").write_text("the key")
    agent = project.parent / "agent.sh"
    agent.write_text(f"""
        mkdir -p venv .venv/bin && ln -s {secrets} venv/bin && touch .venv/pyvenv.cfg
        ln -s {secrets}/python3 .venv/bin/python3
        echo 'def double(number): return 2 * number' >thing.py
    """)
    check(project, f"ls {secrets} && exit 9; grep -q 2 thing.py")
    with (project / "runtrue.toml").open("a") as file:
        file.write(f'[fixers.agent]\ncommand = "sh {agent}"\nread = ["{agent}"]\n')
    done = machine.runtrue("fix", "--json", cwd=project, env={"RUNTRUE_ISOLATION": level})
    assert done.code == 0, done.said


@pytest.mark.parametrize("level", LEVELS)
def test_a_check_cannot_see_the_home_and_cannot_write_beside_the_sandbox(
    machine: Machine, make_project: MakeProject, level: str
) -> None:
    project = make_project(PROJECT)
    (machine.home / ".ssh").mkdir()
    key = machine.home / ".ssh" / "id_ed25519"
    key.write_text("the key")
    victim = project.parent / "victim.txt"
    victim.write_text("as it was")
    check(project, f"cat {key} && exit 9; echo gone >{victim}; exit 7")
    done = machine.runtrue("fix", "--json", cwd=project, env={"RUNTRUE_ISOLATION": level})
    assert done.code == 1
    assert done.json["isolation"]["level"] == level
    assert [finding["message"] for finding in done.json["findings"]] == ["exited with code 7"]
    assert "the key" not in done.said
    assert victim.read_text() == "as it was"


@pytest.mark.parametrize("level", LEVELS)
def test_a_limit_that_is_hit_is_a_finding_that_names_it(
    machine: Machine, make_project: MakeProject, level: str
) -> None:
    project = make_project(PROJECT)
    check(project, "while :; do echo yes yes yes yes yes yes; done", limits="{ output = 1 }")
    done = machine.runtrue("fix", "--json", cwd=project, env={"RUNTRUE_ISOLATION": level})
    assert done.code == 1
    finding = done.json["findings"][0]
    assert finding["category"] == "resource_limit"
    assert (finding["data"]["limit"], finding["data"]["allowed"]) == ("output", 1)
    assert finding["data"]["used"] > 1
    assert "printed too much" in finding["message"]


def test_less_than_the_minimum_is_refused_before_anything_is_run(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(PROJECT)
    asked = machine.runtrue("fix", cwd=project, env={"RUNTRUE_ISOLATION": "process"})
    assert asked.code == 1
    assert "process is weaker than the minimum, landlock" in asked.err
    check(project, "exit 0", minimum='"bubblewrap"')
    path = project.parent / "bin"
    path.mkdir()
    for name in ("git", "sh", "python"):
        (path / name).symlink_to(shutil.which(name) or name)
    missing = machine.runtrue("fix", cwd=project, env={"PATH": str(path)})
    assert missing.code == 1
    assert "commands cannot be isolated here (bubblewrap: there is no program `bwrap`)" in (
        missing.err
    )
    assert "install bubblewrap" in missing.err
    assert '[isolation] minimum = "landlock"' in missing.err


def test_a_file_that_a_check_names_and_places_that_are_allowed_are_there(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(PROJECT)
    judge, notes = project.parent / "judge.sh", project.parent / "notes"
    notes.mkdir()
    judge.write_text(f"echo seen >{notes}/it")
    (project / "runtrue.toml").write_text(
        f'[checks.tests]\ncommand = "sh {judge}"\n[isolation]\nwrite = ["{notes}"]\n'
    )
    done = machine.runtrue("fix", cwd=project)
    assert done.code == 0, done.said
    assert (notes / "it").read_text() == "seen\n"


@pytest.mark.parametrize("apply", [(), ("--apply",)])
def test_what_may_not_leave_the_sandbox_is_not_offered_as_a_patch_either(
    machine: Machine, make_project: MakeProject, apply: tuple[str, ...]
) -> None:
    project = make_project(PROJECT)
    subprocess.run(["git", "config", "core.hooksPath", "hooks"], cwd=project, check=True)
    check(project, "test -e hooks/pre-commit")
    (machine.home / ".ssh").mkdir()
    agent = f"sh -c 'ln -s {machine.home}/.ssh keys; mkdir hooks; echo id >hooks/pre-commit'"
    done = machine.runtrue("fix", "--json", "--agent", agent, *apply, cwd=project)
    assert done.code == 1, done.said
    assert done.json["status"] == "failed"
    found = {finding["data"].get("kind") for finding in done.json["findings"]}
    assert {"hook", "link"} <= found
    assert done.json["patch"] is None
    assert not list((machine.home / ".runtrue").glob("patches/*"))
    shown = machine.runtrue("runs", "show", done.json["run_id"], cwd=project)
    assert "git -C" not in shown.said + done.said


@pytest.mark.parametrize("command", ["fix", "doctor"])
def test_programs_of_a_project_are_not_run_outside_of_the_sandbox(
    machine: Machine, make_project: MakeProject, command: str
) -> None:
    seen = machine.home / "seen"
    program = f"#!/bin/sh\necho $0 >>{seen}\necho '[\"{machine.home}\"]'\n"
    names = ("python", "python3", "pytest", "ruff", "mypy")
    files = {f"venv/bin/{name}": program for name in names}
    site = "venv/lib/python3/site-packages"
    files |= {"venv/pyvenv.cfg": "", f"{site}/a.pth": str(machine.home)}
    project = make_project({**PROJECT, **files})
    for name in names:
        (project / "venv" / "bin" / name).chmod(0o755)
    (machine.home / "secret").write_text("")
    check(project, f"test ! -e {machine.home}/secret")
    done = machine.runtrue(command, cwd=project)
    assert done.code == 0, done.said
    assert not seen.exists()


def test_the_level_is_recorded_in_every_run(machine: Machine, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    node = {"id": "a", "type": "shell", "params": {"command": "true"}}
    write(folder, {"w.json": json.dumps({"ir_version": "0.1.0", "nodes": [node], "edges": []})})
    done = machine.runtrue("run", "w.json", "--json", cwd=folder)
    assert done.code == 0, done.said
    level = done.json["isolation"]["level"]
    assert level in LEVELS
    assert done.json["isolation"]["network"] == []
    shown = machine.runtrue("runs", "show", cwd=folder)
    assert f"isolation: {level} (network: none)" in shown.out
    # Nothing was run that could be confined.
    write(folder, {"w.json": json.dumps({"ir_version": "0.1.0", "nodes": [READS], "edges": []})})
    assert machine.runtrue("run", "w.json", "--json", cwd=folder).json["isolation"] is None


def test_nodes_of_workflows_are_isolated_too(machine: Machine, tmp_path: Path) -> None:
    (machine.home / "secret.txt").write_text("the secret")
    folder = tmp_path / "folder"
    folder.mkdir()
    command = f"cat {machine.home}/secret.txt 2>/dev/null; echo $MY_TOKEN; echo mine >mine.txt"
    done = machine.runtrue(
        *("node", "run", "shell", f"command={command}", "--json"),
        cwd=folder,
        env={"MY_TOKEN": "a token of mine"},
    )
    assert done.code == 0, done.said
    assert "the secret" not in done.said
    assert "a token of mine" not in done.said
    assert (folder / "mine.txt").read_text() == "mine\n"
    code = f"return open({str(machine.home / 'secret.txt')!r}).read()"
    python = machine.runtrue("node", "run", "python", f"code={code}", cwd=folder)
    assert python.code == 1
    assert "the secret" not in python.said
    assert "FileNotFoundError" in python.said or "PermissionError" in python.said


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("template", ["", "usual"])
def test_a_node_of_a_workflow_installs_no_hooks_in_the_users_repository(
    machine: Machine, tmp_path: Path, level: str, template: str
) -> None:
    folder = tmp_path / "folder"
    option = [] if template else ["--template="]
    subprocess.run(["git", "init", "-q", *option, folder], check=True)
    before = (folder / ".git" / "config").read_text()
    harm = """
        mkdir -p .git/hooks; echo id >.git/hooks/pre-commit; echo x >>.git/config
        mv .git .gitold && cp -r .gitold .git && mkdir -p .git/hooks && echo id >.git/hooks/pre-push
        mv .git/hooks .git/other; mkdir -p .git/hooks; echo id >.git/hooks/pre-push
        echo note >file && git add file && git -c user.name=A -c user.email=a@b commit -qm kept
    """
    node = ("node", "run", "shell", f"command={harm}")
    done = machine.runtrue(*node, cwd=folder, env={"RUNTRUE_ISOLATION": level})
    assert done.code == 0, done.said
    hooks = {hook.name for hook in (folder / ".git" / "hooks").iterdir()}
    assert hooks.isdisjoint({"pre-commit", "pre-push"})
    assert (folder / ".git" / "config").read_text() == before
    log = subprocess.run(["git", "log", "--format=%s"], cwd=folder, capture_output=True, check=True)
    assert log.stdout == b"kept\n"


@pytest.mark.parametrize("level", LEVELS)
def test_a_node_of_a_workflow_leads_git_to_no_other_repository(
    machine: Machine, tmp_path: Path, level: str
) -> None:
    folder = tmp_path / "folder"
    subprocess.run(["git", "init", "-q", folder], check=True)
    harm = "cp -r .git elsewhere; echo id >elsewhere/hooks/pre-commit; echo ../elsewhere"
    node = ("node", "run", "shell", f"command={harm} >.git/commondir")
    done = machine.runtrue(*node, cwd=folder, env={"RUNTRUE_ISOLATION": level})
    assert done.code == 0, done.said
    asked = ["git", "rev-parse", "--git-common-dir"]
    told = subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=True)
    assert told.stdout == ".git\n"


def test_a_node_of_a_workflow_may_make_a_repository(machine: Machine, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    done = machine.runtrue("node", "run", "shell", "command=git init -q", cwd=folder)
    assert done.code == 0, done.said
    assert (folder / ".git" / "HEAD").is_file()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("linked", ["RUNTRUE_HOME", "HOME"])
def test_a_home_may_be_a_link(
    machine: Machine, make_project: MakeProject, level: str, linked: str
) -> None:
    project = make_project(PROJECT)
    link = project.parent / "link"
    link.symlink_to(machine.home)
    env = {"RUNTRUE_ISOLATION": level, linked: str(link)}
    done = machine.runtrue("fix", "--json", cwd=project, env=env)
    assert done.code == 0, done.said


@pytest.mark.parametrize("level", LEVELS)
def test_memory_that_is_reserved_and_not_used_counts_for_nothing(
    machine: Machine, make_project: MakeProject, level: str
) -> None:
    project = make_project(PROJECT)
    # As sanitizers do, whose shadow of all memory is mostly never touched.
    private = "mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000"
    check(project, f"python -c 'import mmap; mmap.mmap(-1, 1 << 40, {private})'")
    done = machine.runtrue("fix", "--json", cwd=project, env={"RUNTRUE_ISOLATION": level})
    assert done.code == 0, done.said


@pytest.mark.parametrize("level", LEVELS)
def test_a_program_that_is_a_link_to_elsewhere_can_be_run(
    machine: Machine, make_project: MakeProject, level: str
) -> None:
    project = make_project(PROJECT)
    cellar, programs = project.parent / "cellar", project.parent / "programs"
    cellar.mkdir()
    programs.mkdir()
    (cellar / "judge").write_text("#!/bin/sh\nexit 0\n")
    (cellar / "judge").chmod(0o755)
    (programs / "judge").symlink_to("../cellar/judge")
    env = {"RUNTRUE_ISOLATION": level, "PATH": f"{programs}:{machine.env['PATH']}"}
    done = machine.runtrue("fix", "--json", "--check", "judge", cwd=project, env=env)
    assert done.code == 0, done.said


#: Begins as on a Mac, where modules for the kernel of Linux cannot be imported.
AS_ON_A_MAC = """
import sys
sys.platform = "darwin"
from runtrue.cli import main
before = {name for name in sys.modules if name in ("ctypes", "resource", "fcntl")}
assert not before, before
sys.argv = ["runtrue", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("fix",), 1, "landlock: it needs Linux), so nothing is run: use a Linux machine"),
        (("workflow", "list"), 0, "no workflows in"),
        (("receipt", "verify"), 2, "there is no receipt"),
    ],
)
def test_another_system_is_told_what_it_cannot_do(
    words: tuple[str, ...],
    code: int,
    said: str,
    machine: Machine,
    make_project: MakeProject,
    tmp_path: Path,
) -> None:
    project = make_project({"test_a.py": "def test_a():\n    assert False\n"})
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("git", "sh"):
        (programs / name).symlink_to(str(shutil.which(name)))
    done = subprocess.run(
        [sys.executable, "-c", AS_ON_A_MAC, *words],
        cwd=project,
        env={**machine.env, "PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stdout + done.stderr
