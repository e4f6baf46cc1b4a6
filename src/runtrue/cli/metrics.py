"""`runtrue metrics`."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from runtrue.cli import options
from runtrue.cli.console import Styled, echo, print_table
from runtrue.cli.show import counted, print_json
from runtrue.code import (
    CalibrationGroup,
    Facts,
    JudgedFix,
    Kind,
    Metric,
    Period,
    calibration_of,
    metrics_of,
    periods_of,
)
from runtrue.errors import UsageError
from runtrue.flow import Journal, Location
from runtrue.home import Home
from runtrue.typed_data import convert

Timed = tuple[float, Facts]

_UNITS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_BARS = "▁▂▃▄▅▆▇█"
_UNKNOWN = "not known"
#: The year 3000.
_FAR = 32_503_680_000.0


@click.command()
@click.option(
    "--since",
    metavar="WHEN",
    help="Only runs that ended since: 12h, 7d, 4w, or a date such as 2026-11-01.",
)
@click.option(
    "--kind", type=click.Choice([kind.value for kind in Kind]), help="Only runs of this kind."
)
@options.as_json
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a page with charts; one file, no other assets.",
)
def metrics(since: str | None, kind: str | None, as_json: bool, page: Path | None) -> int:
    """Show six metrics over all runs, against their targets.

    They cover all finished runs of `fix`, `code` and `gate` in the journal.

    \b
    Examples:
      runtrue metrics
      runtrue metrics --since 7d --kind code
      runtrue metrics --html metrics.html
    """
    begin = None if since is None else parse_since(since, time.time())
    home = Home.find(Path.cwd())
    by_kind = load_facts(home.journal, since=begin, kind=kind)
    every = sorted((one for some in by_kind.values() for one in some), key=lambda one: one[0])
    if page is not None:
        from runtrue.cli.metrics_page import render

        page.write_text(render(every, by_kind, begin), encoding="utf-8")
        echo(f"wrote {page}", err=True)
    calibration = calibration_of(load_judged(home.journal))
    if as_json:
        groups = [{**msgspec.to_builtins(one), "share": one.share} for one in calibration]
        print_json({**_document(every, by_kind, begin), "calibration": groups})
    elif page is None:
        _print(every, by_kind, begin)
        _print_calibration(calibration)
    return 0


def parse_since(text: str, now: float) -> float:
    """A time, from how long ago it was or from its date; of a date without a zone, here."""
    known = "use a duration such as 12h, 7d or 4w, or a date such as 2026-11-01"
    if found := re.fullmatch(r"(\d{1,6})\s*([mhdw])", text.strip().lower(), re.ASCII):
        begin = now - int(found[1]) * _UNITS[found[2]]
    else:
        try:
            begin = datetime.fromisoformat(text.strip()).timestamp()
        except (ValueError, OverflowError, OSError) as error:
            raise UsageError(f"--since {text!r} is not a time; {known}") from error
    if not 0 <= begin < _FAR:
        raise UsageError(f"--since {text!r} is too far away for any run; {known}")
    return begin


def load_facts(
    journal: Location, *, since: float | None = None, kind: str | None = None
) -> dict[str, list[Timed]]:
    """Return what each ended run says of the metrics, by kind."""
    facts: dict[str, list[Timed]] = {}
    if isinstance(journal, Path) and not journal.exists():  # looking makes nothing
        return facts
    with Journal(journal) as opened:
        rows = opened.results("metrics", since=since, kind=kind)
    for row in rows:
        if row.kind in list(Kind) and row.value is not None:
            try:
                one = convert(row.value, Facts)
            except msgspec.ValidationError:  # written by another version
                continue
            facts.setdefault(row.kind, []).append((row.ended_at, one))
    return facts


def load_judged(journal: Location) -> list[JudgedFix]:
    """Return the fixes of ended runs that people applied, agreed to or declined."""
    if isinstance(journal, Path) and not journal.exists():
        return []
    with Journal(journal) as opened:
        sure = {row.run_id: row.value for row in opened.results("confidence")}
        why = {row.run_id: row.value for row in opened.results("why")}
        applied = {row.run_id: row.value for row in opened.results("applied")}
    found = []
    for run_id, value in sure.items():
        accepted = bool(applied.get(run_id)) or why.get(run_id) == "agreed"
        if isinstance(value, float | int) and (accepted or why.get(run_id) == "declined"):
            found.append(JudgedFix(float(value), accepted))
    return found


def shown(metric: Metric, value: float | None) -> str:
    """A value of a metric as people read it: a share in percent, anything else as it is."""
    if value is None:
        return _UNKNOWN
    return f"{value:.2f}" if metric.name == "average_attempts" else f"{100 * value:.0f} %"


def target(metric: Metric) -> str:
    """The target with its direction."""
    return f"{'>' if metric.upward else '<'} {shown(metric, metric.target)}"


def _document(
    every: Sequence[Timed], by_kind: dict[str, list[Timed]], since: float | None
) -> dict[str, Any]:
    return {
        "since": since,
        "runs": len(every),
        "metrics": [metric.to_dict() for metric in _over(every)],
        "kinds": {
            kind: {"runs": len(some), "metrics": [metric.to_dict() for metric in _over(some)]}
            for kind, some in by_kind.items()
        },
        "trend": [
            {
                "start": period.start,
                "seconds": period.seconds,
                "runs": period.runs,
                "metrics": {metric.name: metric.value for metric in period.metrics},
            }
            for period in periods_of(every)
        ],
    }


def _over(some: Sequence[Timed]) -> tuple[Metric, ...]:
    return metrics_of([facts for _, facts in some])


# -- text ---------------------------------------------------------------------------------------


def _print(every: Sequence[Timed], by_kind: dict[str, list[Timed]], since: float | None) -> None:
    when = (
        time.strftime(" since %Y-%m-%d %H:%M", time.localtime(since)) if since is not None else ""
    )
    echo(f"{counted(len(every), 'run')}{when}", bold=True)
    if sys.stdout.isatty():
        _print_table(_over(every), periods_of(every))
    else:
        for metric in _over(every):
            _print_line(metric)
    if len(by_kind) > 1:
        for kind, some in by_kind.items():
            echo(f"{kind}: {counted(len(some), 'run')}", bold=True)
            for metric in _over(some):
                _print_line(metric)


def _print_calibration(groups: Sequence[CalibrationGroup]) -> None:
    if groups:
        echo("fixes that people judged, by how sure they were", bold=True)
    for one in groups:
        taken = f"{one.accepted} of {counted(one.fixes, 'fix')}".replace("fixs", "fixes")
        echo(f"  {one.low:.0%} to {one.high:.0%} sure: accepted {taken} ({one.share:.0%})")


def _word(metric: Metric) -> str:
    return {True: "met", False: "missed", None: ""}[metric.met]


def _print_line(metric: Metric) -> None:
    value, wanted = shown(metric, metric.value), target(metric)
    over = f"of {counted(metric.runs, 'run')}" if metric.runs else ""
    line = f"  {metric.name:<24}{value:>10}  {wanted:<8} {_word(metric):<7} {over}"
    echo(line.rstrip())


def _print_table(metrics: Sequence[Metric], periods: Sequence[Period]) -> None:
    """Print the metrics on a terminal, with how they went over time."""
    colours = {True: "green", False: "red", None: "dim"}
    rows = []
    for index, metric in enumerate(metrics):
        values = [period.metrics[index].value for period in periods]
        colour = colours[metric.met]
        rows.append(
            (
                metric.name,
                Styled(shown(metric, metric.value), colour),
                target(metric),
                Styled(_word(metric), colour),
                str(metric.runs),
                Styled(sparkline(values, top=max(metric.target, 1.0)), colour),
            )
        )
    columns = ("metric", "value", "target", "", "runs", _span(periods))
    print_table(columns, rows, right=("value",), pad_edge=False)


def _span(periods: Sequence[Period]) -> str:
    if not periods:
        return ""
    names = {3600: "hour", 86_400: "day", 604_800: "week"}
    by = names.get(round(periods[0].seconds), f"{periods[0].seconds / 86_400:.0f} days")
    return f"by {by}, from {time.strftime('%Y-%m-%d', time.localtime(periods[0].start))}"


def sparkline(values: Sequence[float | None], *, top: float) -> str:
    """Bars from nothing to `top`, or to the greatest value if that is more; a dot for no value."""
    highest = max([top, *(value for value in values if value is not None)])
    last = len(_BARS) - 1
    return "".join(
        "·" if value is None else _BARS[round(max(value, 0.0) / highest * last)] for value in values
    )
