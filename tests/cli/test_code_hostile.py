"""`runtrue code` and generators that would rather look right than be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Machine, MakeProject
from tests.code.support import MENDED, PYTEST, TAX, Agent, triggers

#: A test file that makes the other tests pass, and one that makes every test pass.
PATCHES_THE_CODE = """
    import tax

    tax.with_tax = lambda price: price * 1.19

    def test_regression_of_the_rate():
        assert tax.with_tax(100) == 119
    """
PATCHES_THE_RUNNER = """
    import _pytest.python

    _pytest.python.Function.runtest = lambda self: None

    def test_regression_of_the_rate():
        assert 1 + 1 == 2
    """
ENDS = PYTEST + triggers(
    ("max_attempts_reached", "abort_with_report"),
    ("coverage_threshold_unmet", "abort_with_report"),
)


@pytest.mark.parametrize("text", [PATCHES_THE_CODE, PATCHES_THE_RUNNER], ids=["code", "runner"])
def test_tests_that_were_added_cannot_turn_older_ones_green(
    text: str, machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project({**TAX, "runtrue.toml": ENDS})
    agent = Agent(tmp_path / "agent", {"test_aa.py": text})
    done = machine.runtrue(
        *("code", "the rate is 19 %", "--path", "tax.py", "--json", "--agent", agent.command),
        *("--max-attempts", "1"),
        cwd=project,
    )
    assert done.code != 0, done.said
    categories = {finding["category"] for finding in done.json["findings"]}
    assert categories == {"required_tests_missing", "depends_on_added_tests"}


def test_what_was_named_as_a_test_is_a_judge_whatever_its_name(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(
        {
            "tax.py": TAX["tax.py"],
            "qa/check_tax.py": TAX["tests/test_tax.py"],
            "pytest.ini": "[pytest]\npython_files = check_*.py\npythonpath = .\n",
            "runtrue.toml": ENDS,
        }
    )
    weakened = TAX["tests/test_tax.py"].replace("== 119", "== 190")
    agent = Agent(tmp_path / "agent", {"qa/check_tax.py": weakened})
    done = machine.runtrue(
        *("code", "the rate is 19 %", "--path", "tax.py", "--tests", "qa/check_tax.py", "--json"),
        *("--max-attempts", "1", "--agent", agent.command),
        cwd=project,
    )
    assert done.code != 0, done.said
    assert done.json["written"][0]["restored"] == ["qa/check_tax.py"]


def test_a_test_that_is_not_there_and_cannot_be_written_is_refused(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(TAX)
    done = machine.runtrue(
        *("code", "x", "--path", "tax.py", "--type", "refactor", "--tests", "test_none.py"),
        cwd=project,
    )
    assert done.code == 2
    assert "there is no test_none.py" in done.err


def test_a_generator_that_removes_the_file_has_written_nothing(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(TAX)
    done = machine.runtrue("code", "x", "--path", "tax.py", "--agent", "rm tax.py", cwd=project)
    assert done.code == 1
    assert "there is no tax.py afterwards" in done.err
    assert (project / "tax.py").is_file()


@pytest.mark.parametrize("path", [".git/config", "out/hostname", "../x.py", ""])
def test_a_path_that_leads_out_of_the_project_is_refused(
    path: str, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(TAX)
    (project / "out").symlink_to("/etc")
    done = machine.runtrue("code", "x", "--path", path, "--type", "refactor", cwd=project)
    assert done.code == 2
    assert f"{path!r} is not a file in" in done.err


def test_older_failures_outside_of_the_task_do_not_block(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    unrelated = "def test_that_was_always_red():\n    assert 1 == 2\n"
    project = make_project({**TAX, "tests/test_zz.py": unrelated})
    agent = Agent(tmp_path / "agent", MENDED)
    done = machine.runtrue(
        "code", "the rate", "--path", "tax.py", "--json", "--agent", agent.command, cwd=project
    )
    assert done.code == 0, done.said
    (known,) = done.json["attempts"][0]["verdicts"][0]["known"]
    assert known["location"]["symbol"].endswith("::test_that_was_always_red")
