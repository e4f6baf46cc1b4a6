"""Isolated commands by the thousand, of which nothing may be left, and memory that stays flat."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from benchmarks.measure import Row, Table, Target
from tests.isolation.soaking import AT_A_TIME, Counts, available, soak

RUNS = 2000
#: Memory may grow by this factor, or by this many MiB where that is more.
FLAT, ALLOWED_MIB = 1.02, 2.0
EARLY = "early"


def run() -> Table:
    with tempfile.TemporaryDirectory(prefix="rt-soak-") as folder:
        soaked = asyncio.run(soak(Path(folder), RUNS, available()))
    early, late = soaked.fifth(2), soaked.fifth(5)
    levels, ways = Counter[str](), Counter[str]()
    for (level, way), number in soaked.ways.items():
        levels[level.value] += number
        ways[way] += number
    return Table(
        title=f"soak: {RUNS} isolated commands, {AT_A_TIME} at a time, each leaving a mess",
        unit="number, or MiB",
        rows=tuple(compared(field.name, early, late) for field in fields(Counts)),
        notes=(
            f"medians of the last fifth of the time; {EARLY} is the second fifth",
            f"levels: {listed(levels)}; how they went: {listed(ways)}",
            "a mess: two processes that left their session and their environment, files in the "
            "home and the temporary directory, a try to mount; all of it gone after every run",
            f"runs of which something was still dying when they had ended: {soaked.late.total()}",
        ),
    )


def compared(name: str, early: Sequence[Counts], late: Sequence[Counts]) -> Row:
    """A count late in the soak, as a multiple of the same one early; none of them is ever 0."""
    before, after = ([float(getattr(one, name)) for one in part] for part in (early, late))
    low, cost, high = statistics.quantiles(after, n=4)
    base = statistics.median(before)
    limit = max(FLAT, 1 + ALLOWED_MIB / base) if name == "memory" else 1.0
    return Row(name, cost, (low, high), EARLY, cost / base, Target("≤", round(limit, 3)))


def listed(numbers: Counter[str]) -> str:
    return ", ".join(f"{what} {number}" for what, number in numbers.items())
