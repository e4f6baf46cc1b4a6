"""A page with the metrics as charts: one file that needs nothing but itself."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources
from string import Template

from runtrue import __version__
from runtrue.cli.metrics import Timed, shown, target
from runtrue.cli.show import counted
from runtrue.code import Metric, Period, metrics_of, periods_of

_WIDTH, _HEIGHT = 460, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 10, 24
_WORDS = {True: "met", False: "missed", None: "not known"}
_CLASSES = {True: "met", False: "missed", None: "unknown"}


def render(every: Sequence[Timed], by_kind: dict[str, list[Timed]], since: float | None) -> str:
    """The page, over all runs and, where there are several, over each kind of them."""
    text = resources.files("runtrue.cli").joinpath("metrics_page.html").read_text("utf-8")
    periods = periods_of(every)
    overall = metrics_of([facts for _, facts in every])
    kinds = by_kind if len(by_kind) > 1 else {}
    return Template(text).substitute(
        runs=counted(len(every), "run"),
        since=f" since {_day(since)}" if since else "",
        made=time.strftime("%Y-%m-%d %H:%M"),
        version=escape(__version__),
        cards="\n".join(_card(metric, index, periods) for index, metric in enumerate(overall)),
        kinds=_table(overall, {"all": list(every), **kinds}),
    )


def _card(metric: Metric, index: int, periods: Sequence[Period]) -> str:
    values = [period.metrics[index].value for period in periods]
    title = metric.name.replace("_", " ")
    return f"""<section class="card {_CLASSES[metric.met]}">
<h2>{escape(title)}</h2>
<p class="value">{escape(shown(metric, metric.value))}</p>
<p class="target">target {escape(target(metric))} · {_WORDS[metric.met]} ·
{counted(metric.runs, "run")} · {escape(metric.purpose)}</p>
{_chart(metric, values, periods) if any(v is not None for v in values) else ""}
</section>"""


def _chart(metric: Metric, values: Sequence[float | None], periods: Sequence[Period]) -> str:
    known = [value for value in values if value is not None]
    highest = max(1.0, *known) if metric.target <= 1 else max(metric.target * 1.25, *known)
    scale = _Scale(highest, len(values))
    points = [(scale.x(i), scale.y(v)) for i, v in enumerate(values) if v is not None]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(
        f'<circle cx="{scale.x(i):.1f}" cy="{scale.y(v):.1f}" r="3">'
        f"<title>{_day(periods[i].start)}: {escape(shown(metric, v))}, "
        f"{counted(periods[i].runs, 'run')}</title></circle>"
        for i, v in enumerate(values)
        if v is not None
    )
    wanted = scale.y(metric.target)
    right = _WIDTH - _RIGHT
    label = f"{metric.name.replace('_', ' ')} over time, target {target(metric)}"
    return f"""<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}">
{"".join(_grid(metric, scale))}
<line class="wanted" x1="{_LEFT}" x2="{right}" y1="{wanted:.1f}" y2="{wanted:.1f}"/>
<polyline points="{line}"/>
{dots}
<text x="{_LEFT}" y="{_HEIGHT - 6}">{_day(periods[0].start)}</text>
<text x="{right}" y="{_HEIGHT - 6}" class="end">{_day(periods[-1].start)}</text>
</svg>"""


class _Scale:
    """Where a value lies in the chart."""

    def __init__(self, highest: float, count: int) -> None:
        self.highest = highest
        self._step = (_WIDTH - _LEFT - _RIGHT) / max(count - 1, 1)
        # A single point stands in the middle.
        self._first = _LEFT if count > 1 else (_WIDTH + _LEFT - _RIGHT) / 2

    def x(self, index: int) -> float:
        return self._first + index * self._step

    def y(self, value: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - value / self.highest)


def _grid(metric: Metric, scale: _Scale) -> Iterator[str]:
    for value in (0.0, scale.highest / 2, scale.highest):
        y = scale.y(value)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" class="end">{shown(metric, value)}</text>'


def _table(overall: Sequence[Metric], kinds: dict[str, list[Timed]]) -> str:
    head = "".join(f"<th>{escape(metric.name.replace('_', ' '))}</th>" for metric in overall)
    rows = []
    for kind, some in kinds.items():
        cells = "".join(
            f'<td class="{_CLASSES[metric.met]}">{escape(shown(metric, metric.value))}</td>'
            for metric in metrics_of([facts for _, facts in some])
        )
        rows.append(f"<tr><th>{escape(kind)}</th><td>{len(some)}</td>{cells}</tr>")
    first = f"<thead><tr><th>runs of</th><th>runs</th>{head}</tr></thead>"
    return f"{first}\n<tbody>{''.join(rows)}</tbody>"


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at))
