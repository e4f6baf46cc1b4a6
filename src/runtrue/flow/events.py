"""Events: what happens in a run, as typed data. Progress displays are built on these.

Each package defines the events that it emits, as subclasses of `Event`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, ClassVar, dataclass_transform

import msgspec

from runtrue.typed_data import convert

_KNOWN: dict[str, type[Event]] = {}


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened in a run. Every subclass is a frozen, keyword-only dataclass."""

    #: What the journal calls it: the name of the class in snake case, unless it says otherwise.
    journal_name: ClassVar[str]
    #: False for what is of no interest afterwards: listeners hear it, and the journal does not.
    recorded: ClassVar[bool] = True

    #: The node that was running, filled in by the kernel.
    origin: str = ""

    def __init_subclass__(cls) -> None:
        if "journal_name" not in vars(cls):
            cls.journal_name = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        dataclass(frozen=True, kw_only=True)(cls)
        if cls.recorded:
            _KNOWN[cls.journal_name] = cls

    @property
    def kind(self) -> str:
        """The event's name in the journal."""
        return self.journal_name

    @property
    def payload(self) -> dict[str, Any]:
        """The event's own fields as JSON data, as the journal has them."""
        data: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        del data["origin"]
        return data


class UnknownEvent(Event):
    """An event that this version of runtrue cannot read."""

    journal_name = ""
    recorded = False

    unknown: str
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The event's name in the journal."""
        return self.unknown

    @property
    def payload(self) -> dict[str, Any]:
        """The data as recorded."""
        return dict(self.data)


class NodeStarted(Event):
    """A node begins its work."""

    recorded = False


class NodeFinished(Event):
    """A node has done its work."""

    recorded = False


class NodeReplayed(Event):
    """A node's result came out of the journal."""

    recorded = False


class ExecRetried(Event):
    """A node's `exec` raised, and is tried again."""

    journal_name = "node_retried"
    recorded = False

    retry: int
    error: str


class QuestionAsked(Event):
    """A run asks a person something."""

    journal_name = "asked"
    recorded = False

    question: Any


class RunParked(Event):
    """A run stops until its question is answered."""

    journal_name = "parked"
    recorded = False

    question: Any


def read_event(kind: str, origin: str, recorded: str) -> Event:
    """Return a recorded event, as an `UnknownEvent` where this version cannot read it."""
    data = msgspec.json.decode(recorded)
    try:
        return convert({**data, "origin": origin}, _KNOWN[kind], str_keys=True)
    except (KeyError, msgspec.ValidationError):
        return UnknownEvent(origin=origin, unknown=kind, data=data)


Listener = Callable[[Event], None]
Emitter = Callable[[Event], None]

#: Set by the kernel around each node, so that `emit` needs no run handed to it.
current_emitter: ContextVar[Emitter] = ContextVar("current_emitter")


def emit(event: Event) -> None:
    """Pass an event to the run's listeners, and to the journal of a durable run if `recorded`.

    Called from within a node's `exec`; outside of any run it does nothing, so that code which
    reports progress can be called on its own.
    """
    bound_emit()(event)


def bound_emit() -> Emitter:
    """Return `emit` of the current run, for use inside a flow that one of its nodes runs."""
    return current_emitter.get(_ignore)


def _ignore(event: Event) -> None:
    """Outside of any run nobody listens."""
