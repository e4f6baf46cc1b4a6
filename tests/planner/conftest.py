from __future__ import annotations

from pathlib import Path

import pytest

from runtrue.home import Home
from runtrue.planner.planning import Planning
from runtrue.workflow import Registry
from tests.planner.api import api_fixture  # noqa: F401
from tests.planner.support import use_time_server


@pytest.fixture
def planning(tmp_path: Path) -> Planning:
    """What a planner works with in an empty directory, with the real time server."""
    home = Home(tmp_path / "home")
    use_time_server(tmp_path)
    return Planning(Registry(home, tmp_path), environment={})
