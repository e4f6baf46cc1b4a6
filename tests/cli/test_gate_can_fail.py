"""The gate `tests_can_fail`: new tests that notice no edit of the changed lines are reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtrue.checks import CommandCheck
from runtrue.code.can_fail import narrowed_to
from runtrue.loop import Workplace
from tests.cli.conftest import Machine, MakeProject, write
from tests.cli.test_gate import READY, SHOP

#: Time enough on any machine.
PATIENT = "[gate]\ntests_can_fail_seconds = 600\n"
DISCOUNT = {
    "discount.py": """
        def discount(price, percent=10):
            if price < 0:
                raise ValueError("a price is not negative")
            if price > 100:
                return price - price * percent / 100
            return price
    """,
    "tests/test_discount.py": """
        import pytest
        from discount import discount


        def test_idle():
            assert discount(200) is not None
            assert discount(150) == discount(150)


        def test_large():
            assert discount(200) == 180


        def test_small():
            assert discount(10) == 10


        def test_negative():
            with pytest.raises(ValueError):
                discount(-1)
    """,
}


def test_a_test_that_notices_no_edit_is_refused_where_that_is_required(
    machine: Machine, make_project: MakeProject
) -> None:
    config = f'{PATIENT}tests_can_fail = "required"\n'
    project = make_project({**SHOP, "runtrue.toml": config})
    write(project, DISCOUNT)
    done = machine.runtrue("gate", cwd=project)
    assert done.code == 2, done.err
    # Those that assert what the code returns or raises are not blamed.
    assert done.err.startswith("runtrue gate: not ready: 1 finding.")
    head = "1. tests/test_discount.py: tests_cannot_fail (tests_can_fail) "
    assert f"{head}[tests/test_discount.py::test_idle]\n" in done.err
    assert "in discount.py:5" in done.err
    assert "to do: make the test assert what the code returns" in done.err


def test_it_is_reported_by_default_and_holds_nobody_back(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({**SHOP, "runtrue.toml": PATIENT})
    write(project, DISCOUNT)
    done = machine.runtrue("gate", cwd=project)
    assert done.code == 0, done.err
    assert "tests_can_fail fails (informational) (3 of 4 new or changed tests notice" in done.err
    (note,) = [line for line in done.err.splitlines() if line.startswith("  note: ")]
    assert "tests/test_discount.py::test_idle passes although edits change what it calls" in note


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ('[gate]\ntests_can_fail = "off"\n', None),
        (
            '[checks.tests]\ncommand = "python -m unittest discover -s tests -t ."\n',
            "not known: only pytest tests are tried",
        ),
    ],
    ids=["off", "unittest"],
)
def test_it_can_be_switched_off_and_says_where_nothing_is_known(
    config: str, said: str | None, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({**SHOP, "tests/__init__.py": "", "runtrue.toml": config})
    tests = """
        import unittest

        from shop import discount


        class DiscountTest(unittest.TestCase):
            def test_discount(self):
                self.assertEqual(discount(200), 180)
                self.assertEqual(discount(10), 10)
    """
    write(project, {**READY, "tests/test_discount.py": tests})
    report = machine.runtrue("gate", "--json", cwd=project).json
    told = {verdict["check"]: verdict for verdict in report["attempts"][0]["verdicts"]}
    assert ("tests_can_fail" in told) is (said is not None)
    if said:
        assert told["tests_can_fail"]["passed"] is True
        assert told["tests_can_fail"]["output"].startswith(said)


@pytest.mark.parametrize(
    ("command", "narrowed"),
    [
        ("pytest", "pytest tests/test_a.py::test_one"),
        ("python -m pytest -q tests", "python -m pytest -q tests/test_a.py::test_one"),
        ("pytest -c tests -k one tests", "pytest -c tests -k one tests/test_a.py::test_one"),
        ("pytest tests | tee log", None),
        ("make test", None),
    ],
)
def test_a_command_of_pytest_is_narrowed_to_some_tests(
    command: str, narrowed: str | None, tmp_path: Path
) -> None:
    (tmp_path / "tests").mkdir()
    place = Workplace(root=tmp_path, directory=tmp_path, scratch=tmp_path, environment={})
    check = CommandCheck(name="tests", command=command)
    found = narrowed_to(check, place, ("tests/test_a.py::test_one",))
    assert (found and found.command) == narrowed
