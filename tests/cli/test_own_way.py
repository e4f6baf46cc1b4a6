"""`runtrue fix` runs a project's tests as the project does, in a subprocess, by default."""

from __future__ import annotations

import base64
import hashlib
import venv

import pytest

from tests.cli.conftest import Machine, MakeProject

FIXES_TAX = "sed -i s/1[.]9/1.19/ tax.py"
#: Tests that pass only as tox runs them: with a variable, a marker, and doctests of the module.
BY_TOX = {
    "tox.ini": """
        [testenv]
        set_env =
            SQLITE = 1
        commands =
            coverage run -m pytest --doctest-modules -m "not network" {posargs:tests tax.py}
            coverage report
        [pytest]
        markers = network
    """,
    "tax.py": '''
        def with_tax(net):
            """Add the tax.

            >>> with_tax(100)
            119.0
            """
            return net * 1.9
    ''',
    "tests/test_tax.py": """
        import os

        import pytest

        from tax import with_tax


        def test_the_database():
            assert os.environ["SQLITE"] == "1"
            assert with_tax(0) == 0


        @pytest.mark.network
        def test_the_network():
            raise AssertionError
    """,
}
TEST = """
    from {module} import with_tax


    def test_with_tax():
        assert with_tax(100) == {expected}
"""
PACKAGES = {
    "packages/a/pyproject.toml": "",
    "packages/a/right.py": "def with_tax(net):\n    return net * 2\n",
    "packages/a/tests/test_right.py": TEST.format(module="right", expected=200),
    "packages/b/pyproject.toml": "",
    "packages/b/tax.py": "def with_tax(net):\n    return net * 1.9\n",
    # The same name as in the other package, which one run of pytest would not take.
    "packages/b/tests/test_right.py": TEST.format(module="tax", expected=119),
}


def test_tests_are_run_as_tox_runs_them(machine: Machine, make_project: MakeProject) -> None:
    project = make_project(BY_TOX)
    done = machine.runtrue("fix", "--json", "--agent", FIXES_TAX, cwd=project)
    assert done.code == 0, done.said
    first, last = done.json["attempts"]
    symbols = [finding["location"]["symbol"] for finding in first["findings"]]
    assert symbols == ["tax.py::tax.with_tax"]
    assert last["findings"] == []


def test_each_package_of_a_repository_is_checked_in_its_directory(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(PACKAGES)
    agent = "sed -i s/1.9/1.19/ packages/b/tax.py"
    done = machine.runtrue("fix", "--json", "--agent", agent, cwd=project)
    assert done.code == 0, done.said
    verdicts = {one["check"]: one["passed"] for one in done.json["attempts"][0]["verdicts"]}
    assert verdicts == {"pytest-packages-a": True, "pytest-packages-b": False}
    assert "packages/b/tax.py" in done.json["diff"]


def test_one_package_is_checked_by_its_name(machine: Machine, make_project: MakeProject) -> None:
    project = make_project(PACKAGES)
    done = machine.runtrue("fix", "--json", "--check", "pytest-packages-a", cwd=project)
    assert done.code == 0, done.said


def test_doctor_has_a_line_for_each_check(machine: Machine, make_project: MakeProject) -> None:
    lines = machine.runtrue("doctor", cwd=make_project(PACKAGES)).out.splitlines()
    for name in ("a", "b"):
        why = f"packages/{name}/tests/test_right.py"
        line = f"pytest-packages-{name}: cd packages/{name} && python -m pytest -q ({why})"
        assert f"{'':16}{line}" in lines


def test_doctor_says_what_was_found_and_why(machine: Machine, make_project: MakeProject) -> None:
    done = machine.runtrue("doctor", cwd=make_project(BY_TOX))
    command = "SQLITE=1 python -m pytest -q --doctest-modules -m 'not network' tests tax.py"
    assert f"pytest: {command} (tox.ini:5 [testenv])" in done.out


def test_a_package_has_the_configuration_of_its_repository(
    machine: Machine, make_project: MakeProject
) -> None:
    checks = "[checks.{0}]\ncommand = 'python -m pytest -q'\ndirectory = 'packages/{0}'\n"
    project = make_project({**PACKAGES, "runtrue.toml": checks.format("a") + checks.format("b")})
    done = machine.runtrue("fix", "--json", cwd=project / "packages" / "a")
    assert done.code == 0, done.said
    assert [one["check"] for one in done.json["attempts"][0]["verdicts"]] == ["a"]
    # A check of the whole repository runs at its top, from wherever it is asked for.
    (project / "runtrue.toml").write_text("[checks.all]\ncommand = 'test -f runtrue.toml'\n")
    done = machine.runtrue("fix", "--json", cwd=project / "packages" / "b")
    assert done.code == 0, done.said


def test_a_tool_fixes_in_the_directory_of_its_check(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(
        {
            "packages/b/data.txt": "wrong\n",
            "packages/b/look.sh": "grep -q right data.txt\n",
            "packages/b/repair.sh": "sed -i s/wrong/right/ data.txt\n",
            "runtrue.toml": """
                [checks.data]
                command = "sh look.sh"
                fix = "sh repair.sh"
                directory = "packages/b"
            """,
        }
    )
    done = machine.runtrue("fix", "--json", cwd=project)
    assert done.code == 0, done.said
    assert "+right" in done.json["diff"]


def test_unittest_that_finds_no_test_proves_nothing(
    machine: Machine, make_project: MakeProject
) -> None:
    tox = "[testenv]\ncommands = python -m unittest discover -s tests\n"
    project = make_project({"tox.ini": tox, "shop.py": "", "tests/__init__.py": ""})
    done = machine.runtrue("fix", "--json", "--check", "python -m unittest", cwd=project)
    assert done.code == 1, done.said
    (finding,) = done.json["findings"]
    assert finding["category"] == "nothing_collected"


@pytest.mark.parametrize(
    ("marker", "hashed", "place"),
    [
        ("pyproject.toml", "{}", ".cache/pypoetry/virtualenvs/shop-{}-py3.11"),
        ("Pipfile", "{}/Pipfile", ".local/share/virtualenvs/project-{}"),
    ],
    ids=["poetry", "pipenv"],
)
def test_the_environment_that_a_tool_keeps_in_the_home_directory_is_used(
    marker: str, hashed: str, place: str, machine: Machine, make_project: MakeProject
) -> None:
    test = """
        import unittest

        from tax import with_tax


        class TaxTest(unittest.TestCase):
            def test_with_tax(self):
                self.assertEqual(with_tax(100), 119)
    """
    tax = "import installed_rates\n\n\ndef with_tax(net):\n    return net * 1.9\n"
    project = make_project({marker: "", "tax.py": tax, "test_tax.py": test})
    digest = hashlib.sha256(hashed.format(project.resolve()).encode()).digest()[:6]
    kept = machine.home / place.format(base64.urlsafe_b64encode(digest).decode())
    venv.create(kept, symlinks=True)
    [packages] = kept.glob("lib/python*/site-packages")
    (packages / "installed_rates.py").touch()
    own = {"RUNTRUE_ISOLATION_WRITE": ""}
    done = machine.runtrue(
        "fix", project, "--agent", FIXES_TAX, "--apply", "--json", fork=False, env=own
    )
    assert done.code == 0, done.out
    assert done.json["attempts"][0]["verdicts"][0]["cases"] == {"failed": 1}
    assert "1.19" in (project / "tax.py").read_text()
