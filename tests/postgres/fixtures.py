"""Fixtures for tests on PostgreSQL: one server for the session, one database for each process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.postgres.server import NoPostgres, Server, shared

#: What a test may leave behind in the tables of the journal.
_TABLES = (
    "runs, steps, events, questions, parts, children, schedules, ticks, workers, queued, "
    "files, run_files, memory_log"
)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server that all processes of this session share. Skips, saying why, without one."""
    place = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        place = place.parent
    with ExitStack() as stack:
        try:
            server = stack.enter_context(shared(place))
        except NoPostgres as error:
            pytest.skip(f"no PostgreSQL: {error}")
        yield server


@pytest.fixture(scope="session")
def _database(postgres: Server) -> Iterator[str]:
    url = postgres.new_database()
    yield url
    postgres.drop(url)


@pytest.fixture
def database_url(_database: str) -> str:
    """The URL of a database with nothing in the tables that are there."""
    import psycopg

    with psycopg.connect(_database, autocommit=True) as db:
        if db.execute("SELECT to_regclass('runtrue.runs')").fetchone() != (None,):
            db.execute("SET search_path = runtrue")
            db.execute(f"TRUNCATE {_TABLES}")
    return _database
