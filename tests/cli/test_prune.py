"""Old runs are deleted, on request and by themselves; what somebody may still want is kept."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Machine

YEAR = 365 * 86_400


@pytest.fixture
def here(tmp_path: Path, machine: Machine) -> Path:
    directory = tmp_path / "here"
    directory.mkdir()
    node = {"id": "say", "type": "shell", "params": {"command": "echo one"}}
    (directory / "w.json").write_text(json.dumps({"nodes": [node]}))
    return directory


def run_once(machine: Machine, here: Path) -> str:
    done = machine.runtrue("run", "w.json", "--json", cwd=here)
    assert done.code == 0, done.said
    return str(done.json["run_id"])


def change(machine: Machine, run_id: str, **columns: object) -> None:
    names = ", ".join(f"{name} = :{name}" for name in columns)
    with closing(sqlite3.connect(machine.journal)) as db, db:
        db.execute(f"UPDATE runs SET {names} WHERE id = :id", {**columns, "id": run_id})  # noqa: S608


def age(machine: Machine, run_id: str, seconds: float) -> None:
    then = time.time() - seconds
    change(machine, run_id, created_at=then, ended_at=then)


def listed(machine: Machine) -> set[str]:
    return {run["run_id"] for run in machine.runtrue("runs", "list", "--json").json["runs"]}


def test_old_runs_go_with_their_files_and_young_ones_stay(machine: Machine, here: Path) -> None:
    old, young = run_once(machine, here), run_once(machine, here)
    age(machine, old, 100 * 86_400)
    home = machine.journal.parent
    for run in (old, young):
        (home / "patches").mkdir(exist_ok=True)
        (home / "patches" / f"{run}.patch").write_text("a patch\n")
        (home / "sandboxes" / run / "deep").mkdir(parents=True)
        (home / "sandboxes" / run / "deep").chmod(0o500)
    shown = machine.runtrue("runs", "prune", "--keep-last", "0", "--dry-run", "--json").json
    assert (shown["runs"], shown["files"], shown["dry_run"]) == ([old], 2, True)
    assert listed(machine) == {old, young}
    done = machine.runtrue("runs", "prune", "--keep-last", "0")
    assert done.out.startswith("deleted 1 runs and 2 of their files")
    assert listed(machine) == {young}
    assert [path.name for path in (home / "sandboxes").iterdir()] == [young]
    assert [path.name for path in (home / "patches").iterdir()] == [f"{young}.patch"]
    with closing(sqlite3.connect(machine.journal)) as db:
        assert {run for (run,) in db.execute("SELECT run_id FROM steps")} == {young}


def test_the_latest_are_kept_however_old(machine: Machine, here: Path) -> None:
    first, second = run_once(machine, here), run_once(machine, here)
    age(machine, first, 200 * 86_400)
    age(machine, second, 100 * 86_400)
    assert machine.runtrue("runs", "prune", "--keep-last", "1", "--json").json["runs"] == [first]


def test_what_waits_is_never_deleted_and_what_is_unapplied_only_after_a_year(
    machine: Machine, here: Path
) -> None:
    waits, unapplied, resumable, applied = (run_once(machine, here) for _ in range(4))
    for run in (waits, unapplied, resumable, applied):
        age(machine, run, YEAR - 86_400)
    change(machine, waits, state="waiting", result=None)
    change(machine, unapplied, result=json.dumps({"diff": "+x", "applied": False}))
    change(machine, resumable, state="failed", result=None, error="no connection")
    change(machine, applied, result=json.dumps({"diff": "+x", "applied": True}))
    prune = ("runs", "prune", "--keep-days", "1", "--keep-last", "0", "--json")
    assert machine.runtrue(*prune).json["runs"] == [applied]
    for run in (waits, unapplied, resumable):
        age(machine, run, 2 * YEAR)
    assert set(machine.runtrue(*prune).json["runs"]) == {unapplied, resumable}


def test_a_run_deletes_old_ones_by_itself_once_a_day(machine: Machine, here: Path) -> None:
    machine.env["RUNTRUE_KEEP_DAYS"] = "never"
    old = run_once(machine, here)
    age(machine, old, YEAR)
    with closing(sqlite3.connect(machine.journal)) as db, db:
        db.executemany(
            "INSERT INTO runs (id, kind, title, state, input, result, created_at, ended_at) "
            "VALUES (?, 'workflow', 'w', 'passed', '{}', '{}', ?, ?)",
            [
                (f"oldrun{number:03}", time.time() - 1000, time.time() - 1000)
                for number in range(200)
            ],
        )
    stamp = machine.journal.parent / "pruned"
    stamp.unlink()
    run_once(machine, here)
    assert machine.runtrue("runs", "show", old).code == 0
    del machine.env["RUNTRUE_KEEP_DAYS"]
    run_once(machine, here)
    assert machine.runtrue("runs", "show", old).code == 0, "it is looked at once a day"
    stamp.unlink()
    run_once(machine, here)
    assert machine.runtrue("runs", "show", old).code == 2


def test_without_an_id_the_run_of_this_project_is_meant(
    machine: Machine, here: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "w.json").write_text((here / "w.json").read_text())
    for project in (here, other):
        (project / "runtrue.toml").touch()
    mine = run_once(machine, here)
    theirs = run_once(machine, other)
    inside = here / "src"
    inside.mkdir()
    assert machine.runtrue("runs", "show", "--json", cwd=inside).json["run_id"] == mine
    assert machine.runtrue("runs", "show", "--all", "--json", cwd=here).json["run_id"] == theirs
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "runtrue.toml").touch()
    refused = machine.runtrue("runs", "resume", cwd=empty)
    assert refused.code == 2
    assert "--all" in refused.err
