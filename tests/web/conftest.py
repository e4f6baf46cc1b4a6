"""A home for each test, with the site on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runtrue.flow import Journal
from tests.web.site import Site, home_at


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(home_at(tmp_path / "home"))
    yield site
    site.launcher.wait(60)


@pytest.fixture
def journal(site: Site) -> Iterator[Journal]:
    with Journal(site.home.journal) as opened:
        yield opened
