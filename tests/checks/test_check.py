"""Any command is a check; what cannot be run is the check's own fault."""

from __future__ import annotations

import asyncio
import os
import resource
from pathlib import Path

import pytest

from runtrue.checks import CommandCheck, find_program, is_shell, tool_of, trim
from runtrue.loop import Fault, Mode, Outcome
from tests.checks.support import Project, only


class TestAnyCommand:
    def test_exit_code_0_passes(self, project: Project) -> None:
        verdict = project.check("true", name="it")
        assert verdict.passed
        assert verdict.findings == ()
        assert verdict.cases == {"it": Outcome.PASSED}
        assert (verdict.check, verdict.exit_code) == ("it", 0)
        assert verdict.seconds > 0

    @pytest.mark.parametrize("code", [1, 2, 5, 126, 127, 255])
    def test_any_other_code_is_the_candidates_failure(self, project: Project, code: int) -> None:
        script = project.write("script", f"#!/bin/sh\necho out; echo err >&2; exit {code}\n")
        script.chmod(0o755)
        verdict = project.check("./script", name="it")
        finding = only(verdict)
        assert finding.source == "it"
        assert finding.category == "exit_code"
        assert finding.message == f"exited with code {code}"
        assert finding.fault is Fault.CANDIDATE
        assert finding.sample == "out\nerr"
        assert finding.location.symbol == "it"
        assert verdict.cases == {"it": Outcome.FAILED}
        assert verdict.output == "out\nerr"

    def test_import_paths_of_its_own_come_before_those_of_the_workplace(
        self, project: Project
    ) -> None:
        project.environment["PYTHONPATH"] = "/moved"
        command = """sh -c 'test "$PYTHONPATH" = src:/moved'"""
        assert project.check(command, env={"PYTHONPATH": "src"}).passed

    def test_a_signal_is_named(self, project: Project) -> None:
        finding = only(project.check("kill -SEGV $$"))
        assert (finding.category, finding.message) == ("signal", "was killed by SIGSEGV")
        assert finding.fault is Fault.CANDIDATE

    def test_a_signal_without_a_name(self, project: Project) -> None:
        finding = only(project.check("kill -40 $$"))
        assert finding.message in ("was killed by signal 40", "was killed by SIGRTMIN+6")

    def test_a_timeout(self, project: Project) -> None:
        verdict = project.check("sleep 600", timeout=0.2)
        finding = only(verdict)
        assert (finding.category, finding.fault) == ("timeout", Fault.CANDIDATE)
        assert verdict.exit_code is None

    def test_its_mode_is_the_verdicts(self, project: Project) -> None:
        check = CommandCheck(name="it", command="false", mode=Mode.INFORMATIONAL)
        verdict = asyncio.run(check.run(project.workplace))
        assert verdict.mode is Mode.INFORMATIONAL
        assert not verdict.passed
        assert not verdict.blocks

    def test_output_without_end_is_trimmed_head_and_tail(self, project: Project) -> None:
        verdict = project.check("echo first; yes | head -c 20000000; echo last; exit 1")
        for text in (verdict.output, only(verdict).sample or ""):
            assert text.startswith("first\ny\n")
            assert text.endswith("y\nlast")
            assert "left out" in text
            assert len(text) < 5_000

    def test_output_that_is_no_text(self, project: Project) -> None:
        verdict = project.check("printf 'a\\377b'; exit 1")
        assert verdict.output == "a\ufffdb"
        assert verdict.output.encode()

    def test_it_runs_where_the_candidate_is(self, project: Project) -> None:
        assert project.check("pwd").output == str(project.directory)

    def test_it_sees_what_the_workplace_gives(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SECRET_TOKEN", "planted")
        project.environment["GIVEN"] = "yes"
        output = project.check("env").output
        assert "GIVEN=yes" in output
        assert "planted" not in output


class TestCannotBeRun:
    def test_a_missing_program_with_what_there_is_instead(self, project: Project) -> None:
        verdict = project.check("pytset -q")
        finding = only(verdict)
        assert finding.category == "not_runnable"
        assert finding.fault is Fault.CHECK
        assert not finding.transient
        assert finding.message == "the program 'pytset' cannot be run: No such file or directory"
        assert finding.attempted == ("pytset",)
        assert "pytest" in finding.available
        assert verdict.exit_code is None

    def test_nothing_is_like_it(self, project: Project) -> None:
        project.environment["PATH"] = f"{project.directory}/nowhere:{project.directory}"
        finding = only(project.check("pytest"))
        assert finding.fault is Fault.CHECK
        assert finding.available == ()

    def test_a_file_that_is_no_program(self, project: Project) -> None:
        project.write("script", "exit 0\n")
        finding = only(project.check("./script"))
        assert (finding.category, finding.fault) == ("not_runnable", Fault.CHECK)

    def test_a_machine_that_cannot_start_it_is_the_environments(self, project: Project) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        used = max(int(fd.name) for fd in Path("/proc/self/fd").iterdir())
        project.check("true")
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 8, hard))
        try:
            held = []
            try:
                while True:
                    held.append(os.open("/dev/null", os.O_RDONLY))
            except OSError:
                # Room for the event loop, none for a command.
                for _ in range(4):
                    os.close(held.pop())
            finding = only(project.check("true"))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            for fd in held:
                os.close(fd)
        assert finding.fault is Fault.ENVIRONMENT
        assert finding.transient

    @pytest.mark.parametrize("command", ["cd . && no-such-program", "./plain | cat; ./plain"])
    def test_the_shells_own_codes_are_the_checks(self, project: Project, command: str) -> None:
        project.write("plain", "exit 0\n")
        finding = only(project.check(command))
        assert (finding.category, finding.fault) == ("not_runnable", Fault.CHECK)


