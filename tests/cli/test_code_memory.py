"""The debug memory across projects: a bug that was mended once is mended again with no agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Machine, MakeProject
from tests.cli.test_code import TAKE_THE_BUG
from tests.code.support import PYTEST, Agent, valid

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
MENDED = {"tax.py": FIRST["tax.py"].replace("return words[0]", 'return words[0] if words else ""')}
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
    agent = Agent(tmp_path / "agent", "true", MENDED)
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
    done = machine.runtrue(*TAKE_THE_BUG, cwd=project)
    assert done.code == 1
    assert done.json["attempts"][1]["fix"]["parts"][0]["fixer"] == "memory"
    assert done.json["memory"]["reused"] == []
    assert done.json["metrics"]["reused_memory"] is False
    now = shown(machine, learnt["id"])
    assert (now["tried"], now["passed"]) == (learnt["tried"] + 1, learnt["passed"])
    assert len(done.json["attempts"]) == 2  # it is not tried twice


def test_what_failed_here_before_is_told_to_who_writes(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(FIRST)
    assert machine.runtrue(*TAKE_THE_BUG, cwd=project).code == 1
    agent = Agent(tmp_path / "agent", MENDED)
    done = machine.runtrue(*TAKE_THE_BUG, "--agent", agent.command, cwd=project)
    assert done.code == 0, done.err
    assert any("IndexError" in lesson for lesson in done.json["lessons"])
    assert "IndexError in tax.py, seen 1 times" in agent.prompts[0]
    session = json.loads((project / done.json["record"]["debug_memory_ref"]).read_text())
    assert (session["status"], session["failures"]) == ("passed", [])


def test_a_memory_that_cannot_be_used_is_told_and_fails_nothing(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(FIRST)
    machine.journal.parent.mkdir()
    for name in ("memory.db", "debug-memory.db"):
        (machine.journal.parent / name).write_text("this is no database, and never was one\n" * 99)
    agent = Agent(tmp_path / "agent", MENDED)
    done = machine.runtrue(*TAKE_THE_BUG, "--agent", agent.command, cwd=project)
    assert done.code == 0, done.err
    assert done.json["memory"]["trouble"]
