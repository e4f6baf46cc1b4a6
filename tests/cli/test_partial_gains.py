"""What was fixed without breaking anything is offered, though something still fails."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Machine, MakeProject, content

SHAPES = {
    "shapes.py": """
        def area(a, b):
            return a + b


        def edge(a, b):
            return 2 * a + b


        def corners(kind):
            return 3
    """,
    "test_shapes.py": """
        from shapes import area, corners, edge


        def test_area():
            assert area(2, 3) == 6


        def test_edge():
            assert edge(2, 3) == 10


        def test_corners():
            assert corners("square") == 4


        def test_triangle():
            assert corners("triangle") == 3
    """,
}
#: Fixes two of three tests, and then only makes things worse.
TWO_OF_THREE = (
    "grep -q 'a + b' shapes.py && sed -i 's/return a + b/return a * b/; s/2 [*] a + b/2 * (a + b)/'"
    " shapes.py || sed -i 's/a [*] b/a/; s/return 3/return 9/' shapes.py"
)


@pytest.fixture
def project(make_project: MakeProject) -> Path:
    return make_project(SHAPES)


def test_two_of_three_fixed_tests_are_offered_and_can_be_taken(
    machine: Machine, project: Path
) -> None:
    before = content(project)
    (project / "runtrue.toml").write_text("[policy]\nabort_on_regression = false\n")
    done = machine.runtrue("fix", project, "--agent", TWO_OF_THREE, "--json")
    assert done.code == 1
    assert done.json["status"] == "failed"
    assert done.json["gained"] == ["test_shapes.py::test_area", "test_shapes.py::test_edge"]
    assert [f["location"]["symbol"] for f in done.json["findings"]] == [
        "test_shapes.py::test_corners"
    ]
    assert "return a * b" in done.json["diff"]
    assert "return 9" not in done.json["diff"]
    assert content(project)["shapes.py"] == before["shapes.py"]
    run_id = done.json["run_id"]
    shown = machine.runtrue("runs", "show")
    assert "2 of 3 failing tests fixed, nothing broken" in shown.out
    assert f"runtrue runs apply {run_id}" in shown.out
    assert "+    return a * b" in machine.runtrue("runs", "diff").out
    taken = machine.runtrue("runs", "apply", run_id)
    assert taken.code == 0
    assert "return a * b" in (project / "shapes.py").read_text()
    assert not (machine.home / ".runtrue" / "sandboxes" / f"{run_id}-apply").exists()


def test_a_test_file_that_cannot_be_imported_does_not_hide_the_others(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(
        {
            "shapes.py": "def area(a, b):\n    return a + b\n",
            "test_area.py": """
                from shapes import area


                def test_area():
                    assert area(2, 3) == 6
            """,
            "test_old.py": "import no_such_package\n\n\ndef test_old():\n    pass\n",
        }
    )
    right = "sed -i 's/a + b/a * b/' shapes.py"
    done = machine.runtrue("fix", project, "--agent", right, "--json")
    assert done.code == 1
    assert done.json["gained"] == ["test_area.py::test_area"]
    assert [f["location"]["file"] for f in done.json["findings"]] == ["test_old.py"]
    assert machine.runtrue("runs", "apply", done.json["run_id"]).code == 0
    assert "return a * b" in (project / "shapes.py").read_text()


def test_another_wrong_number_is_no_gain(machine: Machine, project: Path) -> None:
    wrong = "sed -i 's/return 3$/return 5/; s/return 5$/return 7/' shapes.py"
    (project / "test_shapes.py").write_text(
        "from shapes import corners\n\n\ndef test_corners():\n    assert corners('') == 4\n"
    )
    done = machine.runtrue("fix", project, "--agent", wrong, "--json")
    assert done.code == 1
    assert (done.json["gained"], done.json["diff"]) == ([], "")
    assert machine.runtrue("runs", "apply").code == 2


def test_a_diff_is_refused_where_the_files_have_moved_on(machine: Machine, project: Path) -> None:
    fixes = "sed -i 's/return a + b/return a * b/; s/2 [*] a + b/2 * (a + b)/' shapes.py"
    done = machine.runtrue("fix", project, "--agent", fixes, "--json")
    assert done.json["gained"]
    with (project / "shapes.py").open("a") as file:
        file.write("\n\nMORE = 1\n")
    before = content(project)
    refused = machine.runtrue("runs", "apply")
    assert refused.code != 0
    assert "not applied" in refused.err
    assert content(project) == before


def test_the_diff_of_a_run_that_passed_can_be_applied_later(
    machine: Machine, project: Path
) -> None:
    (project / "test_shapes.py").write_text(
        "from shapes import area\n\n\ndef test_area():\n    assert area(2, 3) == 6\n"
    )
    done = machine.runtrue("fix", project, "--agent", "sed -i 's/n a + b/n a * b/' shapes.py")
    assert done.code == 0
    assert machine.runtrue("runs", "show", "--json").json["applied"] is False
    assert machine.runtrue("runs", "apply").code == 0
    assert "return a * b" in (project / "shapes.py").read_text()
    assert machine.runtrue("runs", "show", "--json").json["applied"] is True
    again = machine.runtrue("runs", "apply")
    assert again.code == 2
    assert "is already applied" in again.err
    # Taken back by hand, it can be applied once more.
    subprocess.run(["git", "checkout", "-q", "shapes.py"], cwd=project, check=True)
    assert machine.runtrue("runs", "apply").code == 0
    assert "return a * b" in (project / "shapes.py").read_text()


def test_a_run_that_asks_whether_it_is_right_is_applied_by_a_yes(
    machine: Machine, project: Path
) -> None:
    gutted = "printf 'def area(a, b):\\n    return 6\\n' > shapes.py"
    (project / "test_shapes.py").write_text(
        "from shapes import area\n\n\ndef test_area():\n    assert area(2, 3) == 6\n"
    )
    assert machine.runtrue("fix", project, "--agent", gutted).code == 3
    assert machine.runtrue("runs", "apply").code == 0
    assert "return 6" in (project / "shapes.py").read_text()
    assert machine.runtrue("runs", "show", "--json").json["status"] == "passed"


def test_a_run_without_a_diff_says_so(machine: Machine, project: Path) -> None:
    subprocess.run(["git", "rm", "-q", "shapes.py"], cwd=project, check=True)
    (project / "test_shapes.py").write_text("def test_it():\n    pass\n")
    assert machine.runtrue("fix", project).code == 0
    for command in ("diff", "apply"):
        done = machine.runtrue("runs", command)
        assert done.code == 2
        assert "has no diff" in done.err
