"""Projects as people write them, each with one bug, repaired by `runtrue fix` without a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Machine, content
from tests.fixers.search.casebook import (
    ProjectCase,
    changed,
    commit,
    put,
    read_cases,
    run_pytest,
)

CASES = read_cases()
#: A net for slow machines: none of them takes as long as what is given by default.
PATIENT = {"RUNTRUE_SEARCH_SECONDS": "90"}
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 14


@each_case
def test_a_bug_is_repaired_in_its_own_file_and_as_tests_nobody_saw_want_it(
    case: ProjectCase, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    put(case.project, project)
    commit(project)
    before = content(project)
    machine = Machine(tmp_path)
    done = machine.runtrue("fix", project, "--apply", "--json", env=PATIENT)
    if done.code == 3:
        # Where many edits pass, a person is asked.
        assert done.json["why"] == "unsure"
        run_id = done.json["run_id"]
        done = machine.runtrue("runs", "resume", run_id, "--answer", "yes", "--json", cwd=project)
    assert done.code == 0, done.said
    report = done.json
    assert report["status"] == "passed"
    parts = [part for a in report["attempts"] if a["fix"] for part in a["fix"]["parts"]]
    assert [(part["fixer"], part["files"]) for part in parts] == [("search", [case.file])]
    assert changed(project, before) == [case.file]
    put(case.held_back, project)
    code, output = run_pytest(project)
    assert code == 0, f"{report['diff']}\n{output}"


@each_case
def test_the_case_is_right_about_its_own_fix(case: ProjectCase, tmp_path: Path) -> None:
    put({**case.project, case.file: case.fixed, **case.held_back}, tmp_path)
    code, output = run_pytest(tmp_path)
    assert code == 0, output
