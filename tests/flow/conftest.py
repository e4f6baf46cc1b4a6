from collections.abc import Iterator
from pathlib import Path

import pytest

from runtrue.flow import Journal
from tests.flow.child import Child


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "journal.db") as journal:
        yield journal


@pytest.fixture
def other(journal: Journal) -> Iterator[Child]:
    """Another living process with the same journal open."""
    with Child(journal.path) as child:
        yield child
