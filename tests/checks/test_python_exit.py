"""An exit code of 0 is no proof that tests ran: the Python that runs them must come to its end."""

from __future__ import annotations

import pytest

from tests.checks.support import Project, only

UNITTEST = """
    import unittest
    import shop

    class TestShop(unittest.TestCase):
        def test_total(self):
            self.assertEqual(shop.total([1, 2]), 4)
"""
SCRIPT = "import shop\nassert shop.total([1, 2]) == 4\n"
LEAVES = "import os\n\ndef total(prices):\n    os._exit(0)\n"
LEAVES_LAST = "import atexit, os\n\ndef total(prices):\n    atexit.register(os._exit, 0)\n"
IS_REPLACED = "import os\n\ndef total(prices):\n    os.execvp('true', ['true'])\n"
EXITS_ON_IMPORT = "import sys\nsys.exit(0)\n"


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("python -m unittest -q", LEAVES),
        ("python -W error -m unittest -q", LEAVES),
        ("cd . && python -m unittest", LEAVES),
        ("python -m unittest", LEAVES_LAST),
        ("python -m unittest", IS_REPLACED),
        ("python -m unittest test_shop", EXITS_ON_IMPORT),
        ("python -Wdefault -m nose2", LEAVES),
        ("python check.py", LEAVES),
        ("python check.py", LEAVES_LAST),
    ],
)
def test_tests_that_do_not_come_to_their_end_do_not_pass(
    project: Project, command: str, program: str
) -> None:
    project.write("shop.py", program)
    project.write("test_shop.py", UNITTEST)
    project.write("check.py", SCRIPT)
    project.write("nose2.py", "import unittest\nunittest.main('test_shop')\n")
    verdict = project.check(command)
    assert (verdict.exit_code, verdict.passed) == (0, False)
    # Tests that had failed until then have findings of their own.
    finding = verdict.findings[0]
    assert (finding.category, finding.message) == (
        "died",
        "the process exited with code 0 before the tests finished",
    )


@pytest.mark.parametrize("command", ["python -m unittest", "python -m unittest discover -p 'x*'"])
def test_unittest_without_a_single_test_proves_nothing(project: Project, command: str) -> None:
    project.write("shop.py", "def total(prices):\n    return 4\n")
    project.write("check_shop.py", UNITTEST)
    finding = only(project.check(command))
    assert (finding.category, finding.fault) == ("nothing_collected", "check")
    assert finding.message == "unittest found no test to run"


def test_a_report_of_the_end_that_is_removed_does_not_pass(project: Project) -> None:
    remove = f"os.remove({str(project.scratch / 'ending.jsonl')!r}); os._exit(0)"
    project.write("shop.py", LEAVES.replace("os._exit(0)", remove))
    project.write("check.py", SCRIPT)
    assert only(project.check("python check.py")).category == "tampered"


@pytest.mark.parametrize(
    "command",
    [
        "python -m unittest -q",
        "python check.py",
        "python -I -m unittest",  # it imports nothing of ours
        "python -c 'import os; os._exit(0)'",
        "python -m shop",  # what a module does that runs no tests is its own business
        "python server.py & server=$!; python -m unittest; kill $server",
    ],
)
def test_what_comes_to_its_end_or_runs_no_tests_is_judged_by_its_exit_code(
    project: Project, command: str
) -> None:
    leave = "if __name__ == '__main__':\n    import os\n    os._exit(0)\n"
    project.write("shop.py", f"def total(prices):\n    return 4\n\n{leave}")
    project.write("test_shop.py", UNITTEST)
    project.write("check.py", SCRIPT)
    project.write("server.py", "import time\ntime.sleep(60)\n")
    verdict = project.check(command)
    assert verdict.passed, verdict


def test_a_program_and_what_it_starts_find_what_they_would_find(project: Project) -> None:
    project.write("own/sitecustomize.py", "import sys\nsys.started_by = 'own'\n")
    project.write(
        "check.py",
        """
        import os, subprocess, sys

        assert sys.started_by == "own"
        assert os.environ["PYTHONPATH"] == "own"
        assert not [name for name in os.environ if name == "RUNTRUE_ENDING"]
        if sys.argv[1:] != ["again"]:
            subprocess.run([sys.executable, "check.py", "again"], check=True)
            subprocess.run([sys.executable, "-c", "import os; os._exit(0)"], check=True)
        """,
    )
    verdict = project.check("python check.py", env={"PYTHONPATH": "own"})
    assert verdict.passed, verdict
    assert verdict.output == ""


def test_unittest_is_read_test_by_test(project: Project) -> None:
    project.write(
        "test_parts.py",
        """
        import unittest

        class Parts(unittest.TestCase):
            def test_passes(self): pass
            def test_fails(self): self.assertEqual(4, 3)
            def test_raises(self): raise KeyError("price")
            @unittest.skip("later")
            def test_later(self): pass
            def test_some(self):
                for number in (1, 2):
                    with self.subTest(number=number):
                        self.assertEqual(number, 1)

        class Unprepared(unittest.TestCase):
            def setUp(self): raise ValueError("no database")
            def test_it(self): pass
        """,
    )
    verdict = project.check("python -m unittest")
    assert verdict.cases == {
        "test_parts.Parts.test_fails": "failed",
        "test_parts.Parts.test_later": "skipped",
        "test_parts.Parts.test_passes": "passed",
        "test_parts.Parts.test_raises": "failed",
        "test_parts.Parts.test_some": "failed",
        "test_parts.Unprepared.test_it": "error",
    }
    assert {finding.location.file for finding in verdict.findings} == {"test_parts.py"}