class TestCommand:
    @pytest.mark.parametrize(
        ("command", "argv"),
        [
            ("pytest -q", ("pytest", "-q")),
            ("pytest 'a b' \"c d\"", ("pytest", "a b", "c d")),
            ("cd x && pytest", ("/bin/sh", "-c", "cd x && pytest")),
            ("X=1 pytest", ("/bin/sh", "-c", "X=1 pytest")),
            ("pytest tests/*.py", ("/bin/sh", "-c", "pytest tests/*.py")),
            ("echo $HOME", ("/bin/sh", "-c", "echo $HOME")),
            ("a\nb", ("/bin/sh", "-c", "a\nb")),
        ],
    )
    def test_a_shell_is_used_for_what_only_it_understands(
        self, command: str, argv: tuple[str, ...]
    ) -> None:
        assert CommandCheck(name="it", command=command).argv == argv
        assert is_shell(command) is (argv[0] == "/bin/sh")

    @pytest.mark.parametrize(
        ("command", "tool"),
        [
            ("pytest", "pytest"),
            ("py.test -q", "pytest"),
            ("/usr/bin/pytest", "pytest"),
            ("python -m pytest -q", "pytest"),
            ("uv run pytest", "pytest"),
            ("coverage run -m pytest", "pytest"),
            ("cd sub && python -m pytest", "pytest"),
            ("mypy .", "mypy"),
            ("python3 -m mypy src", "mypy"),
            ("ruff check .", "ruff"),
            ("python -m ruff check", "ruff"),
            ("ruff format --check .", None),
            ("ruff", None),
            ("cd sub && ruff check .", None),
            ("cd sub && mypy .", None),
            ("make test", None),
            ("python -m pytester", None),
            ("echo pytest-cov; true", "pytest"),
        ],
    )
    def test_the_tools_whose_reports_are_understood(self, command: str, tool: str | None) -> None:
        assert tool_of(command) == tool
        assert CommandCheck(name="it", command=command).tool == tool

    def test_a_program_is_found_on_a_path(self, tmp_path: Path) -> None:
        program = tmp_path / "program"
        program.touch(mode=0o755)
        assert find_program("program", f"/nowhere:{tmp_path}") == str(program)
        assert find_program("other", str(tmp_path)) is None


class TestTrim:
    def test_short_text_is_kept(self) -> None:
        assert trim("x" * 10, 5) == "x" * 10

    def test_of_long_text_head_and_tail_are(self) -> None:
        assert trim("aaaaa" + "x" * 3 + "bbbbb", 5) == "aaaaa\n[… 3 characters left out …]\nbbbbb"
