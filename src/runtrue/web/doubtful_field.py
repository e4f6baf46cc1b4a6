"""Fields in doubt: what was looked for in a response, and what could be meant by it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runtrue.planner import Doubt
from runtrue.typed_data import convert

#: Less than this is no better than chance.
_LEAST_CONFIDENCE = 0.03
_MOST_CANDIDATES = 8


@dataclass(frozen=True, slots=True)
class FieldCandidate:
    """A path that could be meant, with the value that is there."""

    path: str
    confidence: float
    sample: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubtfulField:
    """A field that a person chooses the path of."""

    name: str
    node: str
    attempted: str
    #: What was wrong with the path that a person set before.
    problem: str = ""
    candidates: tuple[FieldCandidate, ...] = ()


def doubtful_fields(asked: Mapping[str, Any]) -> Iterator[DoubtfulField]:
    """Yield the fields that a question asks the paths of."""
    for data in asked.get("doubts", ()):
        doubt = convert(data, Doubt)
        likely = [one for one in doubt.candidates if one.confidence >= _LEAST_CONFIDENCE]
        yield DoubtfulField(
            name=doubt.field,
            node=doubt.node_id,
            attempted=doubt.attempted,
            problem=doubt.problem,
            candidates=tuple(
                FieldCandidate(one.text, one.confidence, str(one.sample or ""))
                for one in likely[:_MOST_CANDIDATES]
            ),
        )


def set_command(run_id: str, fields: tuple[DoubtfulField, ...]) -> str:
    """Return the command that sets the fields, each to its likeliest path."""
    chosen = (
        f"--set {shlex.quote(f'{one.name}={one.candidates[0].path}')}"
        if one.candidates
        else f"--set {shlex.quote(one.name)}=PATH"
        for one in fields
    )
    return f"runtrue runs resume {run_id} {' '.join(chosen)}"
