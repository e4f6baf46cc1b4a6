"""The form in which loops record their steps, and the requests of runs that are in it."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from runtrue.errors import FlowChanged
from runtrue.flow import Outcome, Run, RunRow
from runtrue.typed_data import convert

T = TypeVar("T")

#: The form in which this version records the steps of a loop. A loop whose steps get other names,
#: inputs or results, or come in another order, needs the next number.
RECORD_FORMAT = 4
#: The oldest form of which some runs can go on here. Format 4 changed the steps of plans only, and
#: those only from the sandbox on: a `fix`, a `code`, or a plan that is queued goes on.
OLDEST_FORMAT = 3

Work = Callable[[Run], Awaitable[Outcome]]


def recorded_request(run: RunRow, form: type[T]) -> T:
    """Return what a run was asked to do. Raises FlowChanged for one of another version."""
    try:
        if OLDEST_FORMAT <= _format_of(run) <= RECORD_FORMAT:
            return convert(run.input, form)
    except msgspec.ValidationError:
        pass
    raise _refusal(run)


def as_recorded(run: RunRow, work: Work) -> Work:
    """Return the same work; where an older run's steps do not fit it, FlowChanged says what to do.

    Nothing is executed before that is known: recorded steps come first.
    """
    if _format_of(run) == RECORD_FORMAT:
        return work

    async def fitting(recorded: Run) -> Outcome:
        try:
            return await work(recorded)
        except FlowChanged as error:
            raise _refusal(run) from error

    return fitting


def _format_of(run: RunRow) -> int:
    found = run.input.get("record_format", 1)
    return found if isinstance(found, int) else 0


def _refusal(run: RunRow) -> FlowChanged:
    return FlowChanged(
        f"run {run.id} was recorded by another version of runtrue, which this one cannot "
        f"continue: start it again with `{_command_of(run)}`, and remove this one with "
        f"`runtrue runs cancel {run.id}`"
    )


def _command_of(run: RunRow) -> str:
    """Return the command that starts the same again, by what all versions have recorded."""
    found = {name: str(run.input.get(name) or "") for name in ("project", "source", "instruction")}
    place = shlex.quote(found["project"])
    if run.kind == "plan":
        what = shlex.quote(found["source"] or found["instruction"])
        return f"cd {place} && runtrue plan new {what}"
    task = run.input.get("task")
    if isinstance(task, dict):
        words = shlex.quote(str(task.get("requirement", "")))
        return f"cd {place} && runtrue code {words} --path {shlex.quote(str(task.get('path', '')))}"
    return f"runtrue fix {place}"
