"""The `tool` fixer runs programs that mend what a check of theirs finds."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runtrue.checks import CommandCheck
from runtrue.fixers import ToolFixer, autofix_command
from runtrue.loop import Proposal, Workplace
from tests.fixers.support import make_finding, make_task, make_workplace


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    return make_workplace(tmp_path)


def fix(fixer: ToolFixer, workplace: Workplace, source: str = "lint") -> Proposal:
    return asyncio.run(fixer.propose(make_task(make_finding(source=source)), workplace))


class TestRunning:
    def test_ruff_mends_what_it_calls_fixable(self, workplace: Workplace) -> None:
        app = workplace.directory / "app.py"
        app.write_text("import os\nprint(undefined)\n")
        check = CommandCheck(name="lint", command="ruff check --select F .")
        command = autofix_command(check.command)
        assert command is not None
        fixer = ToolFixer({"lint": command}, safe=["lint"])
        findings = asyncio.run(check.run(workplace)).findings
        mine = [finding for finding in findings if fixer.accepts(finding)]
        assert [finding.category for finding in mine] == ["F401"]
        proposal = asyncio.run(fixer.propose(make_task(*mine), workplace))
        assert proposal.description == "ruff check --select F . --fix"
        assert proposal.failure is None
        assert proposal.confidence is not None
        assert proposal.confidence.value >= 0.9
        assert app.read_text() == "print(undefined)\n"
        left = asyncio.run(check.run(workplace)).findings
        assert [finding.category for finding in left] == ["F821"]

    def test_a_formatter_formats(self, workplace: Workplace) -> None:
        app = workplace.directory / "app.py"
        app.write_text("x=1\n")
        check = CommandCheck(name="format", command="python -m ruff format --check .")
        command = autofix_command(check.command)
        assert command is not None
        fixer = ToolFixer({"format": command}, safe=["format"])
        verdict = asyncio.run(check.run(workplace))
        assert not verdict.passed
        assert all(fixer.accepts(finding) for finding in verdict.findings)
        assert fix(fixer, workplace, "format").failure is None
        assert app.read_text() == "x = 1\n"
        assert asyncio.run(check.run(workplace)).passed

    def test_a_command_of_the_users_is_a_line_for_the_shell(self, workplace: Workplace) -> None:
        fixer = ToolFixer({"lint": "echo fixed >app.py && echo $HOME >home"})
        assert fix(fixer, workplace).failure is None
        assert (workplace.directory / "app.py").read_text() == "fixed\n"
        home = (workplace.directory / "home").read_text()
        assert home == f"{workplace.environment['HOME']}\n"

    def test_each_command_is_run_once(self, workplace: Workplace) -> None:
        fixer = ToolFixer({"a": "echo a >>log", "b": "echo b >>log", "c": "echo a >>log"})
        findings = [make_finding(source=source) for source in ("a", "b", "a", "c")]
        proposal = asyncio.run(fixer.propose(make_task(*findings), workplace))
        assert (workplace.directory / "log").read_text() == "a\nb\n"
        assert proposal.description == "echo a >>log; echo b >>log"

    def test_an_exit_code_that_says_findings_remain_is_no_failure(
        self, workplace: Workplace
    ) -> None:
        assert fix(ToolFixer({"lint": "exit 1"}), workplace).failure is None

    @pytest.mark.parametrize("command", ["no-such-program --fix", "./plain"])
    def test_a_program_that_cannot_be_run_is_a_failure(
        self, workplace: Workplace, command: str
    ) -> None:
        (workplace.directory / "plain").touch()
        proposal = fix(ToolFixer({"lint": command}), workplace)
        assert proposal.failure == f"`{command}` cannot be run"

    def test_a_directory_that_is_gone_is_a_failure(self, workplace: Workplace) -> None:
        workplace.directory.rmdir()
        proposal = fix(ToolFixer({"lint": "true"}), workplace)
        assert proposal.failure == "cannot be run: No such file or directory"


class TestAccepting:
    def test_only_findings_of_checks_with_a_command(self) -> None:
        fixer = ToolFixer({"lint": "true"})
        assert fixer.accepts(make_finding(source="lint"))
        assert not fixer.accepts(make_finding(source="tests"))

    def test_what_its_report_calls_unfixable_is_not_taken_on(self) -> None:
        fixer = ToolFixer({"lint": "true", "mine": "true"}, safe=["lint"])
        assert fixer.accepts(make_finding(source="lint", data={"fixable": True}))
        assert not fixer.accepts(make_finding(source="lint", data={"fixable": False}))
        assert fixer.accepts(make_finding(source="mine", data={"fixable": False}))

    def test_without_commands_it_is_unavailable(self) -> None:
        assert ToolFixer({}).unavailable() == (
            "no check here has a command that fixes its findings"
        )
        assert ToolFixer({"lint": "true"}).unavailable() is None

    def test_what_the_loop_may_do_with_it(self) -> None:
        fixer = ToolFixer({})
        assert fixer.name == "tool"
        assert fixer.trusted
        assert not fixer.repeatable
        assert not fixer.side_effect


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ruff check .", "ruff check . --fix"),
        ("ruff check", "ruff check --fix"),
        ("python -m ruff check src tests", "python -m ruff check src tests --fix"),
        ("ruff check -- .", "ruff check --fix -- ."),
        ("ruff check 'a b'", "ruff check 'a b' --fix"),
        ("ruff format --check .", "ruff format ."),
        ("ruff format --diff src", "ruff format src"),
        ("ruff format .", None),
        ("black --check -l 100 .", "black -l 100 ."),
        ("black --check --diff .", "black ."),
        ("black .", None),
        ("isort -c -l 100 src", "isort -l 100 src"),
        ("isort --check-only .", "isort ."),
        ("gofmt -l .", "gofmt -w ."),
        ("gofmt -s -d cmd", "gofmt -w -s cmd"),
        ("prettier --check .", "prettier --write ."),
        ("npx prettier -c src", "npx prettier --write src"),
        ("rustfmt --check src/main.rs", "rustfmt src/main.rs"),
        ("eslint .", "eslint . --fix"),
        ("npx stylelint a.css", "npx stylelint a.css --fix"),
        ("python -m pytest", None),
        ("mypy .", None),
        ("make lint", None),
        ("cd sub && ruff check .", None),
    ],
)
def test_the_autofix_command_of_a_check(command: str, expected: str | None) -> None:
    assert autofix_command(command) == expected
