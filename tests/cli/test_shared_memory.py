"""Machines that use one database learn from each other, where a person has agreed to it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Machine, MakeProject
from tests.cli.test_code_memory import FIRST, FIXED, SECOND
from tests.code.support import Agent


@pytest.fixture
def machines(tmp_path: Path, database_url: str) -> tuple[Machine, Machine]:
    """Ada's machine and Grace's: each has a home of its own, and they share a database."""
    places = tmp_path / "ada", tmp_path / "grace"
    for place in places:
        place.mkdir()
    ada, grace = (Machine(place, search=False) for place in places)
    for machine in (ada, grace):
        machine.env["RUNTRUE_DATABASE"] = database_url
        machine.env["RUNTRUE_ISOLATION_WRITE"] = str(tmp_path)
    return ada, grace


@pytest.fixture
def first(make_project: MakeProject) -> Path:
    return make_project(FIRST, name="first")


@pytest.fixture
def second(make_project: MakeProject) -> Path:
    return make_project(SECOND, name="second")


def share(machine: Machine, project: Path) -> None:
    done = machine.runtrue("trust", "--share", "--yes", cwd=project)
    assert done.code == 0, done.err
    assert "fixes applied here" in done.out


def fix_by_agent(machine: Machine, project: Path, tmp_path: Path, *options: str) -> None:
    agent = Agent(tmp_path / "agent", FIXED)
    done = machine.runtrue("fix", "--agent", agent.command, *options, cwd=project)
    assert done.code == 0, done.err


def fixers(machine: Machine, project: Path) -> list[str]:
    """Who had something to offer when a machine fixed a project without an agent."""
    document = machine.runtrue("fix", "--json", cwd=project).json
    return [
        part["fixer"]
        for attempt in document["attempts"]
        for part in (attempt["fix"] or {"parts": []})["parts"]
    ]


def remembered(machine: Machine) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = machine.runtrue("memory", "list", "--json").json["fixes"]
    return found


def test_a_fix_applied_on_one_machine_is_used_on_another(
    machines: tuple[Machine, Machine], first: Path, second: Path, tmp_path: Path
) -> None:
    ada, grace = machines
    share(ada, first)
    fix_by_agent(ada, first, tmp_path, "--apply")
    assert fixers(grace, second) == ["memory"]
    (fix,) = remembered(grace)
    assert (fix["fixer"], fix["error_type"]) == ("agent", "IndexError")


def test_a_fix_counts_for_others_only_once_it_is_applied(
    machines: tuple[Machine, Machine], first: Path, second: Path, tmp_path: Path
) -> None:
    ada, grace = machines
    share(ada, first)
    fix_by_agent(ada, first, tmp_path)
    assert remembered(grace) == []
    assert ada.runtrue("runs", "apply", cwd=first).code == 0
    assert fixers(grace, second) == ["memory"]


def test_what_nobody_agreed_to_share_stays_on_its_machine(
    machines: tuple[Machine, Machine], first: Path, second: Path, tmp_path: Path
) -> None:
    ada, grace = machines
    fix_by_agent(ada, first, tmp_path, "--apply")
    assert len(remembered(ada)) == 1
    assert remembered(grace) == []
    assert fixers(grace, second) == []


def test_sharing_ends_when_the_agreement_is_revoked(
    machines: tuple[Machine, Machine], first: Path, tmp_path: Path
) -> None:
    ada, grace = machines
    share(ada, first)
    assert ada.runtrue("trust", "revoke", first).code == 0
    fix_by_agent(ada, first, tmp_path, "--apply")
    assert remembered(grace) == []


def test_what_is_taken_back_on_one_machine_is_unlearnt_on_all(
    machines: tuple[Machine, Machine], first: Path, tmp_path: Path
) -> None:
    ada, grace = machines
    share(ada, first)
    fix_by_agent(ada, first, tmp_path, "--apply")
    assert len(remembered(grace)) == 1
    subprocess.run(["git", "checkout", "-q", "--", "tax.py"], cwd=first, check=True)
    ada.runtrue("fix", cwd=first)
    assert remembered(ada) == []
    assert remembered(grace) == []


def test_a_database_that_is_away_does_not_stop_a_look_into_the_memory(
    machines: tuple[Machine, Machine],
) -> None:
    ada, _ = machines
    away = {"RUNTRUE_DATABASE": "postgresql://nobody@127.0.0.1:1/none"}
    done = ada.runtrue("memory", "list", env=away)
    assert done.code != 0
    assert "shared memory cannot be used" in done.err
