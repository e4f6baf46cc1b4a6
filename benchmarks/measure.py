"""Timing contenders side by side, and printing how they compare."""

from __future__ import annotations

import gc
import random
import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

#: Takes one sample and returns it, in the table's unit; what it sets up first is not in it.
Contender = Callable[[], float]


def interleave(
    contenders: Mapping[str, Contender], *, rounds: int, warm_up: int = 1
) -> dict[str, list[float]]:
    """Samples of each contender.

    Every round takes one sample of each, so that a noisy moment of the machine hits them all
    alike, in an order that changes, so that none always comes after the same other one.
    """
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    order = list(contenders)
    shuffle = random.Random(0).shuffle  # noqa: S311  # not a secret
    for n in range(warm_up + rounds):
        shuffle(order)
        for name in order:
            gc.collect()
            sample = contenders[name]()
            if n >= warm_up:
                samples[name].append(sample)
    return samples


@dataclass(frozen=True, slots=True)
class Target:
    """What a ratio has to be."""

    sign: Literal["≤", "≥"]
    limit: float

    def is_met(self, ratio: float) -> bool:
        return ratio <= self.limit if self.sign == "≤" else ratio >= self.limit

    def __str__(self) -> str:
        return f"{self.sign} {self.limit:g} ×"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: a cost, and what it is as a multiple of another line's."""

    contender: str
    cost: float
    quartiles: tuple[float, float]
    of: str | None = None
    ratio: float | None = None
    target: Target | None = None

    @property
    def met(self) -> bool | None:
        if self.target is None or self.ratio is None:
            return None
        return self.target.is_met(self.ratio)


@dataclass(frozen=True, slots=True)
class Table:
    """What a benchmark found."""

    title: str
    unit: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


def row(
    samples: Mapping[str, list[float]],
    contender: str,
    *,
    of: str | None = None,
    target: Target | None = None,
) -> Row:
    """A contender's median; with `of`, its ratio to the median of that one."""
    cost = statistics.median(samples[contender])
    low, _, high = statistics.quantiles(samples[contender], n=4)
    ratio = None if of is None else cost / statistics.median(samples[of])
    return Row(contender, cost, (low, high), of, ratio, target)


def missed(table: Table) -> list[Row]:
    """The rows whose target is not met."""
    return [row for row in table.rows if row.met is False]


def as_data(table: Table) -> dict[str, Any]:
    """The table as JSON data."""
    return {**asdict(table), "rows": [{**asdict(row), "met": row.met} for row in table.rows]}


def print_table(table: Table) -> None:
    """The table as text. A line without a target is for information."""
    header = ("contender", table.unit, "quartiles", "ratio", "target", "met?")
    lines = [header, *(_cells(row) for row in table.rows)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(header))]
    print(f"\n{table.title}\n")
    for line in lines:
        name, cost, quartiles, *rest = line
        cells = [
            name.ljust(widths[0]),
            cost.rjust(widths[1]),
            quartiles.rjust(widths[2]),
            *(cell.ljust(width) for cell, width in zip(rest, widths[3:], strict=True)),
        ]
        print("  ".join(cells).rstrip())
    print()
    for note in table.notes:
        print(f"- {note}")


def _cells(row: Row) -> tuple[str, ...]:
    low, high = row.quartiles
    digits = 2 if row.ratio is None or abs(row.ratio) >= 0.1 else 4
    return (
        row.contender,
        f"{row.cost:.2f}",
        f"{low:.1f}–{high:.1f}",
        "" if row.ratio is None else f"{row.ratio:.{digits}f} × {row.of}",
        "" if row.target is None else str(row.target),
        "" if row.met is None else ("yes" if row.met else "NO"),
    )
