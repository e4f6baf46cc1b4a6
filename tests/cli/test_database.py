"""`runtrue database`, and runs of one machine seen from another with the same database."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtrue.flow import MIGRATIONS
from tests.cli.conftest import Machine
from tests.postgres.server import Server


@pytest.fixture
def url(postgres: Server) -> str:
    return postgres.new_database()


def test_a_database_is_checked_migrated_and_checked_again(machine: Machine, url: str) -> None:
    env = {"RUNTRUE_DATABASE": url}
    before = machine.runtrue("database", "check", env=env)
    assert before.code == 1
    assert "run `runtrue database migrate`" in before.out
    assert machine.runtrue("database", "migrate", env=env).code == 0
    assert "up to date" in machine.runtrue("database", "migrate", env=env).out
    after = machine.runtrue("database", "check", "--json", env=env)
    assert after.code == 0
    assert after.json["version"] == after.json["needed"] == len(MIGRATIONS)
    assert after.json["server"].startswith("PostgreSQL ")


def test_without_a_database_it_is_said_how_to_set_one(machine: Machine) -> None:
    done = machine.runtrue("database", "check")
    assert done.code == 2
    assert "set RUNTRUE_DATABASE to postgresql://" in done.err


@pytest.mark.parametrize("url", ["mysql://here/it", "journal.db"])
def test_what_is_no_postgresql_database_is_refused(machine: Machine, url: str) -> None:
    done = machine.runtrue("runs", "list", env={"RUNTRUE_DATABASE": url})
    assert done.code == 2
    assert "names no PostgreSQL database" in done.err


def test_a_server_that_is_not_there_is_one_sentence(machine: Machine) -> None:
    env = {"RUNTRUE_DATABASE": "postgresql://ada:geheim@127.0.0.1:1/work"}
    done = machine.runtrue("runs", "list", env=env)
    assert done.code == 1
    assert "the journal postgresql://ada@127.0.0.1:1/work cannot be opened" in done.err
    assert "geheim" not in done.said


WORKFLOW = """
name: greet
inputs: {name: {type: string}}
nodes:
  - {id: say, type: shell, params: {command: "echo hello ${name}"}}
"""


def test_a_run_is_seen_from_another_machine_by_the_users_own_settings(
    tmp_path: Path, url: str
) -> None:
    machines = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        machine = Machine(tmp_path / name, search=False)
        own = machine.home / ".runtrue"
        own.mkdir(mode=0o700)
        (own / "runtrue.toml").write_text(f'[database]\nurl = "{url}"\n')
        machines.append(machine)
    one, other = machines
    (tmp_path / "greet.yaml").write_text(WORKFLOW)
    done = one.runtrue("run", tmp_path / "greet.yaml", "name=Ada", "--json")
    assert done.code == 0, done.said
    assert not one.journal.exists()
    shown = other.runtrue("runs", "show", done.json["run_id"], "--json")
    assert shown.code == 0, shown.said
    assert shown.json["status"] == "passed"
    (listed,) = other.runtrue("runs", "list", "--json").json["runs"]
    assert listed["run_id"] == done.json["run_id"]
    assert other.runtrue("metrics").code == 0
    assert other.runtrue("doctor", cwd=tmp_path).code in (0, 1)
    assert other.runtrue("runs", "prune").code == 0


def test_a_projects_own_file_cannot_send_runs_to_a_database(
    machine: Machine, tmp_path: Path, url: str
) -> None:
    (tmp_path / "runtrue.toml").write_text(f'[database]\nurl = "{url}"\n')
    done = machine.runtrue("fix", tmp_path, cwd=tmp_path)
    assert done.code == 2
    assert "database" in done.err
