"""The `tool` fixer runs programs that mend what a check of theirs finds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from runtrue.checks import CommandCheck
from runtrue.fixers import AutofixCommands, ToolFixer, autofix_command
from runtrue.loop import (
    Attempt,
    Finding,
    Fix,
    FixPart,
    History,
    Location,
    Mode,
    Outcome,
    Proposal,
    Verdict,
    Workplace,
)
from tests.fixers.support import make_finding, make_task, make_workplace


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    return make_workplace(tmp_path)


def tool(commands: dict[str, str], *, safe: Sequence[str] = ()) -> ToolFixer:
    return ToolFixer(AutofixCommands(commands=commands, safe=tuple(safe)))


def fix(fixer: ToolFixer, workplace: Workplace, source: str = "lint") -> Proposal:
    return asyncio.run(fixer.propose(make_task(make_finding(source=source)), workplace))


class TestRunning:
    def test_ruff_mends_what_it_calls_fixable(self, workplace: Workplace) -> None:
        app = workplace.directory / "app.py"
        app.write_text("import os\nprint(undefined)\n")
        check = CommandCheck(name="lint", command="ruff check --select F .")
        command = autofix_command(check.command)
        assert command is not None
        fixer = tool({"lint": command}, safe=["lint"])
        findings = asyncio.run(check.run(workplace)).findings
        mine = [finding for finding in findings if fixer.accepts(finding)]
        assert [finding.category for finding in mine] == ["F401"]
        proposal = asyncio.run(fixer.propose(make_task(*mine), workplace))
        assert proposal.description == "ruff check --select F . --fix"
        assert proposal.texts == {"app.py": "print(undefined)\n"}
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
        fixer = tool({"format": command}, safe=["format"])
        verdict = asyncio.run(check.run(workplace))
        assert not verdict.passed
        assert all(fixer.accepts(finding) for finding in verdict.findings)
        assert fix(fixer, workplace, "format").failure is None
        assert app.read_text() == "x = 1\n"
        assert asyncio.run(check.run(workplace)).passed

    def test_a_command_of_the_users_is_a_line_for_the_shell(self, workplace: Workplace) -> None:
        fixer = tool({"lint": "echo fixed >app.py && echo $HOME >home"})
        assert fix(fixer, workplace).failure is None
        assert (workplace.directory / "app.py").read_text() == "fixed\n"
        home = (workplace.directory / "home").read_text()
        assert home == f"{workplace.environment['HOME']}\n"

    def test_each_command_is_run_once(self, workplace: Workplace) -> None:
        fixer = tool({"a": "echo a >>log", "b": "echo b >>log", "c": "echo a >>log"})
        findings = [make_finding(source=source) for source in ("a", "b", "a", "c")]
        proposal = asyncio.run(fixer.propose(make_task(*findings), workplace))
        assert (workplace.directory / "log").read_text() == "a\nb\n"
        assert proposal.description == "echo a >>log; echo b >>log"

    def test_an_exit_code_that_says_findings_remain_is_no_failure(
        self, workplace: Workplace
    ) -> None:
        assert fix(tool({"lint": "exit 1"}), workplace).failure is None

    @pytest.mark.parametrize("command", ["no-such-program --fix", "./plain"])
    def test_a_program_that_cannot_be_run_is_a_failure(
        self, workplace: Workplace, command: str
    ) -> None:
        (workplace.directory / "plain").touch()
        proposal = fix(tool({"lint": command}), workplace)
        assert proposal.failure == f"`{command}` cannot be run"

    def test_a_directory_that_is_gone_is_a_failure(self, workplace: Workplace) -> None:
        workplace.directory.rmdir()
        proposal = fix(tool({"lint": "true"}), workplace)
        assert proposal.failure == "cannot be run: No such file or directory"


REWRITE = "sed -i s/old/new/ *.py"


def at(file: str, line: int) -> Finding:
    found = make_finding(source="lint", symbol=None)
    return replace(found, location=Location(file=file, line=line))


class TestScope:
    """A tool rewrites what it likes; only what the findings need is kept."""

    @pytest.fixture
    def files(self, workplace: Workplace) -> Path:
        for name in ("a.py", "b.py"):
            (workplace.directory / name).write_text("old 1\nold 2\nsame\nold 4\n")
        return workplace.directory

    def propose(self, fixer: ToolFixer, workplace: Workplace, *findings: Finding) -> Proposal:
        task = replace(make_task(*findings), candidate="c")
        return asyncio.run(fixer.propose(task, workplace))

    @pytest.mark.usefixtures("files")
    def test_only_files_with_a_finding_are_touched(self, workplace: Workplace) -> None:
        fixer = tool({"lint": REWRITE}, safe=["lint"])
        proposal = self.propose(fixer, workplace, at("a.py", 1))
        assert proposal.texts == {"a.py": "new 1\nnew 2\nsame\nnew 4\n"}

    @pytest.mark.usefixtures("files")
    def test_unasked_only_changed_lines_and_those_with_a_finding_are_touched(
        self, workplace: Workplace
    ) -> None:
        commands = AutofixCommands(commands={"lint": REWRITE}, safe=("lint",))
        changed = {"c": {"a.py": frozenset({4}), "b.py": frozenset({1})}}
        fixer = ToolFixer(commands, narrow=["lint"], changed=changed.__getitem__)
        proposal = self.propose(fixer, workplace, at("a.py", 4))
        assert proposal.texts == {"a.py": "old 1\nold 2\nsame\nnew 4\n"}

    @pytest.mark.usefixtures("files")
    def test_unasked_and_without_a_place_in_the_report_only_changed_lines_are_touched(
        self, workplace: Workplace
    ) -> None:
        changed = {"c": {"b.py": frozenset({1})}}
        commands = AutofixCommands(commands={"lint": REWRITE}, safe=("lint",))
        fixer = ToolFixer(commands, narrow=["lint"], changed=changed.__getitem__)
        nowhere = replace(at("a.py", 4), location=Location())
        proposal = self.propose(fixer, workplace, nowhere)
        assert proposal.texts == {"b.py": "new 1\nold 2\nsame\nold 4\n"}

    def test_a_command_of_the_users_own_may_change_any_file(
        self, workplace: Workplace, files: Path
    ) -> None:
        proposal = self.propose(tool({"lint": REWRITE}), workplace, at("a.py", 1))
        assert proposal.texts is None
        assert (files / "b.py").read_text().startswith("new")

    @pytest.mark.usefixtures("files")
    def test_a_command_that_broke_a_test_is_not_run_again(self, workplace: Workplace) -> None:
        part = FixPart(fixer="tool", findings=(), description=REWRITE, files=("a.py",))
        fix = Fix(base="a", candidate="b", parts=(part,))
        case = "test_a.py::test_it"
        history = History(
            attempts=(
                Attempt(number=1, candidate="a", verdicts=(_verdict(case, Outcome.PASSED),)),
                Attempt(
                    number=2, candidate="b", verdicts=(_verdict(case, Outcome.FAILED),), fix=fix
                ),
            )
        )
        task = make_task(at("a.py", 1), history=history)
        proposal = asyncio.run(tool({"lint": REWRITE}, safe=["lint"]).propose(task, workplace))
        assert proposal == Proposal(description="its fix broke a test and was undone", texts={})


def _verdict(case: str, outcome: Outcome) -> Verdict:
    passed = outcome is Outcome.PASSED
    return Verdict(check="tests", mode=Mode.REQUIRED, passed=passed, cases={case: outcome})


class TestAccepting:
    def test_only_findings_of_checks_with_a_command(self) -> None:
        fixer = tool({"lint": "true"})
        assert fixer.accepts(make_finding(source="lint"))
        assert not fixer.accepts(make_finding(source="tests"))

    def test_what_its_report_calls_unfixable_is_not_taken_on(self) -> None:
        fixer = tool({"lint": "true", "mine": "true"}, safe=["lint"])
        assert fixer.accepts(make_finding(source="lint", data={"fixable": True}))
        assert not fixer.accepts(make_finding(source="lint", data={"fixable": False}))
        assert fixer.accepts(make_finding(source="mine", data={"fixable": False}))

    def test_without_commands_it_is_unavailable(self) -> None:
        assert tool({}).unavailable() == ("no check has a command that fixes its findings")
        assert tool({"lint": "true"}).unavailable() is None

    def test_what_is_unsafe_to_fix_needs_a_check_that_was_asked_for(self) -> None:
        unsafe = make_finding(source="lint", data={"fixable": False, "unsafe_fix": True})
        hopeless = make_finding(source="lint", data={"fixable": False})
        checks = {"lint": ("ruff check .", None)}
        assert not ToolFixer(AutofixCommands.of(checks)).accepts(unsafe)
        asked = ToolFixer(AutofixCommands.of(checks, asked=["lint"]))
        assert asked.accepts(unsafe)
        assert not asked.accepts(hopeless)

    def test_what_the_loop_may_do_with_it(self) -> None:
        fixer = tool({})
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
