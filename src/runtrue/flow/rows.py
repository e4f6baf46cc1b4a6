"""Rows: what the journal holds, as data. A run, its steps, the right to drive it, its questions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from runtrue.errors import FlowChanged, JournalError
from runtrue.flow.owner import Owner
from runtrue.foreign_text import visible_name
from runtrue.typed_data import convert, decode_json

T = TypeVar("T")


class RunState(StrEnum):
    """Where a run stands. `running` and `waiting` are the two that can go on."""

    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"
    ESCALATED = "escalated"
    ABORTED = "aborted"
    WAITING = "waiting"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A run to record."""

    kind: str
    title: str
    input: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run as the journal holds it."""

    id: str
    kind: str
    title: str
    state: RunState
    fence: int
    owner: Owner | None
    input: dict[str, Any]
    result: dict[str, Any] | None
    error: str | None
    created_at: float
    ended_at: float | None

    @property
    def is_driven(self) -> bool:
        """True if a living process drives it right now."""
        return self.owner is not None and self.owner.is_alive()

    @property
    def is_over(self) -> bool:
        """True if it came to its end. A run that broke on an exception is not over."""
        return self.result is not None or self.state is RunState.CANCELLED

    @property
    def is_stopped(self) -> bool:
        """True if nobody need wait for it: it is over, failed, or waits for a person."""
        return self.state is not RunState.RUNNING

    def result_as(self, report: type[T]) -> T:
        """Return the result as a dataclass; fields that an older version lacks get defaults."""
        try:
            return convert(self.result, report)
        except msgspec.ValidationError as error:
            raise FlowChanged(
                f"run {self.id} ended under another version of runtrue, whose report this one "
                f"cannot read: {error}"
            ) from error


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One part of the result of a run that ended; None where the result has no such part."""

    run_id: str
    kind: str
    ended_at: float
    value: Any


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step of a run; `result` is None while a side effect has begun and not ended."""

    seq: int
    node: str
    input_hash: str
    result: bytes | None
    finished_at: float | None


@dataclass(frozen=True, slots=True)
class PartRow:
    """One part of a step; `result` is None while a side effect has begun and not ended."""

    seq: int
    name: str
    input_hash: str
    result: bytes | None


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to drive a run, until somebody else claims it."""

    run_id: str
    fence: int


@dataclass(frozen=True, slots=True)
class Question:
    """What a run asks a person, and the answer once there is one."""

    seq: int
    question: Any
    answer: Any
    answered: bool
    asked_at: float


_ID = re.compile(r"[0-9a-z]{8,64}")
#: The columns of a run, in the order that `run_row` takes them.
RUN_COLUMNS = "id, kind, title, state, fence, owner, input, result, error, created_at, ended_at"


def run_row(row: tuple[Any, ...]) -> RunRow:
    """A run out of its columns."""
    run_id, kind, title, state, fence, owner, data, result, error, created_at, ended_at = row
    if not _ID.fullmatch(run_id):
        # Files are named by it.
        raise JournalError(f"the journal has a run with the id {visible_name(run_id)!r}: delete it")
    return RunRow(
        id=run_id,
        kind=kind,
        title=title,
        state=RunState(state),
        fence=fence,
        owner=None if owner is None else read_owner(owner),
        input=decode_json(data, dict[str, Any]),
        result=None if result is None else decode_json(result, dict[str, Any]),
        error=error,
        created_at=created_at,
        ended_at=ended_at,
    )


def read_owner(text: str) -> Owner:
    """Return the owner of a run, as its column holds it."""
    return decode_json(text, Owner)


def to_json(value: Any) -> str:
    """A value as the journal's text columns hold it."""
    return msgspec.json.encode(value).decode()
