"""The record that `--json` carries, of all commands that have one, by the seed's JSON Schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import runtrue
from tests.cli.conftest import Machine, MakeProject
from tests.code.support import PYTEST, TAX, Agent, valid

MEND = "sed -i s/1.9/1.19/ tax.py"
ASKED = ("code", "the rate is 19 %", "--path", "tax.py", "--type", "bug_fix", "--json")


def record_of(document: dict[str, Any]) -> dict[str, Any]:
    record: dict[str, Any] = valid(document["record"])
    return record


def test_a_fix_has_a_record_in_its_json_and_later_as_well(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    agent = Agent(tmp_path / "agent", MEND)
    done = machine.runtrue(
        "fix", "--agent", agent.command, "--json", cwd=make_project(TAX, name="shop")
    )
    assert done.code == 0, done.err
    record = record_of(done.json)
    assert record["workflow_id"] == done.json["workflow_id"]
    # A script that is named by its path is not asked for its version.
    assert record["agent"] == {"name": "scribe", "type": "debugger"}
    assert record["code_artifact"] == {
        "path": "tax.py",
        "language": "python",
        "code_type": "bug_fix",
        "test_files": ["tests/test_tax.py"],
    }
    state = record["loop_state"]
    assert (state["phase"], state["attempt_number"], state["status"]) == ("complete", 2, "passed")
    first, second = state["attempts"]
    assert (first["phase"], second["phase"]) == ("execute_tests", "verify_fix")
    assert first["fix_applied"]["diff_summary"] == "+1/-1 lines"
    assert record_of(machine.runtrue("runs", "show", "--json").json) == record


def test_a_fix_that_fails_escalates_to_nobody_and_its_record_says_so(
    machine: Machine, make_project: MakeProject
) -> None:
    done = machine.runtrue("fix", "--json", cwd=make_project(TAX))
    assert done.code == 1
    record = record_of(done.json)
    assert record["agent"] == {
        "name": "runtrue",
        "type": "debugger",
        "version": runtrue.__version__,
    }
    assert record["loop_state"]["status"] == "failed"
    assert record["retry_policy"]["escalation_on_max"] is False
    assert record["escalation_policy"]["triggers"] == []


@pytest.mark.parametrize(
    ("steps", "attempts"),
    [
        # As in the seed's example ef-002: all three attempts fail.
        (("true", *(f"echo '# {n}' >> tax.py" for n in range(3))), 3),
        # Nobody has anything to try, long before that.
        (("true", "true", "true"), 1),
    ],
    ids=["all-attempts", "early"],
)
def test_a_bug_that_is_not_fixed_is_escalated(
    steps: tuple[str, ...],
    attempts: int,
    machine: Machine,
    make_project: MakeProject,
    tmp_path: Path,
) -> None:
    agent = Agent(tmp_path / "agent", *steps)
    done = machine.runtrue(*ASKED, "--agent", agent.command, cwd=make_project(TAX))
    assert done.code == 3, done.said
    record = record_of(done.json)
    assert record["agent"]["type"] == "debugger"
    assert record["retry_policy"]["escalation_on_max"] is True
    state = record["loop_state"]
    assert (state["phase"], state["attempt_number"], state["status"]) == (
        *("escalated", attempts),
        "escalated",
    )
    (report,) = (machine.home / ".runtrue" / "escalations").glob("*/max_attempts_reached-*.json")
    diffs = [fix["diff"] for fix in json.loads(report.read_text())["fix_attempts"]]
    assert [diff.count("\n+# ") for diff in diffs] == ([1, 1] if attempts == 3 else [0, 0])
    shown = report.with_suffix(".md").read_text()
    assert shown.count("What it changed:") == (2 if attempts == 3 else 0)


def test_an_issue_is_commented_on_by_default_where_one_is_named(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    agent = Agent(tmp_path / "agent", "true")
    notification = "[escalation.notification]\nissue = 7\n"
    named = make_project({**TAX, "runtrue.toml": f"{PYTEST}{notification}"}, name="named")
    done = machine.runtrue(*ASKED, "--agent", agent.command, cwd=named)
    told = record_of(done.json)["escalation_policy"]["notification"]
    assert told == {"channel": "issue_comment", "template": "$report"}
    (comment,) = (machine.home / ".runtrue" / "escalations").glob("*/comment.md")
    assert comment.read_text().startswith("# Escalation")


def test_in_the_ci_of_a_pull_request_that_is_commented_on_and_else_the_terminal_is_told(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(TAX)
    here = record_of(machine.runtrue("fix", "--json", cwd=project).json)
    assert here["escalation_policy"]["notification"] == {
        "channel": "cli",
        "template": "escalated: $why\n  $answer\n  report: $path",
    }
    in_ci = {"GITHUB_REF": "refs/pull/12/merge"}
    there = record_of(machine.runtrue("fix", "--json", cwd=project, env=in_ci).json)
    assert there["escalation_policy"]["notification"]["channel"] == "issue_comment"


def test_an_installed_agent_is_asked_for_its_version_once(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    agent = programs / "careful-agent"
    agent.write_text(
        f'#!/bin/sh\necho "$1" >> {tmp_path}/calls\n'
        'if [ "$1" = --version ]; then echo "careful-agent 2.31.4 (stable)"; exit; fi\n'
        f"{MEND}\n"
    )
    agent.chmod(0o755)
    done = machine.runtrue(
        "fix",
        *("--agent", "careful-agent --print"),
        "--json",
        cwd=make_project(TAX),
        env={"PATH": f"{programs}:{machine.env['PATH']}"},
    )
    assert done.code == 0, done.said
    assert record_of(done.json)["agent"] == {
        "name": "careful-agent",
        "type": "debugger",
        "version": "2.31.4",
    }
    assert (tmp_path / "calls").read_text().split() == ["--version", "--print"]


def test_an_agent_that_writes_only_tests_is_a_test_engineer(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    right = {**TAX, "tax.py": "def with_tax(net):\n    return net * 1.19\n"}
    more = {
        "tests/test_more.py": """
            from tax import with_tax


            def test_of_a_thousand():
                assert with_tax(1000) == 1190
        """
    }
    agent = Agent(tmp_path / "agent", more)
    asked = ("code", "more tests", "--path", "tax.py", "--type", "refactor", "--json")
    done = machine.runtrue(*asked, "--agent", agent.command, cwd=make_project(right))
    assert done.code == 0, done.said
    assert record_of(done.json)["agent"]["type"] == "test_engineer"


RAISES = {
    "runtrue.toml": PYTEST,
    "tests/test_all.py": """
        import pytest


        @pytest.fixture
        def broken():
            raise ValueError("in the set-up")


        def test_good():
            pass


        def test_raises_in_its_body():
            raise TypeError("in the body")


        def test_of_what_is_broken(broken):
            pass


        @pytest.mark.skip
        def test_later():
            pass
    """,
    "tests/test_unread.py": "import no_such_module\n",
}


def test_what_a_test_raises_is_a_failure_and_errors_are_of_set_up_and_collection(
    machine: Machine, make_project: MakeProject
) -> None:
    record = record_of(machine.runtrue("fix", "--json", cwd=make_project(RAISES)).json)
    results = record["loop_state"]["test_results"]
    del results["duration_ms"]
    # A file that cannot be collected does not keep pytest from running the others.
    assert results == {"total": 5, "passed": 1, "failed": 1, "errors": 2, "skipped": 1}
