"""`runtrue fix`: the right fix is accepted, and one that makes tests vanish never is."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Machine, MakeProject, content

SHOP = """
    class Item:
        def __init__(self, price):
            self.price = price

    def total(items):
        return sum(item.price for item in items) + 1
"""
TESTS = """
    import pytest
    from shop import Item, total

    @pytest.mark.parametrize("count", range(3))
    def test_counts(count):
        assert len([Item(1)] * count) == count

    def test_total():
        assert total([Item(2), Item(3)]) == 5
"""
#: Beside the module that cannot be imported, one that can: pytest collects it, and runs nothing.
PROJECT = {"shop.py": SHOP, "test_shop.py": TESTS, "test_z.py": "def test_z():\n    pass\n"}
FIX = "sed -i 's/ + 1$//' shop.py"


def test_tests_with_an_address_or_the_time_in_their_names_are_known_again(
    machine: Machine, make_project: MakeProject
) -> None:
    tests = """
        import datetime, time, uuid
        import pytest
        from shop import Item, total

        @pytest.mark.parametrize("item", [Item(1), Item(2)], ids=repr)
        def test_item(item):
            assert item.price

        @pytest.mark.parametrize("when", [datetime.datetime.now(), time.time()], ids=str)
        def test_when(when):
            assert when

        @pytest.mark.parametrize("key", [uuid.uuid4().hex, "/tmp/" + uuid.uuid4().hex[:9]])
        def test_key(key):
            assert key

        def test_total():
            assert total([Item(2), Item(3)]) == 5
    """
    project = make_project({"shop.py": SHOP, "test_shop.py": tests})
    broken = f"{FIX}; sed -i 's/self.price = price/self.price = price - 1/' shop.py"
    done = machine.runtrue("fix", "--json", "--agent", broken, cwd=project)
    assert done.json["status"] == "aborted", done.said
    assert any("test_item[<shop.Item object at" in name for name in done.json["regressions"])
    done = machine.runtrue("fix", "--json", "--agent", FIX, cwd=project)
    assert done.json["status"] == "passed", done.said


COUNTS = [f"test_shop.py::test_counts[{count}]" for count in range(3)]
TOTAL = "test_shop.py::test_total"
#: What an agent does, and the tests that vanish of it.
VANISHING = {
    # What test_z.py has runs all the same: it does not import the module.
    "emptied module": (": > shop.py", [*COUNTS, TOTAL]),
    "exit at import": ("sed -i '1i import sys; sys.exit(0)' shop.py", [*COUNTS, TOTAL]),
    "skip at import": (
        "sed -i '1i import pytest; pytest.skip(\"later\", allow_module_level=True)' shop.py",
        [*COUNTS, TOTAL],
    ),
    "skip in the function": (
        "sed -i 's/    return sum.*/    import pytest; pytest.skip()/' shop.py",
        [TOTAL],
    ),
    "skip beside a failure": (
        "sed -i '3s/= price/= price if price > 1 else __import__(\"pytest\").skip()/' shop.py",
        COUNTS,
    ),
}
#: What an agent does, and the judge that it edits.
JUDGES = {
    "deselected": ("printf '[pytest]\naddopts = -k counts\n' > pytest.ini", "pytest.ini"),
    "conftest": ("printf 'collect_ignore = [\"test_shop.py\"]\n' > conftest.py", "conftest.py"),
    "skip mark": (
        "sed -i 's/^def test_total/@pytest.mark.skip\\ndef test_total/' test_shop.py",
        "test_shop.py",
    ),
    "deleted test": ("rm test_shop.py", "test_shop.py"),
}


def test_a_gutted_function_is_refused(machine: Machine, make_project: MakeProject) -> None:
    agent = "printf 'class Item: pass\n\ndef total(items): return 5\n' > shop.py"
    report = refused(machine, make_project(PROJECT), agent)
    assert (report["status"], report["regressions"]) == ("aborted", COUNTS)


@pytest.mark.parametrize(("agent", "vanished"), VANISHING.values(), ids=list(VANISHING))
def test_a_candidate_that_makes_tests_vanish_is_refused(
    machine: Machine, make_project: MakeProject, agent: str, vanished: list[str]
) -> None:
    report = refused(machine, make_project(PROJECT), agent)
    assert (report["status"], report["why"]) == ("aborted", "regression")
    assert report["vanished"] == report["regressions"] == vanished
    shown = machine.runtrue("runs", "show").out
    assert f"{vanished[-1]}\n" in shown


@pytest.mark.parametrize(("agent", "judge"), JUDGES.values(), ids=list(JUDGES))
def test_an_agent_that_edits_only_judges_is_refused_and_the_reason_said(
    machine: Machine, make_project: MakeProject, agent: str, judge: str
) -> None:
    report = refused(machine, make_project(PROJECT), agent)
    assert (report["status"], report["restored"]) == ("failed", [judge])
    shown = machine.runtrue("runs", "show").out
    assert "failed: the fixer changed only tests and check settings, which judge the fix" in shown
    assert f"undone: edits to {judge}" in shown


def refused(machine: Machine, project: Path, agent: str) -> dict[str, Any]:
    """Run an agent's fix, which must not be accepted."""
    before = content(project)
    command = f"sh -c {shlex.quote(agent)}"
    done = machine.runtrue("fix", "--json", "--apply", "--agent", command, cwd=project)
    assert done.code == 1, done.said
    assert content(project) == before
    return done.json


