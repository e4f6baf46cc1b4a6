"""Anyone who can write to the database may forge runs, and reaches no files of its readers."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtrue.errors import RuntrueError
from runtrue.flow import Journal, PostgresDatabase
from runtrue.home import Home
from runtrue.travel import files_of_run

pytest.importorskip("dbos")

from dbos._serialization import deserialize_args, deserialize_value

from runtrue.scale import FileTable, large_files
from runtrue.scale.engine import SEGMENT

RUN = "aabbccdd"
TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


class _Command:
    """What a pickle runs when it is read."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (self.command,)


def _pickled(*args: Any) -> str:
    return base64.b64encode(pickle.dumps({"args": args, "kwargs": {}})).decode()


def test_a_pickle_in_a_table_of_dbos_runs_nothing(tmp_path: Path) -> None:
    assert SEGMENT  # the engine is imported, as by every worker
    mark = tmp_path / "ran"
    evil = _pickled(_Command(f"touch {mark}"))
    for read in (deserialize_args, deserialize_value):
        with pytest.raises(pickle.UnpicklingError, match="a row of the database names"):
            read(evil, "py_pickle", None)  # type: ignore[arg-type]
    assert not mark.exists()


def test_what_is_on_a_queue_is_read_as_before() -> None:
    plain = deserialize_args(_pickled(RUN, False), "py_pickle", None)  # type: ignore[arg-type]
    assert plain == {"args": (RUN, False), "kwargs": {}}


@pytest.fixture
def db(database_url: str) -> PostgresDatabase:
    Journal(database_url).close()
    return PostgresDatabase(database_url)


def _add_run(db: PostgresDatabase, run_id: str = RUN, **changes: str) -> None:
    row = {"state": "running", "input": '{"project": "/p"}', **changes}
    db.execute(
        "INSERT INTO runs (id, kind, title, state, input, created_at) "
        "VALUES (?, 'fix', '', ?, ?, 0)",
        (run_id, row["state"], row["input"]),
    )


def _add_file(db: PostgresDatabase, name: str, content: bytes) -> None:
    digest = hashlib.sha256(content).hexdigest()
    db.execute(
        "INSERT INTO files (hash, size, content) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (digest, len(content), content),
    )
    db.execute("INSERT INTO run_files (run_id, name, hash) VALUES (?, ?, ?)", (RUN, name, digest))


@pytest.mark.parametrize("run_id", ["../*", "../..", "*", "a", "\x1b[2J", "/etc", "aabbccdd/.."])
def test_a_run_whose_id_could_be_a_path_is_refused(db: PostgresDatabase, run_id: str) -> None:
    _add_run(db, run_id)
    with Journal(db.location) as journal, pytest.raises(RuntrueError) as refused:
        journal.find(run_id)
    assert "the journal has a run with the id" in str(refused.value)
    assert "\x1b" not in str(refused.value)
    db.close()


@pytest.mark.parametrize(
    "changes", [{"state": "odd"}, {"input": "[]"}, {"input": "{"}, {"input": "[" * 100_000}]
)
def test_a_broken_run_is_one_sentence(db: PostgresDatabase, changes: dict[str, str]) -> None:
    _add_run(db, **changes)
    with Journal(db.location) as journal, pytest.raises(RuntrueError, match="not as runtrue made"):
        journal.find(RUN)
    db.close()


@pytest.mark.parametrize("kind", ["absolute", "relative"])
def test_a_hash_that_is_a_path_deletes_nothing(
    db: PostgresDatabase, tmp_path: Path, kind: str
) -> None:
    precious, shared = tmp_path / "precious", tmp_path / "shared"
    precious.write_text("precious")
    shared.mkdir()
    name = str(precious) if kind == "absolute" else "../../precious"
    db.execute("INSERT INTO files (hash, size, content) VALUES (?, 1, NULL)", (name,))
    FileTable(db, large_files(str(shared))).sweep()
    assert precious.read_text() == "precious"
    store = large_files(str(shared))
    assert store
    for use in (store.read, store.delete):
        with pytest.raises(RuntrueError, match="not the hash of a file"):
            use(name)
    assert precious.read_text() == "precious"
    db.close()


@pytest.mark.parametrize(
    "changes",
    [
        {"base": "--index-output=PRECIOUS"},
        {"head": "--stdin"},
        {"project": "/x/../../../../../../etc"},
        {"project": "/y"},
        {"top": "/x/..", "project": "/x/.."},
        {"top": "/x\0", "project": "/x\0"},
        {"origin": "--unset-all"},
        {"base": f"{TREE}\n{TREE}"},
    ],
)
def test_a_project_that_leads_elsewhere_is_refused(
    db: PostgresDatabase, tmp_path: Path, changes: dict[str, str]
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    changes = {name: one.replace("PRECIOUS", str(precious)) for name, one in changes.items()}
    project = {"project": "/x", "top": "/x", "kind": "worktree", "object_format": "sha1"}
    project |= {"base": TREE, **changes}
    sent = {"project": project, "home": "/h", "home_id": "another"}
    _add_run(db)
    _add_file(db, "project", json.dumps(sent).encode())
    for name in {project["base"], project.get("head", TREE)}:
        _add_file(db, f"object/{name}", b"")
    with (
        pytest.raises(RuntrueError),
        files_of_run(db.location, Home(tmp_path / "home"), RUN) as found,
    ):
        found.bring_project()
    assert precious.read_text() == "precious"
    assert not (tmp_path / "home" / "projects").exists()
    db.close()
