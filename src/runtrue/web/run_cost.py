"""What runs cost, read out of their reports without reading all of those."""

from __future__ import annotations

from typing import Any

import msgspec

from runtrue.typed_data import json_decoder

#: Reports that are longer are not read for a list.
MOST_READ = 2_000_000


class _Report(msgspec.Struct):
    """The parts of any report that say what was spent."""

    cost: Any = None
    attempts: list[dict[str, Any]] = []
    #: Of a task, these are sentences.
    rejected: list[Any] = []
    plan: dict[str, Any] | None = None


_decode = json_decoder(_Report)


def cost_of(result: str) -> float | None:
    """Return the dollars that a recorded report names; None where it names none."""
    try:
        report = _decode(result)
    except msgspec.MsgspecError:
        return None
    spent = [report.cost, ((report.plan or {}).get("metadata") or {}).get("usage")]
    if report.plan is None:
        fixes = [one.get("fix") for one in (*report.attempts, *report.rejected) if _is_data(one)]
        spent += [part.get("usage") for fix in fixes if fix for part in fix.get("parts") or ()]
    costs = [one.get("cost") for one in spent if _is_data(one)]
    known = [float(cost) for cost in costs if isinstance(cost, int | float) and cost > 0]
    return sum(known) if known else None


def _is_data(value: Any) -> bool:
    return isinstance(value, dict)
