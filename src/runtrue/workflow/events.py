"""Events of a workflow's nodes: failures, retries, batches, confinement."""

from __future__ import annotations

from typing import Any

from runtrue.flow import Event


class _Failure(Event):
    source: str
    node_id: str | None
    message: str
    category: str
    fault: str
    attempted: list[str]
    available: list[str]
    sample: str | None
    data: dict[str, Any]
    outputs: dict[str, Any]
    transient: bool
    fixable: bool
    unchanged: bool = False


class NodeFailure(_Failure):
    """A node failed, and the workflow stops."""

    journal_name = "node_failed"


class NodeHandled(_Failure):
    """A node failed, and the workflow goes on."""

    recorded = False


class NodeRetried(Event):
    """A node failed and is run again."""

    left: int
    error: str


class ItemFinished(Event):
    """So many items of a batch are done."""

    recorded = False

    done: int
    of: int


class Isolated(Event):
    """A command was confined to this level, with these hosts allowed."""

    level: str | None
    network: list[str]
