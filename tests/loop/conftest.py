"""What the tests of the cycle begin with: a candidate in memory, and a journal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runtrue.flow import Journal
from tests.loop.workshop import MemorySandbox


@pytest.fixture
def sandbox() -> MemorySandbox:
    return MemorySandbox({"a.py": "bad", "b.py": "bad", "test_a.py": "strict"})


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "journal.db") as journal:
        yield journal
