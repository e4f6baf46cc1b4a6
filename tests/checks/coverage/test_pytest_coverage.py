"""Under pytest the plugin measures, in whatever Python and however pytest is called."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from runtrue.checks import CaseInfo, load_cases, load_measured
from tests.checks.support import Project

TOTAL = """
    RATE = 1


    def total(prices):
        # Nothing is free.
        if not prices:
            return 0
        return sum(prices) * RATE


    def debug():  # pragma: no cover
        return "never"
"""
TEST = """
    from shop.total import total


    def test_adds():
        assert total([1, 2]) == 3


    def test_adds_more():
        assert total([1, 2, 3]) == 6
"""
#: What the tests above run of it; the other file is imported by nobody.
LINES = {"shop/total.py": ([1, 4, 6, 8], [7]), "shop/unused.py": ([], [1])}


@pytest.fixture
def shop(project: Project) -> Project:
    project.write("shop/total.py", TOTAL)
    project.write("shop/unused.py", "X = 1\n")
    project.write("tests/test_total.py", TEST)
    project.write("tests/helper.py", "Y = 1\n")
    project.write("conftest.py", "import shop.total\n")
    project.write("pytest.ini", "[pytest]\npythonpath = .\nfilterwarnings = error\n")
    for installed in (".venv/lib/it.py", "web/node_modules/it.py"):
        project.write(installed, "Z = 1\n")
    return project


def lend_it_to_another_python(project: Project) -> str:
    """A Python that has pytest and no coverage.py: this one, as if that were not installed."""
    place = project.scratch / "lacking"
    place.mkdir()
    for installed in Path(pytest.__file__).parents[1].iterdir():
        if not installed.name.startswith("coverage"):
            (place / installed.name).symlink_to(installed)
    project.environment["PYTHONPATH"] = str(place)
    return f"{sys.executable} -S -m pytest"


class TestLines:
    @pytest.mark.parametrize(
        "command",
        [
            "pytest",
            "python -m pytest -q",
            "cd tests && pytest",
            "pytest -p xdist -n 2",
            "pytest -x",
        ],
    )
    def test_however_it_is_called(self, shop: Project, command: str) -> None:
        verdict = shop.check(command, cover=True)
        assert verdict.passed, verdict.findings
        assert shop.lines() == LINES
        assert verdict.coverage == {"shop/total.py": (4, 5), "shop/unused.py": (0, 1)}

    def test_of_tests_that_fail_too(self, shop: Project) -> None:
        shop.write("tests/test_total.py", TEST.replace("== 6", "== 7"))
        verdict = shop.check("pytest", cover=True)
        assert not verdict.passed
        assert shop.lines() == LINES

    def test_without_the_compiled_tracer(self, shop: Project) -> None:
        assert shop.check("pytest", cover=True, env={"COVERAGE_CORE": "pytrace"}).passed
        assert shop.lines() == LINES

    def test_with_the_copy_that_is_lent(self, shop: Project) -> None:
        command = lend_it_to_another_python(shop)
        shop.write(
            "tests/test_lent.py",
            """
            import importlib.util
            import sys


            def test_the_project_has_none():
                spec = importlib.machinery.PathFinder.find_spec("coverage", sys.path)
                assert spec is None or spec.origin is None
            """,
        )
        # A directory that reports lie in is no package to be imported.
        shop.write("coverage/lcov.info", "")
        verdict = shop.check(command, cover=True)
        assert verdict.passed, verdict.findings
        assert shop.lines() == LINES

    def test_in_a_project_that_lies_below_the_root(self, tmp_path: Path) -> None:
        project = Project(tmp_path / "many", inside="parts/shop")
        project.write("total.py", "X = 1\n")
        project.write("test_it.py", "import total\n\n\ndef test_it():\n    assert total.X\n")
        assert project.check("pytest", cover=True).passed
        assert project.lines() == {"parts/shop/total.py": ([1], [])}

    def test_what_the_project_leaves_out_is_left_out(self, shop: Project) -> None:
        shop.write(
            ".coveragerc",
            """
            [run]
            branch = true
            omit = shop/unused.py
            plugins = no_such_plugin
            [report]
            exclude_also = if not prices
            """,
        )
        assert shop.check("pytest", cover=True).passed
        assert shop.lines() == {"shop/total.py": ([1, 4, 8], [])}

    def test_a_test_that_goes_elsewhere_takes_nothing_along(self, shop: Project) -> None:
        shop.write(
            "tests/test_elsewhere.py",
            "import os\n\n\ndef test_it(tmp_path):\n    os.chdir(tmp_path)\n",
        )
        assert shop.check("pytest", cover=True).passed
        assert shop.lines() == LINES

    def test_a_pytest_that_a_test_runs_is_none_of_its_business(self, shop: Project) -> None:
        shop.write(
            "tests/test_inner.py",
            """
            import os
            import subprocess
            import sys


            def test_it(tmp_path):
                (tmp_path / "test_it.py").write_text("def test_it(): pass")
                command = [sys.executable, "-m", "pytest", str(tmp_path)]
                subprocess.run(command, check=True, cwd=tmp_path)
            """,
        )
        verdict = shop.check("pytest", cover=True)
        assert verdict.passed, verdict.findings
        assert len(verdict.cases) == 3
        assert shop.lines() == LINES


class TestBesideOthers:
    def test_coverage_that_runs_pytest_is_asked(self, shop: Project) -> None:
        verdict = shop.check("coverage run --source=shop -m pytest && coverage report", cover=True)
        assert verdict.passed, verdict.findings
        assert shop.lines() == LINES
        assert "TOTAL" in verdict.output

    @pytest.mark.parametrize("workers", ["", " -p xdist -n 2"])
    def test_pytest_cov_writes_the_report_too(self, shop: Project, workers: str) -> None:
        pytest.importorskip("pytest_cov", reason="pytest-cov is not installed beside pytest")
        shop.write("pytest.ini", "[pytest]\npythonpath = .\naddopts = --cov=shop\n")
        verdict = shop.check(f"pytest -p pytest_cov{workers}", cover=True)
        assert verdict.passed, verdict.findings
        assert shop.lines()["shop/total.py"] == LINES["shop/total.py"]
        assert "TOTAL" in verdict.output


class TestWhyNot:
    def test_a_run_that_never_ended(self, shop: Project) -> None:
        shop.write("tests/test_total.py", "import os\n\n\ndef test_it():\n    os._exit(3)\n")
        assert shop.check("pytest", cover=True).coverage is None
        assert shop.measured().why_not == (
            "pytest did not finish, and so left no coverage: see its findings"
        )

    def test_a_module_of_the_projects_that_is_called_coverage(self, shop: Project) -> None:
        shop.write("coverage.py", "X = 1\n")
        verdict = shop.check("python -m pytest", cover=True)
        assert verdict.passed, verdict.findings
        why_not = shop.measured().why_not or ""
        assert why_not.startswith("coverage.py cannot be used here (AttributeError: ")
        assert why_not.endswith("): install it beside pytest")

    def test_what_was_measured_before_is_not_believed(self, shop: Project) -> None:
        assert shop.check("pytest", cover=True).coverage
        assert shop.check("no-such-program", cover=True).coverage is None
        assert shop.measured().why_not == "the command could not be run: see its finding"
        assert load_cases(shop.scratch, "tests") == {}


def test_nothing_is_measured_unasked(shop: Project) -> None:
    verdict = shop.check("pytest")
    assert verdict.passed
    assert verdict.coverage is None
    assert {file.name for file in shop.scratch.iterdir()} <= {"pytest.jsonl"}
    assert load_measured(shop.scratch, "tests") is None
    assert load_cases(shop.scratch, "tests") == {}


def test_runtrue_itself_does_not_import_coverage() -> None:
    code = "import sys, runtrue.checks; sys.exit('coverage' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env={})


@pytest.mark.parametrize("workers", ["", " -p xdist -n 2"])
def test_cases_tell_where_they_are_and_what_they_are_marked_with(
    project: Project, workers: str
) -> None:
    project.write("pytest.ini", "[pytest]\nmarkers =\n  edge: e\n  happy: h\n  all: a\n")
    project.write(
        "part/test_it.py",
        """
        import pytest

        pytestmark = pytest.mark.all


        def test_plain():
            pass


        @pytest.mark.happy
        class TestIt:
            @pytest.mark.edge
            def test_marked(self):
                assert False
        """,
    )
    project.check(f"cd part && pytest{workers}", cover=True)
    file = "part/test_it.py"
    assert load_cases(project.scratch, "tests") == {
        f"{file}::test_plain": CaseInfo(file=file, line=6, markers=("all",)),
        f"{file}::TestIt::test_marked": CaseInfo(
            file=file, line=12, markers=("edge", "happy", "all")
        ),
    }
