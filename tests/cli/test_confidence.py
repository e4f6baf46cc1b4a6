"""A wrong fix does not say "passed": confidence, its floor, and the question to a person."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Machine, MakeProject
from tests.cli.test_terminal import Terminal

PRICES = {
    "prices.py": """
        def discounted(price, percent):
            checked = min(percent, 100)
            return price - price * checked
    """,
    "test_prices.py": """
        from prices import discounted


        def test_ten_percent_off():
            assert discounted(200, 10) == 180
    """,
}
RIGHT = "sed -i 's/price [*] checked/price * checked \\/ 100/' prices.py"
#: It passes, and does nothing of what it is for.
WRONG = "printf 'def discounted(price, percent):\\n    return 180\\n' > prices.py"


@pytest.fixture
def project(make_project: MakeProject) -> Path:
    return make_project(PRICES)


def test_a_fix_carries_its_confidence_and_why(machine: Machine, project: Path) -> None:
    done = machine.runtrue("fix", project, "--agent", RIGHT, "--json")
    assert done.code == 0
    assert done.json["status"] == "passed"
    assert done.json["confidence"] == 0.7
    assert "1 failing test turns green" in done.json["confidence_reason"]
    assert done.json["suspicious"] == []
    shown = machine.runtrue("runs", "show", "--json").json
    assert (shown["confidence"], shown["confidence_reason"]) == (
        done.json["confidence"],
        done.json["confidence_reason"],
    )
    assert "confidence 0.70: 1 failing test" in machine.runtrue("runs", "show").out


def test_a_gutted_function_that_passes_waits_for_a_person(machine: Machine, project: Path) -> None:
    done = machine.runtrue("fix", project, "--agent", WRONG, "--apply", "--json")
    assert done.code == 3
    assert (done.json["status"], done.json["why"]) == ("waiting", "unsure")
    assert done.json["confidence"] < 0.5
    assert "`discounted` in prices.py:1 no longer does anything" in done.json["suspicious"]
    assert "return 180" in Path(done.json["patch"]).read_text()
    assert "return 180" in done.json["diff"]
    assert "return 180" not in (project / "prices.py").read_text()
    declined = machine.runtrue("runs", "resume", "--answer", "no", "--json")
    assert declined.code == 1
    assert (declined.json["status"], declined.json["why"]) == ("failed", "declined")
    assert "return 180" not in (project / "prices.py").read_text()


def test_a_yes_makes_it_pass_and_applies_it_if_that_was_asked_for(
    machine: Machine, project: Path
) -> None:
    waiting = machine.runtrue("fix", project, "--agent", WRONG, "--apply")
    assert waiting.code == 3
    assert "suspicious: `discounted`" in waiting.out
    assert "--answer yes" in waiting.out
    agreed = machine.runtrue("runs", "resume", "--answer", "yes")
    assert agreed.code == 0
    assert "passed: every required check passes, and a person accepted the fix" in agreed.out
    assert "return 180" in (project / "prices.py").read_text()


def test_the_floor_is_a_setting(machine: Machine, project: Path) -> None:
    (project / "runtrue.toml").write_text("[policy]\nconfidence_floor = 0.9\n")
    assert machine.runtrue("fix", project, "--agent", RIGHT, "--apply").code == 3
    assert "/ 100" not in (project / "prices.py").read_text()
    (project / "runtrue.toml").write_text("[policy]\nconfidence_floor = 0\n")
    assert machine.runtrue("fix", project, "--agent", WRONG).code == 0


def test_at_a_terminal_the_question_shows_the_confidence(machine: Machine, project: Path) -> None:
    terminal = Terminal(machine, "fix", "--agent", WRONG, cwd=project)
    terminal.read_until("Apply these changes? [y/N]")
    assert "confidence 0.30: suspicious: `discounted`" in terminal.screen
    terminal.type("y\n")
    # One question is enough: what is right may be applied.
    assert terminal.end() == 0
    assert "return 180" in (project / "prices.py").read_text()
