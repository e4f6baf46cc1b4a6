"""Every fix is reduced place by place: what no failing test needs is dropped, or offered so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.cli.conftest import Machine, MakeProject

TAX = {
    "tax.py": """
        RATE = 19


        def with_tax(net):
            return net + net * RATE


        def label(net):
            return f"{net} net"
    """,
    "test_tax.py": """
        from tax import label, with_tax


        def test_with_tax():
            assert with_tax(100) == 119


        def test_label():
            assert label(5).startswith("5")
    """,
}
#: Fixes the one, and rewords the other, which nobody asked for.
BOTH = "sed -i 's|net [*] RATE|net * RATE / 100|; s|net} net|net} without tax|' tax.py"


def hunks(report: dict[str, Any]) -> list[tuple[int, str, bool, list[str]]]:
    fix = report["attempts"][-1]["fix"]
    return [(one["line"], one["fixer"], one["needed"], one["tests"]) for one in fix["hunks"]]


def test_an_agents_fix_stays_whole_and_the_smaller_one_is_offered(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(TAX)
    done = machine.runtrue("fix", project, "--agent", BOTH, "--json")
    assert done.code == 0
    assert hunks(done.json) == [
        (5, "agent", True, ["test_tax.py::test_with_tax"]),
        (9, "agent", False, []),
    ]
    assert "without tax" in done.json["diff"]
    assert "without tax" not in done.json["reduced"]
    assert "RATE / 100" in Path(done.json["reduced_patch"]).read_text()
    shown = machine.runtrue("runs", "show").out
    assert "1 place that no failing test needs: tax.py:9" in shown
    assert done.json["reduced_patch"] in shown


def test_a_fix_from_memory_is_made_without_what_no_test_needs(
    machine: Machine, make_project: MakeProject
) -> None:
    first = make_project(TAX)
    assert machine.runtrue("fix", first, "--agent", BOTH, "--apply").code == 0
    second = make_project(TAX, name="second")
    done = machine.runtrue("fix", second, "--json", "--apply")
    assert done.code == 0
    assert {fixer for _, fixer, _, _ in hunks(done.json)} == {"memory"}
    assert "RATE / 100" in (second / "tax.py").read_text()
    assert "without tax" not in (second / "tax.py").read_text()
    assert done.json["reduced"] is None
    assert "dropped 1 place that no failing test needs" in machine.runtrue("runs", "show").out


def test_a_fix_of_which_all_is_needed_is_not_reduced(
    machine: Machine, make_project: MakeProject
) -> None:
    tests = TAX["test_tax.py"].replace('startswith("5")', 'endswith("without tax")')
    project = make_project({**TAX, "test_tax.py": tests})
    done = machine.runtrue("fix", project, "--agent", BOTH, "--json")
    assert done.code == 0
    assert [needed for _, _, needed, _ in hunks(done.json)] == [True, True]
    assert done.json["reduced"] is None
