"""Charts of the metrics, drawn on the server."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from runtrue.code import Metric, Period

WIDTH, HEIGHT = 360, 96
_LEFT, _RIGHT, _TOP, _BOTTOM = 4, 4, 8, 4


@dataclass(frozen=True, slots=True)
class ChartPoint:
    """A value in the chart, with what it says."""

    x: float
    y: float
    says: str


@dataclass(frozen=True, slots=True)
class MetricCard:
    """A metric with its chart."""

    name: str
    value: str
    target: str
    tone: str
    word: str
    purpose: str
    runs: int
    points: tuple[ChartPoint, ...]
    target_y: float
    first: str
    last: str

    @property
    def line(self) -> str:
        """The points of the line."""
        return " ".join(f"{point.x:.1f},{point.y:.1f}" for point in self.points)


def shown_value(metric: Metric, value: float | None) -> str:
    """Return a value as people read it: a share in percent, anything else as it is."""
    if value is None:
        return "–"
    return f"{value:.0%}" if metric.target <= 1 else f"{value:.2f}"


def draw_metrics(metrics: Sequence[Metric], periods: Sequence[Period]) -> list[MetricCard]:
    """Return a card for each metric."""
    return [_card(metric, index, periods) for index, metric in enumerate(metrics)]


def _card(metric: Metric, index: int, periods: Sequence[Period]) -> MetricCard:
    values = [(n, v) for n, p in enumerate(periods) if (v := p.metrics[index].value) is not None]
    known = [value for _, value in values]
    highest = (
        max(1.0, *known, 0.0) if metric.target <= 1 else max(metric.target * 1.25, *known, 0.0)
    )
    step = (WIDTH - _LEFT - _RIGHT) / max(len(periods) - 1, 1)

    def y(value: float) -> float:
        return _TOP + (HEIGHT - _TOP - _BOTTOM) * (1 - value / highest)

    points = tuple(
        ChartPoint(
            x=_LEFT + n * step if len(periods) > 1 else WIDTH / 2,
            y=y(value),
            says=f"{_day(periods[n].start)}: {shown_value(metric, value)}, {periods[n].runs} runs",
        )
        for n, value in values
    )
    tone, word = {True: ("good", "met"), False: ("bad", "missed"), None: ("quiet", "not known")}[
        metric.met
    ]
    return MetricCard(
        name=metric.name.replace("_", " "),
        value=shown_value(metric, metric.value),
        target=f"{'>' if metric.upward else '<'} {shown_value(metric, metric.target)}",
        tone=tone,
        word=word,
        purpose=metric.purpose,
        runs=metric.runs,
        points=points,
        target_y=y(metric.target),
        first=_day(periods[0].start) if periods else "",
        last=_day(periods[-1].start) if periods else "",
    )


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at))
