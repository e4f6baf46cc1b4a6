"""Events: what a run tells of itself while it goes on. Progress displays are built on these."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a run.

    The kernel tells listeners of `node_started`, `node_finished`, `node_retried`, `node_replayed`,
    `asked` and `parked`; nodes add their own with `emit`, and those are in the journal too, or with
    `tell`.
    """

    kind: str
    node: str
    data: dict[str, Any] = field(default_factory=dict)


Listener = Callable[[Event], None]

#: Takes the kind of an event, its data, and whether it is kept.
Emitter = Callable[[str, dict[str, Any], bool], None]

#: Set by the driver around each node, so that `emit` needs no run handed to it.
current_emitter: ContextVar[Emitter] = ContextVar("current_emitter")


def emit(kind: str, **data: Any) -> None:
    """Tell the run's listeners of something, and put it in the journal of a durable run.

    Called from within a node's `exec`; outside of any run it does nothing, so that code which
    reports progress can be called on its own.
    """
    emitter = current_emitter.get(None)
    if emitter is not None:
        emitter(kind, data, True)


def tell(kind: str, **data: Any) -> None:
    """Tell the run's listeners of something that is of no interest afterwards, as `emit` does."""
    emitter = current_emitter.get(None)
    if emitter is not None:
        emitter(kind, data, False)


def held_emit() -> Callable[..., None]:
    """`emit` of the run that is driven here, also for use within a flow that this one runs."""
    return _held(kept=True)


def held_tell() -> Callable[..., None]:
    """`tell` of the run that is driven here, also for use within a flow that this one runs."""
    return _held(kept=False)


def _held(*, kept: bool) -> Callable[..., None]:
    emitter = current_emitter.get(None)

    def held(kind: str, **data: Any) -> None:
        if emitter is not None:
            emitter(kind, data, kept)

    return held
