"""Some tests of a check alone, and limits that follow from how long the baseline takes."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from runtrue.checks import CommandCheck
from runtrue.loop import TIMEOUT, Adjustable, Mode, Outcome, Verdict
from tests.checks.runners import NODE_MODULES, environment, require
from tests.checks.support import Project

PASSED, FAILED = Outcome.PASSED, Outcome.FAILED
CHECK = CommandCheck(name="tests", command="python -m pytest -q")
#: Each uses up processor time, so that the limit must be far from it.
BUSY = """
    import time

    def burn(seconds):
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass

    def test_slow():
        burn(0.6)

    def test_quick():
        pass
"""


def run(check: CommandCheck, project: Project) -> Verdict:
    return asyncio.run(check.run(project.workplace))


class TestSelect:
    def test_only_the_selected_tests_are_run_with_all_their_parameters(
        self, project: Project
    ) -> None:
        project.write(
            "test_a.py",
            """
            import pytest

            @pytest.mark.parametrize("value", [1, 2])
            def test_value(value):
                assert value == 1

            class TestOthers:
                def test_value(self):
                    assert False
            """,
        )
        project.write("tests/test_a.py", "def test_value():\n    assert False\n")
        project.write("pytest.ini", "[pytest]\naddopts = --import-mode=importlib\n")
        selected = CHECK.select(["test_a.py::test_value[2]"], project.workplace)
        assert selected is not None
        assert run(selected, project).cases == {
            "test_a.py::test_value[1]": PASSED,
            "test_a.py::test_value[2]": FAILED,
        }
        assert len(run(CHECK, project).cases) == 4

    def test_nothing_passes_where_the_selected_tests_are_gone(self, project: Project) -> None:
        project.write("test_a.py", "def test_a():\n    pass\n")
        selected = CHECK.select(["test_a.py::test_b"], project.workplace)
        assert selected is not None
        verdict = run(selected, project)
        assert (verdict.passed, verdict.cases) == (False, {})

    @pytest.mark.parametrize("command", ["go test ./...", "ruff check .", "sh verify.sh"])
    def test_other_commands_are_run_as_a_whole(self, project: Project, command: str) -> None:
        check = CommandCheck(name="tests", command=command)
        assert check.select(["a"], project.workplace) is None

    @pytest.mark.parametrize(
        ("runner", "command"),
        [
            ("jest", "npx --no-install jest"),
            ("jest", "npm test"),
            ("vitest", "npx --no-install vitest run"),
            ("vitest", "npm test"),
            ("mocha", "npx --no-install mocha suite"),
            ("mocha", "npm test"),
            (None, "node --test suite/one.test.js suite/two.test.js"),
        ],
    )
    def test_runners_of_javascript_pick_tests_by_their_names(
        self, project: Project, runner: str | None, command: str
    ) -> None:
        if runner:
            require(runner)
            (project.root / "node_modules").symlink_to(NODE_MODULES)
        project.environment |= environment()
        script = {"mocha": "mocha suite", "vitest": "vitest run"}.get(runner or "", runner)
        kind = "commonjs" if runner in ("jest", "mocha") else "module"
        package = f'{{"type": "{kind}", "scripts": {{"test": "{script}"}}}}'
        project.write("package.json", package)
        # Names within one another, and names that are patterns.
        names = ("adds (a + b)", "adds (a + b) too", "adds (a + b", "other")
        heads = {None: "node:test", "vitest": "vitest"}
        head = f'import {{ describe, it }} from "{heads[runner]}";' if runner in heads else ""
        tests = "".join(f'it("{name}", () => {{ throw Error("no") }});\n' for name in names)
        for file in ("suite/one.test.js", "suite/two.test.js"):
            project.write(file, f"{head}\ndescribe('of all', () => {{\n{tests}}});\n")
        check = CommandCheck(name="tests", command=command)
        whole = run(check, project)
        assert len(whole.cases) == 8
        wanted = "suite/one.test.js::of all adds (a + b)"
        selected = check.select([wanted], project.workplace)
        assert selected is not None
        assert run(selected, project).cases == {wanted: FAILED}
        gone = check.select(["suite/one.test.js::of all new"], project.workplace)
        assert gone is not None
        assert not run(gone, project).passed

    @pytest.mark.parametrize(
        "command", ["npx jest -t adds", "npx vitest run -t adds", "npx mocha --grep adds"]
    )
    def test_a_command_that_picks_tests_itself_is_run_as_a_whole(
        self, project: Project, command: str
    ) -> None:
        check = CommandCheck(name="tests", command=command)
        assert check.select(["a.js::a"], project.workplace) is None

    def test_a_check_can_be_adjusted(self) -> None:
        assert isinstance(CHECK, Adjustable)


class TestLimits:
    def test_a_healthy_test_that_exceeds_a_limit_nobody_set_gets_more_time(
        self, project: Project
    ) -> None:
        project.write("test_a.py", BUSY)
        check = replace(CHECK, test_seconds=0.3, derived=("test_seconds",))
        baseline = run(check, project)
        assert [f.category for f in baseline.findings] == [TIMEOUT]
        slower = check.with_more_time(baseline)
        assert isinstance(slower, CommandCheck)
        again = run(slower, project)
        assert (again.passed, again.cases) == (True, {"test_a.py::test_slow": PASSED})
        assert 0.5 < again.slowest < 3
        # From then on, the limit is what this test needs, with room to spare.
        limited = check.limited_by(again)
        assert limited.test_seconds == 3 * again.slowest
        assert run(limited, project).passed

    def test_a_test_that_exceeds_that_too_ends_it(self, project: Project) -> None:
        endless = BUSY.replace("0.6", "600").replace("pass\n", "burn(600)\n", 2)
        project.write("test_a.py", endless.replace("burn(600)\n", "pass\n", 1))
        check = replace(CHECK, test_seconds=0.2, derived=("test_seconds",))
        slower = check.with_more_time(run(check, project))
        assert slower is not None
        verdict = run(slower, project)
        assert [f.category for f in verdict.findings] == [TIMEOUT]
        assert len(verdict.cases) == 1

    def test_what_somebody_set_stays(self) -> None:
        slow = Verdict(check="tests", mode=Mode.REQUIRED, passed=True, seconds=500.0, slowest=40.0)
        check = replace(CHECK, timeout=300.0, test_seconds=10.0)
        assert check.limited_by(slow) == check
        assert check.with_more_time(slow) is None
        derived = replace(check, derived=("timeout", "test_seconds"))
        limited = derived.limited_by(slow)
        assert (limited.timeout, limited.test_seconds) == (1500.0, 120.0)
        mine = derived.within(60).limited_by(slow)
        assert (mine.timeout, mine.test_seconds) == (60, 120.0)

    def test_a_quick_baseline_makes_no_limit_shorter(self) -> None:
        quick = Verdict(check="tests", mode=Mode.REQUIRED, passed=True, seconds=1.0, slowest=0.1)
        check = replace(CHECK, test_seconds=10.0, derived=("timeout", "test_seconds"))
        limited = check.limited_by(quick)
        assert (limited.timeout, limited.test_seconds) == (300.0, 10.0)
