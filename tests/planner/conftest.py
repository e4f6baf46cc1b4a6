from __future__ import annotations

from pathlib import Path

import pytest

from runtrue.home import Home
from runtrue.planner.context import PlannerContext
from runtrue.workflow import Registry
from tests.planner.api import api_fixture  # noqa: F401
from tests.planner.support import use_time_server


@pytest.fixture
def context(tmp_path: Path) -> PlannerContext:
    """What a planner works with in an empty directory, with the real time server."""
    home = Home(tmp_path / "home")
    use_time_server(home.path)
    return PlannerContext(Registry(home, tmp_path), environment={})
