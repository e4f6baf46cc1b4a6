"""Large files of runs: in a directory that the machines share, or in a bucket."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtrue.errors import JournalError, UsageError
from runtrue.flow import Journal, PostgresDatabase
from tests.scale.bucket import BucketServer, bucket_server

pytest.importorskip("dbos")

from runtrue.scale import FileTable
from runtrue.scale.file_table import SMALL
from runtrue.scale.large_files import LargeFiles, large_files

CONTENT = b"pack" * SMALL
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BucketServer]:
    with bucket_server() as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture(params=["directory", "bucket"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> LargeFiles:
    if request.param == "bucket":
        request.getfixturevalue("server")
        found = large_files("s3://runs/team")
    else:
        found = large_files(str(tmp_path / "files"))
    assert found
    return found


def test_what_was_written_is_read_until_it_is_deleted(store: LargeFiles) -> None:
    store.write(DIGEST, CONTENT)
    store.write(DIGEST, CONTENT)
    assert store.read(DIGEST) == CONTENT
    store.delete(DIGEST)
    store.delete(DIGEST)
    with pytest.raises(JournalError, match=r"all machines need the same (directory|bucket)"):
        store.read(DIGEST)


def test_a_run_with_large_files_leaves_nothing_in_a_bucket_once_they_are_forgotten(
    server: BucketServer, database_url: str
) -> None:
    with Journal(database_url) as journal:
        run = journal.create("fix", "fix", {})
    db = PostgresDatabase(database_url)
    try:
        table = FileTable(db, large_files("s3://runs/team"))
        table.put(run, {"small": b"x", "large": CONTENT})
        assert server.objects == {f"/runs/team/{DIGEST[:2]}/{DIGEST}": CONTENT}
        assert table.get(table.names(run)["large"]) == CONTENT
        table.forget(run, ["large"])
        assert server.objects == {}
    finally:
        db.close()


def test_a_wrong_key_is_named_with_what_to_set(
    server: BucketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in server.environment("mallory").items():
        monkeypatch.setenv(name, value)
    store = large_files("s3://runs/team")
    assert store
    with pytest.raises(JournalError, match="AWS_ACCESS_KEY_ID") as refused:
        store.write(DIGEST, CONTENT)
    assert "\n" not in str(refused.value)
    assert "of no use here" not in str(refused.value)


def test_a_place_of_another_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="write a directory, or s3://BUCKET/FOLDER"):
        large_files("ftp://example.org/runs")
