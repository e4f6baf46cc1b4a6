"""What ruff and mypy found is read from their own JSON reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtrue.loop import Fault, Finding, Location
from tests.checks.support import Project, only

RUFF = "python -m ruff check"
MYPY = "python -m mypy"


def facts(findings: tuple[Finding, ...]) -> list[tuple[str, str]]:
    return sorted((str(finding.location), finding.category) for finding in findings)


class TestRuff:
    def test_a_clean_project_passes(self, project: Project) -> None:
        project.write("app.py", "x = 1\n")
        verdict = project.check(f"{RUFF} .")
        assert verdict.passed
        assert verdict.findings == ()

    def test_each_violation_is_a_finding(self, project: Project) -> None:
        project.write("pkg/app.py", "import os\n\nprint(undefined)\n")
        verdict = project.check(f"{RUFF} .", name="lint")
        assert not verdict.passed
        unused, undefined = sorted(verdict.findings, key=lambda f: f.category)
        assert unused.source == "lint"
        assert unused.category == "F401"
        assert unused.message == "`os` imported but unused"
        assert unused.location == Location(file="pkg/app.py", line=1, column=8)
        assert unused.fault is Fault.CANDIDATE
        assert unused.data == {"fixable": True, "fix_lines": [1]}
        assert undefined.category == "F821"
        assert undefined.location == Location(file="pkg/app.py", line=3, column=7)
        assert undefined.data == {"fixable": False}

    def test_a_fix_that_is_not_safe_is_none(self, project: Project) -> None:
        project.write("app.py", "def f():\n    unused = 1\n")
        finding = only(project.check(f"{RUFF} --select F841 ."))
        data = {"fixable": False, "unsafe_fix": True, "fix_lines": [2]}
        assert (finding.category, finding.data) == ("F841", data)

    def test_a_syntax_error_is_the_candidates(self, project: Project) -> None:
        project.write("app.py", "x = 1\ny = (\n")
        finding = only(project.check(f"{RUFF} ."))
        assert finding.category == "invalid-syntax"
        assert finding.fault is Fault.CANDIDATE
        assert finding.location.file == "app.py"
        assert finding.data == {"fixable": False}

    def test_files_are_named_from_the_root_of_the_sandbox(self, tmp_path: Path) -> None:
        project = Project(tmp_path / "repository", inside="services/app")
        project.write("app.py", "import os\n")
        assert only(project.check(f"{RUFF} .")).location.file == "services/app/app.py"

    @pytest.mark.parametrize(
        "options",
        [
            "--output-format concise .",
            "--output-format=github .",
            "-o report.txt .",
            "-oreport.txt .",
            "-o=report.txt .",
            "--output-file report.txt --output-format=full .",
            "--output-file=report.txt app.py",
            ". --output-format",
            "--quiet .",
            "-- .",
            "-- app.py",
        ],
    )
    def test_the_report_is_had_whatever_format_was_asked_for(
        self, project: Project, options: str
    ) -> None:
        project.write("app.py", "import os\n")
        assert only(project.check(f"{RUFF} {options}")).category == "F401"
        assert not (project.directory / "report.txt").exists()

    def test_a_format_from_the_environment_is_overridden(self, project: Project) -> None:
        project.environment |= {"RUFF_OUTPUT_FORMAT": "concise", "RUFF_OUTPUT_FILE": "report.txt"}
        project.write("app.py", "import os\n")
        assert only(project.check(f"{RUFF} .")).category == "F401"

    @pytest.mark.parametrize(
        "config", ["[lint\n", "no-such-setting = 1\n", '[lint]\nselect = ["NOSUCH"]\n']
    )
    def test_a_broken_configuration_is_the_checks(self, project: Project, config: str) -> None:
        project.write("ruff.toml", config)
        project.write("app.py", "import os\n")
        finding = only(project.check(f"{RUFF} ."))
        assert (finding.category, finding.fault) == ("not_runnable", Fault.CHECK)
        assert "ruff.toml" in (finding.sample or "")

    def test_options_that_ruff_does_not_know_are_the_checks(self, project: Project) -> None:
        finding = only(project.check(f"{RUFF} --no-such-option ."))
        assert finding.fault is Fault.CHECK

    def test_a_missing_file_is_named_in_a_finding(self, project: Project) -> None:
        finding = only(project.check(f"{RUFF} no_such_file.py"))
        assert finding.category == "E902"

    def test_an_old_report_is_not_read_again(self, project: Project) -> None:
        project.write("app.py", "import os\n")
        assert not project.check(f"{RUFF} .").passed
        project.write("ruff.toml", "[lint\n")
        assert only(project.check(f"{RUFF} .")).category == "not_runnable"

    def test_no_cache_is_left_in_the_candidate(self, project: Project) -> None:
        project.write("app.py", "x = 1\n")
        project.check(f"{RUFF} .")
        assert [path.name for path in project.directory.iterdir()] == ["app.py"]

    def test_a_fingerprint_is_the_same_elsewhere(self, tmp_path: Path) -> None:
        here, there = Project(tmp_path / "here"), Project(tmp_path / "over" / "there")
        here.write("app.py", "import os\nprint(undefined)\n")
        there.write("app.py", "# above\n" * 7 + "import os\nprint(undefined)\n")
        fingerprints = [
            {finding.fingerprint for finding in project.check(f"{RUFF} --select F .").findings}
            for project in (here, there)
        ]
        assert fingerprints[0] == fingerprints[1]
        assert len(fingerprints[0]) == 2

    def test_a_run_that_takes_too_long(self, project: Project) -> None:
        ruff = project.write("ruff", "#!/bin/sh\nsleep 600\n")
        ruff.chmod(0o755)
        finding = only(project.check("./ruff check .", timeout=0.2))
        assert (finding.category, finding.fault) == ("timeout", Fault.CANDIDATE)

    def test_an_exit_code_outweighs_an_empty_report(self, project: Project) -> None:
        ruff = project.write(
            "ruff", '#!/bin/sh\nfor last; do :; done\necho [] >"${last#*=}"\nexit 1\n'
        )
        ruff.chmod(0o755)
        finding = only(project.check("./ruff check ."))
        assert (finding.category, finding.message) == ("exit_code", "exited with code 1")


class TestMypy:
    def test_a_clean_project_passes(self, project: Project) -> None:
        project.write("app.py", "x: int = 1\n")
        verdict = project.check(f"{MYPY} .")
        assert verdict.passed
        assert verdict.findings == ()

    def test_each_error_is_a_finding_and_notes_are_none(self, project: Project) -> None:
        project.write(
            "pkg/app.py",
            """
            x: int = "a"
            reveal_type(x)
            def f() -> str:
                return   1
            """,
        )
        verdict = project.check(f"{MYPY} .", name="types")
        assert not verdict.passed
        first, second = verdict.findings
        assert first.source == "types"
        assert first.category == "assignment"
        assert "Incompatible types in assignment" in first.message
        assert first.location == Location(file="pkg/app.py", line=1, column=10)
        assert first.fault is Fault.CANDIDATE
        assert second.category == "return-value"
        assert second.location == Location(file="pkg/app.py", line=4, column=14)

    def test_what_mypy_adds_to_an_error_belongs_to_it(self, project: Project) -> None:
        code = "def f(x: list[float]) -> None: ...\na: list[int] = []\nf(a)\n"
        project.write("app.py", code)
        finding = only(project.check(f"{MYPY} ."))
        assert finding.category == "arg-type"
        assert "invariant" in (finding.sample or "")

    def test_a_syntax_error_is_the_candidates(self, project: Project) -> None:
        project.write("app.py", "x = = 1\n")
        verdict = project.check(f"{MYPY} .")
        assert verdict.exit_code == 2
        assert {f.category for f in verdict.findings} == {"syntax"}
        assert {f.fault for f in verdict.findings} == {Fault.CANDIDATE}
        assert verdict.findings[0].location.file == "app.py"

    def test_files_are_named_from_the_root_of_the_sandbox(self, tmp_path: Path) -> None:
        project = Project(tmp_path / "repository", inside="services/app")
        project.write("app.py", "x: int = 'a'\n")
        assert only(project.check(f"{MYPY} .")).location.file == "services/app/app.py"

    @pytest.mark.parametrize(
        "arguments", ["--no-such-option .", "no_such_file.py", "--config-file=none.ini .", ""]
    )
    def test_a_call_that_cannot_work_is_the_checks(self, project: Project, arguments: str) -> None:
        project.write("app.py", "x: int = 'a'\n")
        finding = only(project.check(f"{MYPY} {arguments}"))
        assert (finding.category, finding.fault) == ("not_runnable", Fault.CHECK)
        assert finding.sample

    def test_a_broken_configuration_is_the_checks(self, project: Project) -> None:
        project.write("mypy.ini", "[mypy]\nplugins = no_such_plugin\n")
        project.write("app.py", "x = 1\n")
        finding = only(project.check(f"{MYPY} ."))
        assert finding.fault is Fault.CHECK

    @pytest.mark.parametrize("options", ["--output json", "-O=json", "-Ojson", "--no-pretty"])
    def test_the_report_is_had_whatever_format_was_asked_for(
        self, project: Project, options: str
    ) -> None:
        project.write("app.py", "x: int = 'a'\n")
        assert only(project.check(f"{MYPY} {options} -- app.py")).category == "assignment"

    def test_no_cache_is_left_in_the_candidate(self, project: Project) -> None:
        project.write("app.py", "x = 1\n")
        project.check(f"{MYPY} --cache-dir .mine .")
        assert [path.name for path in project.directory.iterdir()] == ["app.py"]

    def test_it_is_led_to_where_python_is_led(self, project: Project) -> None:
        project.write("src/lib.py", "def f() -> int: ...\n")
        project.write("tests/it.py", "import lib\nx: str = lib.f()\n")
        project.environment["PYTHONPATH"] = str(project.directory / "src")
        assert only(project.check(f"{MYPY} --strict tests")).category == "assignment"

    def test_a_fingerprint_is_the_same_elsewhere(self, tmp_path: Path) -> None:
        here, there = Project(tmp_path / "here"), Project(tmp_path / "over" / "there")
        here.write("app.py", "x: int = 'a'\n")
        there.write("app.py", "# above\n" * 7 + "x: int = 'a'\n")
        one, other = (only(project.check(f"{MYPY} .")) for project in (here, there))
        assert one.fingerprint == other.fingerprint
        assert one.location.line != other.location.line
