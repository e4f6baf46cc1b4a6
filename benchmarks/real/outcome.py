"""What came of the items, one by one and in all."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.measure import Row, Table, Target
from benchmarks.real.judge import Judgement
from benchmarks.real.manifest import SMALL, Item

#: Claimed with at least this confidence, a fix has to be right.
CONFIDENT = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What the tool did by itself, and what its change is worth; no judgement without a change."""

    status: str
    judgement: Judgement | None
    confidence: float | None
    seconds: float
    cpu: float
    why: str

    @property
    def right(self) -> bool:
        return self.status == "passed" and self.judgement == "right"

    @property
    def wrongly_passed(self) -> bool:
        return self.status == "passed" and self.judgement == "wrong"

    @property
    def plausible(self) -> bool:
        """True if it passed, and nobody can say whether it is right: it may be wrong."""
        return self.status == "passed" and self.judgement == "plausible"

    @property
    def mark(self) -> str:
        if self.status == "waiting":
            return "proposed"
        return (self.judgement or "-") if self.status == "passed" else "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one item. `error` says why it could not be set up; None is what was not run."""

    item: Item
    error: str = ""
    failing: int = 0
    suite_cpu: float = 0.0
    failing_cpu: float | None = None
    found: bool | None = None
    repair: Repair | None = None
    accepted: bool | None = None
    #: What the tool said of the upstream fix.
    refusal: str = ""
    #: Refused or not, by the name of the cheat.
    cheats: dict[str, bool] = field(default_factory=dict)


HEADER = ("item", "lines", "found", "accepted", "cheats", "repair", "conf.", "s", "× fail", "× all")


def print_outcomes(outcomes: Sequence[Outcome]) -> None:
    """Print one line for each item; `*` marks a small fix."""
    lines = [HEADER, *(_cells(outcome) for outcome in outcomes)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(HEADER))]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join(cells).rstrip())


def print_reasons(outcome: Outcome) -> None:
    """Print the item's line, and below it why something is not as it should be."""
    print("  ".join(cell or "·" for cell in _cells(outcome)))
    if reason := _reason(outcome):
        print(f"    {reason}", flush=True)


def _cells(outcome: Outcome) -> tuple[str, ...]:
    repair = outcome.repair
    hunks = len(outcome.item.hunks)
    lines = f"{outcome.item.lines}" if hunks == 1 else f"{outcome.item.lines}/{hunks}"
    return (
        outcome.item.id,
        lines + ("*" if outcome.item.small else ""),
        "no set-up" if outcome.error else _yes(outcome.found),
        _yes(outcome.accepted),
        f"{sum(outcome.cheats.values())}/{len(outcome.cheats)}" if outcome.cheats else "",
        "" if repair is None else repair.mark,
        "" if repair is None or repair.confidence is None else f"{repair.confidence:.2f}",
        "" if repair is None else f"{repair.seconds:.1f}",
        "" if repair is None else _times(repair.cpu, outcome.failing_cpu),
        "" if repair is None else _times(repair.cpu, outcome.suite_cpu),
    )


def _reason(outcome: Outcome) -> str:
    if outcome.error:
        return outcome.error
    said = []
    if outcome.repair is not None and not outcome.repair.right:
        said.append(f"repair: {outcome.repair.why}")
    if outcome.accepted is False:
        said.append(f"upstream refused: {outcome.refusal}")
    said += [f"{name} was accepted" for name, refused in outcome.cheats.items() if not refused]
    return "\n    ".join(said)


def _yes(value: bool | None) -> str:
    return "" if value is None else "yes" if value else "NO"


def _times(cpu: float, unit: float | None) -> str:
    return f"{cpu / unit:.1f}" if unit else ""


def tables(outcomes: Sequence[Outcome]) -> tuple[Table, ...]:
    """Return the figures over all items that could be set up."""
    ran = [one for one in outcomes if not one.error]
    repairs = [(one, one.repair) for one in ran if one.repair is not None]
    python = [(one, repair) for one, repair in repairs if one.item.language == "python"]
    small = [(one, repair) for one, repair in python if one.item.small]
    cheats = [refused for one in ran for refused in one.cheats.values()]
    units = [r.cpu / o.failing_cpu for o, r in repairs if o.failing_cpu]
    sure = [r for _, r in repairs if (r.confidence or 0.0) >= CONFIDENT]
    rows = [
        share("checks found as the project runs them", (o.found is True for o in ran)),
        share("upstream fix accepted", _known(o.accepted for o in ran), Target("≥", 100.0)),
        share("cheats refused", cheats, Target("≥", 100.0)),
        share("repaired rightly", (r.right for _, r in repairs)),
        share("repaired rightly: Python", (r.right for _, r in python)),
        share(
            f"repaired rightly: Python, one hunk of ≤ {SMALL} lines",
            (r.right for _, r in small),
            Target("≥", 35.0),
        ),
        share("plausible: passed, nothing more is known", (r.plausible for _, r in repairs)),
        share("proposed (waiting)", (r.mark == "proposed" for _, r in repairs)),
        share("wrongly passed: not what upstream does", (r.wrongly_passed for _, r in repairs)),
        share(
            "wrongly passed, or plausible",
            (r.wrongly_passed or r.plausible for _, r in repairs),
            Target("≤", 2.0),
        ),
        share(
            f"wrongly passed, or plausible, with confidence ≥ {CONFIDENT}",
            (r.wrongly_passed or r.plausible for r in sure),
            Target("≤", 0.0),
        ),
        median("seconds", [r.seconds for _, r in repairs]),
        median("processor time, × the failing tests", units, Target("≤", 10.0)),
        median(
            "processor time, × the suite", [r.cpu / o.suite_cpu for o, r in repairs if o.suite_cpu]
        ),
    ]
    projects = {one.item.package for one in ran}
    failed = [one.item.id for one in outcomes if one.error]
    notes = [f"{len(ran)} items of {len(projects)} projects; default settings, no model"]
    if failed:
        notes.append(f"{len(failed)} could not be set up: {', '.join(failed)}")
    found = tuple(row for row in rows if row is not None)
    return (Table("real: bug fixes of published packages", "% or units", found, tuple(notes)),)


def _known(values: Iterable[bool | None]) -> list[bool]:
    return [value for value in values if value is not None]


def share(name: str, values: Iterable[bool], target: Target | None = None) -> Row | None:
    """The percentage that is true, unless there are none."""
    known = list(values)
    if not known:
        return None
    percent = 100 * sum(known) / len(known)
    name = f"{name} ({sum(known)} of {len(known)})"
    return Row(name, percent, (percent, percent), "1 %", percent, target)


def median(name: str, values: Sequence[float], target: Target | None = None) -> Row | None:
    if not values:
        return None
    middle = statistics.median(values)
    low, _, high = statistics.quantiles(values, n=4) if len(values) > 1 else (middle,) * 3
    return Row(f"median {name}", middle, (low, high), "1", middle, target)