def test_findings_and_memory_hold_no_colours(machine: Machine, make_project: MakeProject) -> None:
    project = make_project(
        {
            "shop.py": SHOP,
            "test_shop.py": """
                from shop import Item, total

                def test_total():
                    assert {"total": total([Item(2)])} == {"total": 2}
            """,
            "pytest.ini": "[pytest]\naddopts = --color=yes -vv\n",
        }
    )
    done = machine.runtrue("fix", "--json", cwd=project)
    assert "\\u001b" not in done.out
    assert "\x1b" not in done.said
    assert b"[31m" not in (machine.home / ".runtrue" / "memory.db").read_bytes()


def test_unittest_is_read_so_that_a_skip_in_the_program_is_refused(
    machine: Machine, make_project: MakeProject
) -> None:
    tests = """
        import unittest
        from shop import Item, total

        class TotalTest(unittest.TestCase):
            def test_price(self):
                self.assertEqual(Item(2).price, 2)

            def test_total(self):
                self.assertEqual(total([Item(2), Item(3)]), 5)
    """
    project = make_project({"shop.py": SHOP, "test_shop.py": tests})
    check = ("--check", "python -m unittest")
    skips = "sed -i 's/    return sum.*/    import unittest; raise unittest.SkipTest/' shop.py"
    done = machine.runtrue("fix", "--json", *check, "--agent", skips, cwd=project)
    assert done.json["vanished"] == ["test_shop.TotalTest.test_total"], done.said
    done = machine.runtrue("fix", "--json", *check, "--agent", FIX, cwd=project)
    assert done.json["status"] == "passed", done.said
    (finding,) = done.json["attempts"][0]["findings"]
    assert (finding["message"], finding["location"]["line"]) == ("6 != 5", 9)


def test_a_test_without_assertions_that_failed_may_pass(
    machine: Machine, make_project: MakeProject
) -> None:
    # As tape reports it: what did not end fails, and what ends without an assertion says nothing.
    files = {
        "queue.py": "def drained():\n    return False\n",
        "test.py": """
            from queue import drained

            print("TAP version 13\\n# adds\\nok 1 is\\n# drains")
            print("# ends" if drained() else "not ok 2 test exited without ending: drains\\n# ends")
            print("ok 3 is\\n1..2" if drained() else "ok 3 is\\n1..3")
            raise SystemExit(not drained())
        """,
    }
    project = make_project(files)
    agent = "sed -i 's/False/True/' queue.py"
    done = machine.runtrue(
        "fix", project, "--check", "python test.py", "--agent", agent, "--apply", "--json"
    )
    assert done.code == 0, done.out
    assert "True" in (project / "queue.py").read_text()
