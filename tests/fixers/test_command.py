"""The `command` fixer runs the command again that made what is wrong, and tells it what is."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.fixers import CommandFixer, command_variables, write_prompt
from runtrue.loop import FixTask, Proposal, Workplace
from runtrue.redaction import Redactor
from tests.fixers.support import make_finding, make_task, make_workplace


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    return make_workplace(tmp_path / "work place")


def propose(
    command: str, workplace: Workplace, task: FixTask | None = None, *, timeout: float = 60
) -> Proposal:
    task = replace(task or make_task(), redo=command)
    return asyncio.run(CommandFixer(timeout=timeout).propose(task, workplace))


class TestRunning:
    def test_it_edits_files_and_what_it_prints_is_told(self, workplace: Workplace) -> None:
        proposal = propose("echo fixed >app.py && echo done", workplace)
        assert proposal == Proposal(description="done")
        assert (workplace.directory / "app.py").read_text() == "fixed\n"

    def test_one_that_says_nothing_is_told_by_its_line(self, workplace: Workplace) -> None:
        assert propose("true", workplace).description == "true"

    def test_where_no_command_made_it_there_is_none_to_run(self, workplace: Workplace) -> None:
        proposal = asyncio.run(CommandFixer(timeout=60).propose(make_task(), workplace))
        assert proposal == Proposal(description="no command created the failing file")

    def test_it_finds_the_prompt_of_an_agent_in_a_file(self, workplace: Workplace) -> None:
        task = make_task(make_finding("assert 'a' == 'b'"))
        prompt = write_prompt(task, workplace)
        propose('cat "$RUNTRUE_PROMPT_FILE" >prompt', workplace, task)
        assert (workplace.directory / "prompt").read_text() == prompt

    def test_it_finds_the_findings_as_json(self, workplace: Workplace) -> None:
        finding = make_finding("wrong \u00a3", sample="its output", data={"expected": [1, None]})
        propose('printf %s "$RUNTRUE_FINDINGS" >findings', workplace, make_task(finding))
        assert json.loads((workplace.directory / "findings").read_text()) == [
            {
                "source": "tests",
                "category": "AssertionError",
                "message": "wrong \u00a3",
                "file": "app.py",
                "line": 3,
                "symbol": "test_app.py::test_it",
                "sample": "its output",
                "data": {"expected": [1, None]},
            }
        ]

    def test_no_value_of_a_secret_is_told(self, workplace: Workplace) -> None:
        workplace.environment.update({"SERVICE_TOKEN": "mackerel"})
        finding = make_finding("no mackerel", data={"actual": ["mackerel"]})
        propose('echo "$RUNTRUE_FINDINGS" >told', workplace, make_task(finding))
        told = (workplace.directory / "told").read_text()
        prompt = (workplace.scratch / "prompt.md").read_text()
        assert "mackerel" not in told + prompt
        assert "no [redacted: SERVICE_TOKEN]" in told


class TestFailures:
    """A broken command is a failure of the fixer, never a finding."""

    @pytest.mark.parametrize(
        ("command", "failure"),
        [
            ("echo no >&2; exit 3", "`echo no >&2; exit 3` exited with code 3"),
            ("no-such-program", "`no-such-program` names a program that cannot be run"),
        ],
    )
    def test_of_the_command(self, workplace: Workplace, command: str, failure: str) -> None:
        assert propose(command, workplace).failure == failure

    def test_of_time(self, workplace: Workplace) -> None:
        proposal = propose("echo begun; sleep 600", workplace, timeout=0.5)
        assert proposal.failure == "`echo begun; sleep 600` did not finish within 0 s"

    def test_of_the_machine(self, workplace: Workplace) -> None:
        workplace.directory.rmdir()
        failure = propose("true", workplace).failure
        assert failure == "`true` cannot be run: No such file or directory"


def test_what_the_loop_may_do_with_it() -> None:
    fixer = CommandFixer(timeout=1)
    assert fixer.unavailable() is None
    assert fixer.accepts(make_finding())
    assert (fixer.name, fixer.trusted, fixer.repeatable, fixer.side_effect) == (
        "command",
        False,
        False,
        False,
    )


def told(workplace: Workplace, *data: dict[str, Any]) -> str:
    findings = [make_finding(data=one) for one in data]
    return command_variables("prompt", findings, workplace, Redactor())["RUNTRUE_FINDINGS"]


class TestRoom:
    def test_many_findings_are_told_as_far_as_there_is_room(self, workplace: Workplace) -> None:
        text = told(workplace, *[{"expected": "x" * 1_000}] * 1_000)
        assert len(text) < 65_000
        assert 10 < len(json.loads(text)) < 100

    def test_data_that_is_too_long_is_left_out(self, workplace: Workplace) -> None:
        (one,) = json.loads(told(workplace, {"lines": list(range(100_000))}))
        assert one["message"] == "assert 1 == 2"
        assert "data" not in one

    @given(
        st.dictionaries(
            st.text(),
            st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists),
        )
    )
    def test_whatever_the_data_it_is_json_that_a_variable_can_hold(
        self, tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]
    ) -> None:
        workplace = make_workplace(tmp_path_factory.mktemp("told"))
        text = told(workplace, data)
        assert text.isascii()
        assert "\0" not in text
        assert isinstance(json.loads(text), list)
