"""`kill -9` before and after writes to the journal: nothing is lost and nothing is done twice.

Here every so many of the points are taken; `scripts/bench crashes` takes all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crashes.points import CrashPoint
from tests.crashes.scenarios import Scenario, all_scenarios, points
from tests.crashes.server import serving

#: Of how many points one is taken.
EVERY = {
    "batch": 19,
    "batch at once": 19,
    "batch with keys": 11,
    "batch with retries": 13,
    "workflows in a batch": 13,
    "workflows at once": 13,
    "plan": 31,
    "plan side by side": 37,
}


@pytest.fixture
def scenarios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Scenario]]:
    monkeypatch.setenv("RUNTRUE_ALLOW_LOOPBACK", "1")
    monkeypatch.delenv("RUNTRUE_MODEL", raising=False)
    log = tmp_path / "effects.log"
    with serving(log) as address:
        yield all_scenarios(address, log)


@pytest.mark.parametrize("name", EVERY)
def test_killed_at_a_write_and_resumed_nothing_is_lost_or_doubled(
    name: str, scenarios: dict[str, Scenario], tmp_path: Path
) -> None:
    scenario = scenarios[name]
    writes = scenario.writes(tmp_path / "undisturbed")
    for point in points(writes, EVERY[name]):
        scenario.crash(tmp_path / str(point), point)


@pytest.mark.parametrize("again", [2, 5, 8, 13])
def test_killed_once_more_while_it_is_resumed_nothing_is_lost_or_doubled(
    again: int, scenarios: dict[str, Scenario], tmp_path: Path
) -> None:
    scenario = scenarios["workflows at once"]
    first, then = CrashPoint(20, before=False), CrashPoint(again, before=True)
    scenario.crash(tmp_path / "twice", first, then)
