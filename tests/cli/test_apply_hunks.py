"""`runtrue runs apply --hunk`: some changes of a fix, proven again before they are applied."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Machine, MakeProject, content

#: Two bugs, far enough apart to be two changes, and a change that both need.
TWO_BUGS = {
    "shop.py": "def total(prices):\n    return sum(prices) + 1\n"
    + "\n\n# …\n" * 6
    + "def first(items):\n    return items[1]\n",
    "test_shop.py": """
        from shop import first, total


        def test_total():
            assert total([1, 2]) == 3


        def test_first():
            assert first([5, 6]) == 5
    """,
}
AGENT = "sed -i -e 's/ + 1//' -e 's/items\\[1\\]/items[0]/' shop.py"


@pytest.fixture
def fixed(machine: Machine, make_project: MakeProject) -> tuple[Path, str]:
    """A project with a fix of two changes that is not applied."""
    project = make_project(TWO_BUGS)
    done = machine.runtrue("fix", project, "--agent", AGENT, "--json")
    assert done.code == 0, done.said
    return project, done.json["run_id"]


def test_one_of_two_changes_is_proven_and_applied(
    machine: Machine, fixed: tuple[Path, str]
) -> None:
    project, run_id = fixed
    done = machine.runtrue("runs", "apply", run_id, "--hunk", "2", "--json")
    # The other test still fails.
    assert done.code == 1, done.said
    assert "proof" in done.json, done.said
    assert done.json["proof"]["gained"] == ["test_shop.py::test_first"]
    assert done.json["proof"]["failing"] == ["test_shop.py::test_total"]
    assert (done.json["applied"], done.json["applied_hunks"]) == (True, [2])
    text = (project / "shop.py").read_text()
    assert "items[0]" in text
    assert "+ 1" in text
    again = machine.runtrue("runs", "apply", run_id, "--hunk", "1")
    assert (again.code, "already applied" in again.err) == (2, True)


def test_all_changes_by_number_pass_everything(machine: Machine, fixed: tuple[Path, str]) -> None:
    project, run_id = fixed
    done = machine.runtrue("runs", "apply", run_id, "--hunk", "1", "--hunk", "2")
    assert done.code == 0, done.said
    assert "fixed: 2 tests; still failing: 0" in done.out
    assert "+ 1" not in (project / "shop.py").read_text()


def test_a_change_that_breaks_something_alone_is_not_applied(
    machine: Machine, make_project: MakeProject
) -> None:
    files = {
        "shop.py": "RATE = 1\n" + "\n# …\n" * 6 + "def total(net):\n    return net * RATE\n",
        "test_shop.py": """
            from shop import RATE, total


            def test_total():
                assert total(10) == 20


            def test_nothing():
                assert total(0) == 0
        """,
    }
    project = make_project(files)
    agent = "sed -i -e 's/RATE = 1/RATES = [2]/; s/net \\* RATE/net * RATES[0]/' shop.py; "
    agent += "sed -i '1a RATE = 1' shop.py"
    done = machine.runtrue("fix", project, "--agent", agent, "--json")
    assert done.code == 0, done.said
    before = content(project)
    refused = machine.runtrue("runs", "apply", done.json["run_id"], "--hunk", "2", "--json")
    assert refused.code == 1
    assert refused.json["proof"]["refused"].startswith("not applied: these changes alone break")
    assert not refused.json["applied"]
    assert content(project) == before


def test_a_number_that_there_is_not_is_refused(machine: Machine, fixed: tuple[Path, str]) -> None:
    _, run_id = fixed
    refused = machine.runtrue("runs", "apply", run_id, "--hunk", "9")
    assert refused.code == 2
    assert "available: 1 (shop.py:1), 2 (shop.py:" in refused.err


def test_changed_files_are_left_alone(machine: Machine, fixed: tuple[Path, str]) -> None:
    project, run_id = fixed
    (project / "shop.py").write_text("mine = True\n")
    refused = machine.runtrue("runs", "apply", run_id, "--hunk", "1")
    assert refused.code == 1
    assert "changed since the run" in refused.err
    assert (project / "shop.py").read_text() == "mine = True\n"
