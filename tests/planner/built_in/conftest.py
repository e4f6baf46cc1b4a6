from __future__ import annotations

from pathlib import Path

import pytest

from tests.planner.built_in.support import Planner


@pytest.fixture
def planner(tmp_path: Path) -> Planner:
    return Planner(tmp_path)
