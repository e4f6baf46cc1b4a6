"""What failed before a plan's first step: it is known, and neither blocks nor widens bounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Machine, MakeProject

FILES = {
    "handler.py": "def total(net):\n    return net\n",
    "legacy.py": "import json\n\n\ndef old():\n    return 1\n",
    "test_total.py": "from handler import total\n\ndef test_total():\n    assert total(9) == 9.9\n",
    "test_legacy.py": "from legacy import old\n\n\ndef test_old():\n    assert old() == 2\n",
}
TAX = "printf 'def total(net):\\n    return net + net / 10\\n' > handler.py"
TESTS = {"name": "tests", "command": "python -m pytest -q"}


class Shop:
    """A project with an old failing test, and plans on it, with default settings."""

    def __init__(self, root: Path, make_project: MakeProject) -> None:
        self.machine = Machine(root)
        self.project = make_project(FILES)

    def use(self, *steps: str, profile: str = "trusted", **keys: Any) -> dict[str, Any]:
        listed = [{"description": f"do {command[:9]}", "command": command} for command in steps]
        plan = {
            "instruction": "Totals must include tax",
            "strategy": {"steps": listed, "bounds": {"paths": ["handler.py", "notes.txt"]}},
            "validations": [TESTS],
            **keys,
        }
        path = self.project.parent / "plan.json"
        path.write_text(json.dumps(plan))
        self.done = self.machine.runtrue(
            "plan", "new", path, "--profile", profile, "--json", cwd=self.project
        )
        return self.done.json


@pytest.fixture
def shop(tmp_path: Path, make_project: MakeProject) -> Shop:
    return Shop(tmp_path, make_project)


def test_an_old_failing_test_neither_blocks_nor_widens_the_bounds(shop: Shop) -> None:
    report = shop.use(TAX)
    assert (report["state"], shop.done.code) == ("complete", 0), shop.done.said
    assert "legacy" not in report["diff"]
    assert report["plan"]["metadata"]["strategy_revisions"] == 0
    last = report["attempts"][-1]["verdicts"][0]
    assert [one["location"]["symbol"] for one in last["known"]] == ["test_legacy.py::test_old"]
    assert report["plan"]["baseline"][0]["cases"] == {"failed": 2}
    assert "tests: failed before the first step (2 findings)" in shop.done.err
    status = shop.machine.runtrue("plan", "status", cwd=shop.project)
    assert "tests: passed (1 failed before the plan as well)" in status.out


def test_a_test_that_failed_before_has_to_pass_if_the_change_reaches_it(shop: Shop) -> None:
    wrong = "printf 'def total(net):\\n    return net + 1\\n' > handler.py"
    report = shop.use(wrong, profile="ci", max_time=60, validation_retry_limit=0)
    assert report["state"] == "failed", shop.done.said
    assert [one["location"]["symbol"] for one in report["findings"]] == [
        "test_total.py::test_total"
    ]


def test_what_failed_before_does_not_block_a_step_that_others_follow(shop: Shop) -> None:
    report = shop.use("echo begun > notes.txt", TAX, profile="cautious")
    assert report["state"] == "complete", shop.done.said
    assert [deed["files"] for deed in report["plan"]["deeds"]] == [["notes.txt"], ["handler.py"]]
    assert report["plan"]["metadata"]["validation_attempts"] == {}


def test_what_a_step_breaks_blocks_although_other_tests_failed_before(shop: Shop) -> None:
    (shop.project / "test_legacy.py").write_text(
        "from legacy import old\n\n\ndef test_new():\n    assert old() == 1\n"
    )
    breaks = f"{TAX}; sed -i 's/return 1/return 3/' legacy.py"
    report = shop.use(
        breaks,
        profile="ci",
        validation_retry_limit=0,
        strategy={"steps": [{"description": "break it", "command": breaks}]},
    )
    assert report["state"] == "failed", shop.done.said
    assert {one["location"]["symbol"] for one in report["findings"]} == {"test_legacy.py::test_new"}


def test_old_findings_of_a_linter_are_known_and_new_ones_block(shop: Shop) -> None:
    lint = {"name": "lint", "command": "ruff check --select F ."}
    report = shop.use(TAX, validations=[lint], profile="ci", validation_retry_limit=0)
    assert report["state"] == "complete", shop.done.said
    worse = f"{TAX}; sed -i '1i import os' handler.py"
    report = shop.use(worse, validations=[lint], profile="ci", validation_retry_limit=0)
    assert report["state"] == "failed", shop.done.said
    assert [one["location"]["file"] for one in report["findings"]] == ["handler.py"]
