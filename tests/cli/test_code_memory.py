"""The debug memory across projects: a bug that was mended once is mended again with no agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Machine, MakeProject
from tests.cli.test_code import TAKE_THE_BUG
from tests.code.support import EMPTY, PYTEST, RIGHT, TESTS, Agent, valid

#: The same bug in two projects, which share neither names nor tests.
FIRST = {
    "runtrue.toml": PYTEST,
    "tax.py": """
        def first_word(text):
            words = text.split()
            return words[0]


        def shout(text):
            return text.upper()
    """,
    "tests/test_words.py": """
        from tax import first_word, shout


        def test_regression_no_words():
            assert first_word("") == ""


        def test_the_first_of_two():
            assert first_word("a b") == "a"


        def test_shout():
            assert shout("a") == "A"
    """,
}
FIXED = {"tax.py": FIRST["tax.py"].replace("return words[0]", 'return words[0] if words else ""')}
SECOND = {
    "runtrue.toml": PYTEST,
    "tax.py": """
        def head_of(line):
            parts = line.split()
            return parts[0]
    """,
    "checks/test_lines.py": """
        import tax


        def test_regression_of_blank_lines():
            assert tax.head_of("  ") == ""


        def test_a_full_line():
            assert tax.head_of("x y z") == "x"
    """,
}
#: The same failure once more; what helped there does not help here.
THIRD = {
    **SECOND,
    "checks/test_lines.py": """
        import tax


        def test_regression_of_blank_lines():
            assert tax.head_of("  ") == "-"


        def test_a_full_line():
            assert tax.head_of("x y z") == "x"
    """,
}


@pytest.fixture
def learnt(machine: Machine, make_project: MakeProject, tmp_path: Path) -> dict[str, Any]:
    """What `runtrue memory` holds after an agent has mended the first project."""
    agent = Agent(tmp_path / "agent", "true", FIXED)
    done = machine.runtrue(
        *TAKE_THE_BUG, "--agent", agent.command, cwd=make_project(FIRST, name="first")
    )
    assert done.code == 0, done.err
    assert done.json["metrics"]["reused_memory"] is False
    (name,) = done.json["memory"]["fixes"]
    return shown(machine, name)


def shown(machine: Machine, name: str) -> dict[str, Any]:
    document: dict[str, Any] = machine.runtrue("memory", "show", name, "--json").json
    return document


@pytest.mark.parametrize("command", ["fix", "code"])
def test_a_bug_that_was_mended_in_one_project_is_mended_in_another_from_memory(
    command: str, machine: Machine, make_project: MakeProject, learnt: dict[str, Any]
) -> None:
    project = make_project(SECOND, name="second")
    asked = TAKE_THE_BUG if command == "code" else ("fix", "--json")
    done = machine.runtrue(*asked, "--apply", cwd=project)
    assert done.code == 0, done.err
    report = done.json
    assert [a["passed"] for a in report["attempts"]] == [False, True]
    (part,) = report["attempts"][1]["fix"]["parts"]
    assert (part["fixer"], part["files"]) == ("memory", ["tax.py"])
    name = learnt["id"]
    assert report["memory"]["reused"] == [name]
    assert report["metrics"]["reused_memory"] is True
    assert 'if parts else ""' in (project / "tax.py").read_text()
    now = shown(machine, name)
    assert (now["tried"], now["passed"]) == (learnt["tried"] + 1, learnt["passed"] + 1)
    metrics = {m["name"]: m["value"] for m in machine.runtrue("metrics", "--json").json["metrics"]}
    assert metrics["debug_memory_reuse"] == 0.5
    if command == "code":
        analysis = valid(report["record"])["loop_state"]["attempts"][0]["analysis"]
        assert name in analysis["patterns_matched"]
        assert 0 < analysis["confidence"] <= 1
        session = json.loads((project / report["record"]["debug_memory_ref"]).read_text())
        assert [fix["fixer"] for fix in session["fixes"]] == ["memory"]


def test_a_remembered_fix_that_does_not_help_here_is_tried_and_counted_as_failed(
    machine: Machine, make_project: MakeProject, learnt: dict[str, Any]
) -> None:
    project = make_project(THIRD, name="third")
    done = machine.runtrue("fix", "--json", cwd=project)
    assert done.code == 1
    assert done.json["attempts"][1]["fix"]["parts"][0]["fixer"] == "memory"
    assert done.json["memory"]["reused"] == []
    assert done.json["metrics"]["reused_memory"] is False
    now = shown(machine, learnt["id"])
    assert (now["tried"], now["passed"]) == (learnt["tried"] + 1, learnt["passed"])
    assert len(done.json["attempts"]) == 2  # it is not tried twice


def test_a_remembered_fix_that_failed_here_is_not_tried_here_again(
    machine: Machine, make_project: MakeProject, learnt: dict[str, Any]
) -> None:
    third = make_project(THIRD, name="third")
    fixers = []
    for _ in range(2):
        done = machine.runtrue("fix", "--json", cwd=third)
        assert done.code == 1
        fixers.append([p["fixer"] for a in done.json["attempts"][1:] for p in a["fix"]["parts"]])
    assert fixers == [["memory"], []]
    now = shown(machine, learnt["id"])
    assert (now["tried"], now["passed"]) == (learnt["tried"] + 1, learnt["passed"])
    second = make_project(SECOND, name="second")
    assert machine.runtrue("fix", cwd=second).code == 0


def test_what_the_generator_mended_itself_is_remembered(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(FIRST, name="first")
    agent = Agent(tmp_path / "agent", FIXED)
    done = machine.runtrue(*TAKE_THE_BUG, "--agent", agent.command, cwd=project)
    assert done.code == 0, done.err
    assert [a["fix"] for a in done.json["attempts"]] == [None]
    (name,) = done.json["memory"]["fixes"]
    fix = shown(machine, name)
    assert (fix["fixer"], fix["error_type"], fix["tried"], fix["passed"]) == (
        "agent",
        "IndexError",
        1,
        1,
    )
    session = json.loads((project / done.json["record"]["debug_memory_ref"]).read_text())
    (failure,), (fixed,) = session["failures"], session["fixes"]
    assert (failure["attempt"], failure["error_type"]) == (0, "IndexError")
    assert (fixed["attempt"], fixed["fixer"], fixed["outcome"]) == (1, "agent", "passed")
    assert "if words" in fixed["diff"]
    # And it mends the same elsewhere, with no agent.
    second = make_project(SECOND, name="second")
    assert machine.runtrue("fix", "--json", cwd=second).json["memory"]["reused"] == [name]


def test_new_code_has_mended_nothing(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project({**EMPTY, **TESTS})
    agent = Agent(tmp_path / "agent", RIGHT)
    asked = ("code", "initials of a name", "--path", "names.py", "--json")
    done = machine.runtrue(*asked, "--agent", agent.command, cwd=project)
    assert done.code == 0, done.err
    assert done.json["memory"]["fixes"] == []
    assert machine.runtrue("memory", "list", "--json").json["failures"] == []


def test_a_run_that_waits_for_a_person_has_its_session(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(FIRST)
    edited = (project / "tax.py").read_text() + "\n\nx = 1\n"
    agent = Agent(tmp_path / "agent", "true", {"tax.py": edited}, FIXED)
    policy = f"{PYTEST}[policy]\nmax_attempts = 2\n"
    (project / "runtrue.toml").write_text(policy)
    done = machine.runtrue(*TAKE_THE_BUG, "--agent", agent.command, cwd=project)
    assert (done.code, done.json["status"]) == (3, "waiting")
    ref = valid(done.json["record"])["debug_memory_ref"]
    session = json.loads((project / ref).read_text())
    assert (session["status"], session["run_id"]) == ("waiting", done.json["run_id"])
    assert {one["attempt"] for one in session["failures"]} == {1, 2}
    assert all(one["analysis"] for one in session["failures"])
    assert [(fix["fixer"], fix["outcome"]) for fix in session["fixes"]] == [("agent", "failed")]
    again = machine.runtrue("runs", "show", done.json["run_id"], "--json").json
    assert again["record"]["debug_memory_ref"] == ref
    answer = ("runs", "resume", done.json["run_id"], "--answer", "look at no words", "--json")
    ended = machine.runtrue(*answer, cwd=project)
    assert (ended.code, ended.json["record"]["debug_memory_ref"]) == (0, ref), ended.err
    session = json.loads((project / ref).read_text())
    assert (session["status"], session["fixes"][-1]["outcome"]) == ("passed", "passed")
    assert len(list((project / ref).parent.glob("*.json"))) == 1


def test_no_value_that_is_passed_on_is_kept_or_told_to_the_agent(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    secrets = {"LET_THROUGH": "swordfish-1", "FOR_THE_AGENT": "mackerel-2", "SET_HERE": "herring-3"}
    config = """
        [sandbox]
        env = ["LET_THROUGH"]
        [fixers.agent]
        env = ["FOR_THE_AGENT"]
        [checks.tests]
        command = "python -m pytest -q"
        env = { PYTEST_DISABLE_PLUGIN_AUTOLOAD = "1", SET_HERE = "herring-3" }
        [policy]
        max_attempts = 3
    """
    tests = """
        import os

        import tax


        def test_regression_of_the_login():
            phrase = os.environ["LET_THROUGH"] + " mackerel-2 " + os.environ["SET_HERE"]
            assert tax.login() == phrase
    """
    code = {"tax.py": "def login():\n    return None\n"}
    phrase = "swordfish-1 mackerel-2 herring-3"
    mended = {"tax.py": f'def login():\n    return "{phrase}"\n'}
    said = "echo I know ${FOR_THE_AGENT}; echo '# no' >> tax.py"
    project = make_project({"runtrue.toml": config, "tests/test_tax.py": tests, **code})
    agent = Agent(tmp_path / "agent", "true", said, mended)
    env = {name: secrets[name] for name in ("LET_THROUGH", "FOR_THE_AGENT")}
    done = machine.runtrue(*TAKE_THE_BUG, "--agent", agent.command, cwd=project, env=env)
    assert done.code == 0, done.err
    assert done.json["memory"]["fixes"]
    assert len(agent.prompts) == 3
    assert "I know [redacted: FOR_THE_AGENT]" in agent.prompts[2]
    session = (project / done.json["record"]["debug_memory_ref"]).read_text()
    memory = b"".join(file.read_bytes() for file in machine.journal.parent.glob("memory.db*"))
    told = "".join(agent.prompts) + session + memory.decode(errors="replace")
    assert [name for name, value in secrets.items() if value in told] == []
    assert "[redacted: SET_HERE]" in session


def test_what_failed_here_before_is_told_to_who_writes(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(FIRST)
    assert machine.runtrue(*TAKE_THE_BUG, cwd=project).code == 3
    agent = Agent(tmp_path / "agent", FIXED)
    done = machine.runtrue(*TAKE_THE_BUG, "--agent", agent.command, cwd=project)
    assert done.code == 0, done.err
    assert any("IndexError" in lesson for lesson in done.json["lessons"])
    assert "IndexError in tax.py, seen 1 times" in agent.prompts[0]
    session = json.loads((project / done.json["record"]["debug_memory_ref"]).read_text())
    assert session["status"] == "passed"
    assert [(one["attempt"], one["error_type"]) for one in session["failures"]] == [
        (0, "IndexError")
    ]


def test_a_memory_that_cannot_be_used_is_told_and_fails_nothing(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(FIRST)
    machine.journal.parent.mkdir()
    for name in ("memory.db", "debug-memory.db"):
        (machine.journal.parent / name).write_text("this is no database, and never was one\n" * 99)
    agent = Agent(tmp_path / "agent", FIXED)
    done = machine.runtrue(*TAKE_THE_BUG, "--agent", agent.command, cwd=project)
    assert done.code == 0, done.err
    assert done.json["memory"]["trouble"]
