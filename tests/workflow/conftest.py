from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workflow.support import TYPES, Bench, Durable, install


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Durable]:
    site = tmp_path / "site"
    install(site, {cls.type: f"{cls.__module__}:{cls.__name__}" for cls in TYPES})
    monkeypatch.syspath_prepend(site)
    bench = Durable(tmp_path)
    with bench.journal:
        yield bench
