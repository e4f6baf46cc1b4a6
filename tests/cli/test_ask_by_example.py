"""Where several edits pass and differ, a person chooses by an input on which they do."""

from __future__ import annotations

import subprocess
import sys

from tests.cli.conftest import Machine, MakeProject
from tests.cli.test_terminal import Terminal

SHIPPING = {
    # Every fix is put to a person.
    "runtrue.toml": """
        [policy]
        confidence_floor = 1.0
        [fixers.search]
        seconds = 60
        candidates = 150
    """,
    "shipping.py": """
        def shipping(total):
            return 0 if total > 50 else 4
    """,
    "test_shipping.py": """
        from shipping import shipping


        def test_small_orders_pay():
            assert shipping(12) == 4


        def test_free_from_fifty():
            assert shipping(50) == 0
    """,
}


def test_another_edit_is_chosen_by_what_it_gives(
    searching: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHIPPING)
    done = searching.runtrue("fix", project, "--apply", "--json")
    assert (done.code, done.json["why"]) == (3, "unsure")
    first, *_ = others = done.json["alternatives"]
    assert [one["number"] for one in others] == list(range(2, len(others) + 2))
    example = first["example"]
    assert example["call"].startswith("shipping(")
    assert example["gives"] != example["instead"]
    assert first["diff"].startswith("--- a/shipping.py")
    assert 0 < first["confidence"] < 1
    shown = searching.runtrue("runs", "show").out
    assert f"{example['call']}: {example['gives']}, and not {example['instead']}" in shown
    assert "--answer NUMBER" in shown
    chosen = searching.runtrue("runs", "resume", "--answer", "2", "--json")
    assert (chosen.code, chosen.json["status"]) == (0, "passed")
    assert (chosen.json["confidence"], chosen.json["applied"]) == (1.0, True)
    # What was chosen does what the example says, and is proposed as a test.
    code = f"from shipping import shipping; print(repr({example['call']}))"
    asked = subprocess.run(
        [sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=True
    )
    assert asked.stdout.strip() == example["gives"]
    assert f"assert {example['call']} == {example['gives']}" in chosen.json["proposed_test"]
    assert "as_a_person_said" not in (project / "test_shipping.py").read_text()


def test_an_answer_that_is_neither_counts_as_none_and_one_is_the_fix_shown(
    searching: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHIPPING)
    done = searching.runtrue("fix", project, "--apply", "--json")
    last = len(done.json["alternatives"]) + 1
    for said in ("maybe", "0", str(last + 1), "-1"):
        refused = searching.runtrue("runs", "resume", f"--answer={said}")
        assert refused.code == 2
        assert f"{said!r} is no answer" in refused.err
        assert f"(2 to {last})" in refused.err
    taken = searching.runtrue("runs", "resume", "--answer", "1", "--json")
    assert (taken.code, taken.json["status"], taken.json["applied"]) == (0, "passed", True)


def test_at_a_terminal_the_number_is_typed(searching: Machine, make_project: MakeProject) -> None:
    project = make_project(SHIPPING)
    terminal = Terminal(searching, "fix", cwd=project)
    terminal.read_until("Apply these changes, or number 2")
    assert "as above" in terminal.screen
    terminal.type("2\n")
    terminal.read_until("Apply these changes? [y/N]")
    terminal.type("y\n")
    assert terminal.end() == 0
    assert "as a test:" in terminal.screen
    assert "total > 50" not in (project / "shipping.py").read_text()
