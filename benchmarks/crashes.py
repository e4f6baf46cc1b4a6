"""Runs killed before and after every write to their journal: none may lose or repeat anything."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from benchmarks.measure import Row, Table, Target
from tests.crashes.scenarios import all_scenarios, points
from tests.crashes.server import serving

_POINTS = "points"


def run(every: int = 1) -> Table:
    """Kill at all points, or at each `every`-th; whatever went wrong is in the notes."""
    os.environ["RUNTRUE_ALLOW_LOOPBACK"] = "1"
    os.environ.pop("RUNTRUE_MODEL", None)
    rows: list[Row] = []
    wrong: list[str] = []
    tried = 0
    with tempfile.TemporaryDirectory(prefix="rt-crashes-") as folder:
        root = Path(folder)
        with serving(root / "effects.log") as address:
            for name, scenario in all_scenarios(address, root / "effects.log").items():
                place = root / name.replace(" ", "-")
                writes = scenario.writes(place / f"{place.name}-undisturbed")
                chosen = points(writes, every)
                right = 0
                for point in chosen:
                    try:
                        scenario.crash(place / f"{place.name}-{point}", point)
                        right += 1
                    except AssertionError as error:
                        wrong.append(f"{name}: {error}")
                tried += len(chosen)
                share = right / len(chosen)
                low_high = (right, len(chosen))
                rows.append(Row(name, right, low_high, _POINTS, share, Target("≥", 1)))
    return Table(
        title=f"crashes: {tried} points, before and after each write to the journal",
        unit="resumed rightly",
        rows=tuple(rows),
        notes=(
            "a real SIGKILL; then resumed, with what was cut off settled by the server's own log",
            "right: each effect is in that log once, and the result is that of a run undisturbed",
            *wrong[:20],
        ),
    )
