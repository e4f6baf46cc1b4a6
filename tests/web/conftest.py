"""A home for each test, with the site on it; a browser, and a machine that makes runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runtrue.flow import Journal
from tests.cli.conftest import Machine
from tests.web.site import Site, home_at

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(home_at(tmp_path / "home"))
    yield site
    site.launcher.wait(60)


@pytest.fixture
def journal(site: Site) -> Iterator[Journal]:
    with Journal(site.home.journal) as opened:
        yield opened


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    from tests.web.browser import started_browser

    with started_browser() as browser:
        yield browser


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path, search=False)
