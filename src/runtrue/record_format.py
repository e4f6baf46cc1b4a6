"""The form in which loops record their steps, and the requests of runs that are in it."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from runtrue.errors import FlowChanged
from runtrue.flow import RunRow

T = TypeVar("T")

#: The form in which this version records the steps of a loop. A loop whose steps get other names,
#: inputs or results, or come in another order, needs the next number.
RECORD_FORMAT = 4


def recorded_request(run: RunRow, form: type[T]) -> T:
    """Return what a run was asked to do. Raises FlowChanged for one of another version."""
    try:
        if run.input.get("record_format", 1) == RECORD_FORMAT:
            return msgspec.convert(run.input, form)
    except msgspec.ValidationError:
        pass
    raise FlowChanged(
        f"run {run.id} was recorded by another version of runtrue, and this one cannot go on with "
        f"it: start a new run, and clear this one away with `runtrue runs cancel {run.id}`"
    )
