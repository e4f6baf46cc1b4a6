"""Real bug fixes of published packages; see `benchmarks.real.bench`."""

from __future__ import annotations

from typing import Any

from benchmarks.measure import Table


def run(**options: Any) -> tuple[Table, ...]:
    # Only here: `python -m benchmarks.real.mine` would otherwise load its own module twice.
    from benchmarks.real import bench

    return bench.run(**options)
