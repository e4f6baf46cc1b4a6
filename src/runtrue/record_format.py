"""The form in which loops record their steps, and the requests of runs that are in it."""

from __future__ import annotations

import shlex
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
        f"it: start it again with `{_command_of(run)}`, and clear this one away with "
        f"`runtrue runs cancel {run.id}`"
    )


def _command_of(run: RunRow) -> str:
    """Return the command that starts the same again, by what all versions have recorded."""
    found = {name: str(run.input.get(name) or "") for name in ("project", "source", "instruction")}
    place = shlex.quote(found["project"])
    if run.kind == "plan":
        what = shlex.quote(found["source"] or found["instruction"])
        return f"cd {place} && runtrue plan use {what}"
    task = run.input.get("task")
    if isinstance(task, dict):
        words = shlex.quote(str(task.get("requirement", "")))
        return f"cd {place} && runtrue code {words} --path {shlex.quote(str(task.get('path', '')))}"
    return f"runtrue fix {place}"
