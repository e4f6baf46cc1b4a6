from collections.abc import Iterator
from pathlib import Path

import pytest

from runtrue.flow import Journal
from tests.flow.child import Child


@pytest.fixture(params=["sqlite", "postgres"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    """A journal on each of the databases."""
    location = (
        request.getfixturevalue("database_url")
        if request.param == "postgres"
        else tmp_path / "journal.db"
    )
    with Journal(location) as journal:
        yield journal


@pytest.fixture
def other(journal: Journal) -> Iterator[Child]:
    """Another living process with the same journal open."""
    with Child(journal.location) as child:
        yield child
