"""What a node gave, as fields: each with its value, and how a workflow names it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from runtrue.flow import StepRow, unpacked
from runtrue.foreign_text import cut
from runtrue.workflow import Path, PathStep, opened, redact_by_name

#: More fields of one node than these are counted, not drawn; of a list, these entries are.
_MOST_FIELDS, _MOST_ENTRIES = 400, 20
_DEEPEST = 8
_LONGEST = 160
#: The output of an HTTP node that `extract` looks into.
_RESPONSE = "response"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseField:
    """A value that a node gave, and its fields if it has any."""

    name: str
    #: How another node names it, as `${fetch.response.data.login}`.
    template: str
    #: How `extract` of the same node names it; empty outside of a response.
    path: str
    value: str
    fields: tuple[ResponseField, ...] = ()
    #: Fields and entries that are not drawn.
    left_out: int = 0


def recorded_values(steps: list[StepRow]) -> dict[str, Any]:
    """Return what each node gave, redacted: of a workflow's run, or of the last one of a task."""
    found: dict[str, Any] = {}
    for step in steps:
        try:
            data = msgspec.json.decode(unpacked(step.result)) if step.result is not None else None
        except (msgspec.MsgspecError, ValueError):
            continue
        if not isinstance(data, dict):
            continue
        if step.node == "runtime_validation" and isinstance(data.get("store"), dict):
            found |= {k: v for k, v in data["store"].items() if isinstance(v, dict)}
        elif isinstance(data.get("outputs"), dict):
            found[step.node] = data["outputs"]
    return {name: redact_by_name(value) for name, value in found.items()}


def fields_of(node: str, outputs: Any) -> tuple[ResponseField, ...]:
    """Return the fields of what a node gave."""
    if not isinstance(outputs, Mapping):
        return ()
    left = [_MOST_FIELDS]
    return tuple(_field(node, (name,), value, left) for name, value in outputs.items())


def _field(node: str, steps: tuple[PathStep, ...], value: Any, left: list[int]) -> ResponseField:
    left[0] -= 1
    data = opened(value) if isinstance(value, str) else value
    inner = list(_entries(data)) if len(steps) < _DEEPEST else []
    drawn = inner[: max(0, min(left[0], _MOST_ENTRIES if isinstance(data, list) else len(inner)))]
    fields = tuple(_field(node, (*steps, step), one, left) for step, one in drawn)
    last = steps[-1]
    in_response = steps[0] == _RESPONSE
    return ResponseField(
        name=f"[{last}]" if isinstance(last, int) else str(last),
        template=f"${{{str(Path((node, *steps)))[2:]}}}",
        path=str(Path(steps[1:])) if in_response else "",
        value=_short(value) if not inner else _size(data),
        fields=fields,
        left_out=len(inner) - len(fields),
    )


def _entries(value: Any) -> Iterator[tuple[PathStep, Any]]:
    if isinstance(value, Mapping):
        yield from ((str(name), one) for name, one in value.items())
    elif isinstance(value, list):
        yield from enumerate(value)


def _size(value: Any) -> str:
    is_one = len(value) == 1
    if isinstance(value, Mapping):
        return "1 field" if is_one else f"{len(value):,} fields"
    return "1 entry" if is_one else f"{len(value):,} entries"


def _short(value: Any) -> str:
    return cut(msgspec.json.encode(value).decode(), _LONGEST + 1)
