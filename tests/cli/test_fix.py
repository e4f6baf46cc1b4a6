"""`runtrue fix` with default settings, in a subprocess: what issue 2 says must be seen."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.cli.conftest import LINT_ONLY, MENDS_TAX, WITH_BUG, Machine, MakeProject, content, write

TAMPERING = """
import pathlib, sys
for test in pathlib.Path("tests").glob("test_*.py"):
    test.write_text("def test_nothing():\\n    assert True\\n")
pathlib.Path("conftest.py").write_text("collect_ignore_glob = ['tests/*']\\n")
pathlib.Path("pytest.ini").write_text("[pytest]\\naddopts = --co\\n")
"""


def test_three_lint_errors_are_repaired_and_applied_with_the_tests_still_passing(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(LINT_ONLY)
    done = machine.runtrue("fix", "--apply", cwd=project)
    assert done.code == 0, done.said
    assert "import os" not in (project / "shop.py").read_text()
    for check in (["ruff", "check", "."], ["pytest", "-q", "-p", "no:cacheprovider"]):
        command = [machine.argv()[0], "-B", "-m", *check]
        assert (
            subprocess.run(command, cwd=project, check=False, capture_output=True).returncode == 0
        )
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=project, capture_output=True, text=True, check=True
    )
    assert changed.stdout.split() == ["M", "shop.py"]


def test_a_diff_is_shown_and_nothing_is_applied_without_being_told_to(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(LINT_ONLY)
    before = content(project)
    done = machine.runtrue("fix", cwd=project)
    assert done.code == 0
    assert "-import os" in done.out
    assert content(project) == before
    command = done.out.partition("apply it: runtrue ")[2].strip()
    assert machine.runtrue(*command.split(), cwd=machine.home).code == 0
    assert "import os" not in (project / "shop.py").read_text()


def test_a_failure_nobody_can_fix_leaves_the_tree_alone_and_says_where_the_sandbox_is(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(WITH_BUG)
    before = content(project)
    done = machine.runtrue("fix", "--apply", cwd=project)
    assert done.code == 1
    assert content(project) == before
    assert "test_with_tax" in done.out
    run_id = done.err.split()[1].rstrip(":")
    sandbox = machine.home / ".runtrue" / "sandboxes" / run_id / "tree"
    assert str(sandbox) in done.out
    assert "import os" not in (sandbox / "shop.py").read_text()  # what could be repaired is kept
    shown = machine.runtrue("runs", "show", run_id)
    assert "attempt 1 of 3" in shown.out
    assert "attempt 2 of 3" in shown.out
    assert "fix by tool: changed shop.py" in shown.out
    assert "agent skipped: no agent is configured" in shown.out
    assert str(sandbox) in shown.out


def test_an_agent_repairs_what_a_tool_cannot(machine: Machine, make_project: MakeProject) -> None:
    project = make_project(WITH_BUG)
    done = machine.runtrue("fix", "--apply", "--json", "--agent", MENDS_TAX, cwd=project)
    assert done.code == 0, done.said
    report = done.json
    assert report["status"] == "passed"
    assert report["findings"] == []
    assert [len(attempt["findings"]) for attempt in report["attempts"]] == [4, 0]
    parts = report["attempts"][1]["fix"]["parts"]
    assert [(part["fixer"], part["files"]) for part in parts] == [
        ("tool", ["shop.py"]),
        ("agent", ["tax.py"]),
    ]
    assert "1.19" in (project / "tax.py").read_text()


def test_a_fixer_that_edits_its_judges_does_not_pass(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(WITH_BUG)
    write(tmp_path, {"tamper.py": TAMPERING})
    before = content(project)
    agent = f"python {tmp_path / 'tamper.py'}"
    done = machine.runtrue("fix", "--apply", "--json", "--agent", agent, cwd=project)
    assert done.code == 1
    report = done.json
    assert report["status"] == "failed"
    assert content(project) == before
    tampered = [p for a in report["attempts"] if a["fix"] for p in a["fix"]["parts"]][-1]
    assert tampered["fixer"] == "agent"
    assert tampered["files"] == []
    assert tampered["restored"] == [
        *("conftest.py", "pytest.ini", "tests/test_shop.py", "tests/test_tax.py")
    ]


def test_a_fixer_that_breaks_a_passing_test_is_rolled_back_and_the_loop_aborts(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(WITH_BUG)
    before = content(project)
    agent = "sh -c \"echo 'def with_tax(net): return 119' > tax.py\""
    done = machine.runtrue("fix", "--apply", "--json", "--agent", agent, cwd=project)
    assert done.code == 1
    report = done.json
    assert report["status"] == "aborted"
    assert report["regressions"] == ["tests/test_tax.py::test_nothing_costs_nothing"]
    assert content(project) == before
    assert "1.9" in Path(report["sandbox"], "tax.py").read_text()
    shown = machine.runtrue("runs", "show", report["run_id"])
    assert "broken by the fix: tests/test_tax.py::test_nothing_costs_nothing" in shown.out


def test_an_agent_that_changes_nothing_is_told_so_and_asked_only_once_more(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(
        {k: v for k, v in WITH_BUG.items() if k != "shop.py" and "shop" not in k}
    )
    write(
        tmp_path,
        {
            "agent.py": """
                import pathlib, sys
                log = pathlib.Path(sys.argv[2])
                log.write_text(log.read_text() + pathlib.Path(sys.argv[1]).read_text())
            """
        },
    )
    log = tmp_path / "prompts.md"
    log.write_text("")
    agent = f"python {tmp_path / 'agent.py'} {{prompt_file}} {log}"
    done = machine.runtrue("fix", "--json", "--agent", agent, cwd=project)
    assert done.code == 1
    report = done.json
    assert len(report["attempts"]) == 1
    assert [rejected["reason"] for rejected in report["rejected"]] == ["unchanged", "unchanged"]
    assert "it changed no file" in log.read_text()


def test_a_rate_limited_agent_is_tried_again_and_never_shown_its_own_error(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(WITH_BUG)
    write(
        tmp_path,
        {
            "agent.sh": f"""
                grep -q "rate limit" "$1" && exit 9
                mkdir {tmp_path}/asked && {{ echo "rate limit"; exit 1; }}
                {MENDS_TAX}
            """
        },
    )
    agent = f"sh {tmp_path / 'agent.sh'} {{prompt_file}}"
    # Only the failing test is checked, so that the first round has nothing but the agent.
    done = machine.runtrue("fix", "--json", "--check", "pytest", "--agent", agent, cwd=project)
    assert done.code == 0, done.said
    report = done.json
    assert [rejected["reason"] for rejected in report["rejected"]] == ["fixer_failed"]
    assert len(report["attempts"]) == 2
    assert report["budget"]["transport_retries"] == 1


def test_informational_checks_are_recorded_and_neither_block_nor_start_a_fix(
    machine: Machine, make_project: MakeProject
) -> None:
    config = """
        [checks.tests]
        command = "python -m pytest -q"
        [checks.lint]
        command = "ruff check ."
        mode = "informational"
    """
    project = make_project({**LINT_ONLY, "runtrue.toml": config})
    done = machine.runtrue("fix", "--json", cwd=project)
    assert done.code == 0
    report = done.json
    assert report["diff"] == ""
    assert len(report["attempts"]) == 1
    lint = report["attempts"][0]["verdicts"][1]
    assert (lint["check"], lint["passed"], len(lint["findings"])) == ("lint", False, 3)


def test_a_project_without_git_is_repaired_in_a_copy(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(LINT_ONLY, git=False)
    done = machine.runtrue("fix", project, "--apply")
    assert done.code == 0, done.said
    assert "import os" not in (project / "shop.py").read_text()
    assert not (project / ".git").exists()


def test_a_broken_check_is_not_the_candidates_fault(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({"app.py": "x = 1\n", "pytest.ini": "[pytest]\n"})
    done = machine.runtrue("fix", "--json", "--agent", "touch app.py", cwd=project)
    assert done.code == 1
    report = done.json
    assert report["status"] == "escalated"
    assert [(f["fault"], f["category"]) for f in report["findings"]] == [
        ("check", "nothing_collected")
    ]
    assert len(report["attempts"]) == 1


def test_a_person_is_asked_when_the_ladder_says_so_and_the_run_waits_durably(
    machine: Machine, make_project: MakeProject
) -> None:
    config = '[fixers]\norder = ["tool", "agent", "human"]\n'
    project = make_project({**WITH_BUG, "runtrue.toml": config})
    done = machine.runtrue("fix", "--json", "--apply", cwd=project)
    assert done.code == 3
    assert done.json["status"] == "waiting"
    run_id = done.json["run_id"]
    sandbox = machine.home / ".runtrue" / "sandboxes" / run_id / "tree"
    subprocess.run(MENDS_TAX, shell=True, cwd=sandbox, check=True)  # noqa: S602  # a person's edit
    resumed = machine.runtrue("runs", "resume", run_id, "--json")
    assert resumed.code == 0, resumed.said
    assert resumed.json["status"] == "passed"
    assert resumed.json["attempts"][-1]["fix"]["parts"][0]["fixer"] == "human"
    assert "1.19" in (project / "tax.py").read_text()
    assert not sandbox.exists()


def test_advice_of_a_person_reaches_the_agent_with_a_fresh_budget(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    config = f"""
        [fixers]
        order = ["agent", "human"]
        [fixers.agent]
        command = "sh {tmp_path}/agent.sh {{prompt_file}}"
        [checks.pytest]
        command = "python -m pytest -q"
    """
    project = make_project({**WITH_BUG, "runtrue.toml": config})
    write(tmp_path, {"agent.sh": f'grep -q "the rate is 19" "$1" && {MENDS_TAX} || true\n'})
    assert machine.runtrue("fix", "--json", cwd=project).code == 3
    done = machine.runtrue("runs", "resume", "--answer", "the rate is 19 percent", "--json")
    assert done.code == 0, done.said
    assert done.json["answers"] == ["the rate is 19 percent"]


def test_a_passing_fault_of_the_environment_is_tried_again_and_not_repaired(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    test = f"""
        import pathlib

        def test_service():
            up = pathlib.Path({str(tmp_path / "up")!r})
            if not up.exists():
                up.touch()
                raise ConnectionRefusedError("nobody listens")
    """
    project = make_project({"test_service.py": test})
    done = machine.runtrue("fix", "--json", "--agent", "false", cwd=project)
    assert done.code == 0, done.said
    report = done.json
    assert [(a["number"], a["recheck"]) for a in report["attempts"]] == [(1, False), (1, True)]
    assert report["attempts"][0]["findings"][0]["fault"] == "environment"
    assert report["budget"]["transport_retries"] == 1
    assert report["budget"]["attempts"] == 2


def test_time_is_a_budget_of_its_own(machine: Machine, make_project: MakeProject) -> None:
    project = make_project({**WITH_BUG, "runtrue.toml": "[policy]\nmax_time = 0.001\n"})
    done = machine.runtrue("fix", "--json", "--agent", MENDS_TAX, cwd=project)
    assert done.code == 1
    assert done.json["why"] == "time_spent"
    assert len(done.json["attempts"]) == 1


def test_what_the_user_changed_meanwhile_is_not_overwritten_and_the_run_can_go_on(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(WITH_BUG)
    agent = f"sh -c '{MENDS_TAX}; echo \"# mine\" >> {project}/tax.py'"
    done = machine.runtrue("fix", "--apply", "--agent", agent, cwd=project)
    assert done.code == 1
    assert "not applied: tax.py changed in" in done.err
    assert "# mine" in (project / "tax.py").read_text()
    assert "import os" in (project / "shop.py").read_text()
    assert "failed (can be resumed)" in machine.runtrue("runs", "list").out
    shown = machine.runtrue("runs", "show")
    assert "stopped by: SandboxError: not applied" in shown.out
    patch = done.err.partition("; the patch: ")[2].strip()
    assert "1.19" in Path(patch).read_text()
    assert f"the patch: {patch}" in shown.out
    subprocess.run(["git", "checkout", "-q", "tax.py"], cwd=project, check=True)
    resumed = machine.runtrue("runs", "resume")
    assert resumed.code == 0, resumed.said
    assert "1.19" in (project / "tax.py").read_text()
    assert "import os" not in (project / "shop.py").read_text()


def test_commands_see_no_secret_of_the_user_unless_it_is_let_through(
    machine: Machine, make_project: MakeProject
) -> None:
    config = """
        [sandbox]
        env = ["LET_THROUGH"]
        [checks.env]
        command = 'test "$LET_THROUGH" = yes && test -z "$SECRET_TOKEN"'
    """
    project = make_project({"runtrue.toml": config})
    env = {"LET_THROUGH": "yes", "SECRET_TOKEN": "hunter2"}
    assert machine.runtrue("fix", cwd=project, env=env).code == 0
    assert b"hunter2" not in machine.journal.read_bytes()


def test_tests_under_names_of_the_projects_own_are_judges_too(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(
        {
            "pytest.ini": "[pytest]\npython_files = spec_*.py\n",
            "tax.py": WITH_BUG["tax.py"],
            "spec_tax.py": WITH_BUG["tests/test_tax.py"],
        }
    )
    agent = "sed -i s/119/190/ spec_tax.py"
    done = machine.runtrue("fix", "--json", "--agent", agent, cwd=project)
    assert done.code == 1
    assert done.json["rejected"][0]["fix"]["parts"][0]["restored"] == ["spec_tax.py"]


def test_doctests_do_not_make_the_program_its_own_judge(
    machine: Machine, make_project: MakeProject
) -> None:
    program = """
        def with_tax(net):
            \"\"\"Net plus tax.

            >>> with_tax(100)
            119.0
            \"\"\"
            return net * 1.9
    """
    project = make_project({"tax.py": program})
    check = "python -m pytest --doctest-modules -q"
    agent = "sed -i 's/[*] 1.9/* 1.19/' tax.py"
    done = machine.runtrue("fix", "--json", "--check", check, "--agent", agent, cwd=project)
    assert done.code == 0, done.said


def test_what_an_agent_does_with_git_stays_in_the_sandbox(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(WITH_BUG)

    def git(*args: str) -> str:
        command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *args]
        return subprocess.run(
            command, cwd=project, capture_output=True, text=True, check=True
        ).stdout

    with (project / "tax.py").open("a") as file:
        file.write("# put aside\n")
    git("stash")
    before = (git("stash", "list"), git("for-each-ref"), git("config", "--local", "--list"))
    agent = (
        f"sh -c '{MENDS_TAX}; git stash drop; git checkout -b foo; git config user.name Eve; "
        "git -c user.email=e@example.org commit -qam mine'"
    )
    assert machine.runtrue("fix", "--agent", agent, cwd=project).code == 0
    assert (git("stash", "list"), git("for-each-ref"), git("config", "--local", "--list")) == before
    assert git("worktree", "list").count("\n") == 1


def test_an_agent_that_removes_the_sandbox_has_removed_only_that(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(WITH_BUG)
    before = content(project)
    agent = "sh -c 'd=$PWD; cd /; rm -rf \"$d\"'"
    done = machine.runtrue("fix", "--json", "--agent", agent, cwd=project)
    assert done.code == 1
    assert done.json["status"] in ("failed", "aborted")
    assert content(project) == before


def test_a_file_name_that_is_no_text_is_applied_all_the_same(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(WITH_BUG)
    agent = f'sh -c \'{MENDS_TAX}; : > "$(printf "odd\\377")"\''
    done = machine.runtrue("fix", "--apply", "--json", "--agent", agent, cwd=project)
    assert done.code == 0, done.said
    assert (project / "odd\udcff").exists()


def test_a_program_that_names_its_encoding_is_repaired_and_keeps_it(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    program = b"# coding: latin-1\nUNIT = 'm\xb2'\n\ndef area(w, h):\n    return w %s h\n"
    (project / "shape.py").write_bytes(program % b"+")
    test = """
        from shape import UNIT, area

        def test_area():
            assert (area(3, 4), UNIT) == (12, "m²")
    """
    write(project, {"test_shape.py": test})
    done = Machine(tmp_path).runtrue("fix", "--apply", cwd=project)
    assert done.code == 0, done.said
    assert (project / "shape.py").read_bytes() == program % b"*"


def test_a_run_that_breaks_off_still_tells_all_it_came_to_as_json(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(WITH_BUG)
    agent = f"sh -c '{MENDS_TAX}; echo \"# mine\" >> {project}/tax.py'"
    done = machine.runtrue("fix", "--apply", "--json", "--agent", agent, cwd=project)
    assert done.code == 1
    report = done.json
    assert "not applied" in report["error"]
    assert report["error"].endswith(f"; the patch: {report['patch']}")
    assert len(report["attempts"]) == 2
    assert report["run_id"] in report["patch"]


def test_what_is_proven_and_could_not_be_applied_has_passed_and_is_not_applied(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(WITH_BUG)
    agent = f"sh -c '{MENDS_TAX}; echo \"# mine\" >> {project}/tax.py'"
    done = machine.runtrue("fix", "--apply", "--json", "--agent", agent, cwd=project)
    shown = machine.runtrue("runs", "show", "--json")
    assert (done.code, shown.code) == (1, 0)
    for report in (done.json, shown.json):
        assert (report["status"], report["applied"]) == ("passed", False)
        assert report["findings"] == []
        assert report["metrics"]["passed"] is True
        assert "not applied" in report["error"]
    # The run itself is not over.
    (run,) = machine.runtrue("runs", "list", "--json").json["runs"]
    assert run["state"] == "failed"


def test_attempts_are_numbered_alike_while_it_runs_and_when_it_is_shown(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    config = f"""
        [fixers]
        order = ["agent", "human"]
        [fixers.agent]
        command = "sh {tmp_path}/agent.sh {{prompt_file}}"
        [checks.only]
        command = "grep -q good state.txt"
        [policy]
        max_attempts = 2
    """
    write(
        tmp_path, {"agent.sh": 'if grep -q "be good" $1; then echo good; else date; fi > state.txt'}
    )
    project = make_project({"state.txt": "bad", "runtrue.toml": config})
    asking = machine.runtrue("fix", cwd=project)
    assert asking.code == 3, asking.said
    done = machine.runtrue("runs", "resume", "--answer", "be good")
    assert done.code == 0, done.said
    numbered = re.compile(r"^attempt \d+ of \d+", re.MULTILINE)
    live = numbered.findall(asking.err + done.err)
    assert live[:2] == ["attempt 1 of 2", "attempt 2 of 2"]
    assert live[-1].endswith(" of 4")
    assert numbered.findall(machine.runtrue("runs", "show").out) == live
